#include "base/id.h"

#include "base/error.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace hearth {
namespace {

void fill_with_random(void* bytes, std::size_t size) {
  if (::getrandom(bytes, size, 0) != static_cast<ssize_t>(size)) throw OsError("getrandom");
}

}  // namespace

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  fill_with_random(bytes.data(), bytes.size());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : bytes) {
    id += digits[byte >> 4];
    id += digits[byte & 0xF];
  }
  return id;
}

std::uint32_t random_number_below(std::uint32_t bound) {
  std::uint64_t number = 0;  // so much larger than any bound that no remainder is favoured
  fill_with_random(&number, sizeof number);
  return static_cast<std::uint32_t>(number % bound);
}

}  // namespace hearth
