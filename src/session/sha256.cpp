#include "session/sha256.h"

#include "base/error.h"

#include <openssl/evp.h>

#include <fmt/format.h>

#include <array>

namespace hearth::session {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { ::EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(::EVP_MD_CTX_new()) {
  if (!context_ || ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) != 1)
    throw Error("SHA-256 is not available");
}

void Sha256::add(std::string_view bytes) {
  if (::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1)
    throw Error("SHA-256 failed");
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned size = 0;
  if (::EVP_DigestFinal_ex(context_.get(), sum.data(), &size) != 1) throw Error("SHA-256 failed");
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", sum.at(i));
  return text;
}

}  // namespace hearth::session
