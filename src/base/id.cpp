#include "base/id.h"

#include "base/error.h"

#include <sys/random.h>

#include <array>
#include <string_view>

namespace hearth {

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw OsError("getrandom");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : bytes) {
    id += digits[byte >> 4];
    id += digits[byte & 0xF];
  }
  return id;
}

}  // namespace hearth
