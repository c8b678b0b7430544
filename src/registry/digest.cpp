#include "registry/digest.h"

#include "base/error.h"

#include <openssl/evp.h>

#include <array>

namespace hearth::registry {

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw Error("SHA-256: OpenSSL cannot start");
}

void Digest::update(const void* data, std::size_t size) {
  if (EVP_DigestUpdate(context_.get(), data, size) != 1) throw Error("SHA-256: OpenSSL failed");
}

void Digest::add_count(std::uint64_t count) {
  // Big-endian, so that the sum is the same on every machine.
  std::array<unsigned char, 8> bytes{};
  for (std::size_t index = 0; index < bytes.size(); ++index)
    bytes[index] = static_cast<unsigned char>(count >> (56 - 8 * index));
  update(bytes.data(), bytes.size());
}

void Digest::add(std::string_view field) {
  add_count(field.size());
  update(field.data(), field.size());
}

void Digest::add_list(const std::vector<std::string>& fields) {
  add_count(fields.size());
  for (const std::string& field : fields) add(field);
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(context_.get(), sum.data(), &size) != 1)
    throw Error("SHA-256: OpenSSL failed");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (unsigned int index = 0; index < size; ++index) {
    hex += digits[sum[index] >> 4];
    hex += digits[sum[index] & 0xF];
  }
  return hex;
}

}  // namespace hearth::registry
