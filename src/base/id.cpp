#include "base/id.h"

#include "base/error.h"

#include <sys/random.h>

#include <array>
#include <cstdint>

namespace hearth {
namespace {

constexpr std::string_view hexadecimal_digits = "0123456789abcdef";

void fill_with_random(void* bytes, std::size_t size) {
  if (::getrandom(bytes, size, 0) != static_cast<ssize_t>(size)) throw OsError("getrandom");
}

}  // namespace

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  fill_with_random(bytes.data(), bytes.size());
  std::string id;
  for (const unsigned char byte : bytes) {
    id += hexadecimal_digits[byte >> 4];
    id += hexadecimal_digits[byte & 0xF];
  }
  return id;
}

bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of(hexadecimal_digits) == std::string_view::npos;
}

std::uint32_t random_number_below(std::uint32_t bound) {
  std::uint64_t number = 0;  // so much larger than any bound that no remainder is favoured
  fill_with_random(&number, sizeof number);
  return static_cast<std::uint32_t>(number % bound);
}

}  // namespace hearth
