#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hearth {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 0xFF;

constexpr std::array<std::uint8_t, 256> digit_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_digit);
  for (std::size_t value = 0; value < alphabet.size(); ++value)
    values[static_cast<unsigned char>(alphabet[value])] = static_cast<std::uint8_t>(value);
  return values;
}
constexpr std::array<std::uint8_t, 256> values_of_digits = digit_values();

// Up to three bytes at the top of 24 bits.
std::uint32_t bits_of(std::string_view bytes) {
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < 3; ++at)
    bits = bits << 8 | (at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U);
  return bits;
}

// Four digits or fewer as one number, or nothing if one of them is none.
std::optional<std::uint32_t> number_of(std::string_view digits) {
  std::uint32_t number = 0;
  for (const char digit : digits) {
    const std::uint8_t value = values_of_digits[static_cast<unsigned char>(digit)];
    if (value == no_digit) return std::nullopt;
    number = number << 6 | value;
  }
  return number;
}

// The last group: one or two bytes, in as many digits and one more.
bool append_padded(std::string& out, std::string_view digits) {
  const std::optional<std::uint32_t> number = number_of(digits);
  const unsigned unused_bits = digits.size() == 2 ? 4 : 2;
  if (!number || (*number & ((1U << unused_bits) - 1)) != 0) return false;
  const std::uint32_t bytes = *number >> unused_bits;
  if (digits.size() == 3) out += static_cast<char>(bytes >> 8);
  out += static_cast<char>(bytes);
  return true;
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(3, bytes.size());
    const std::uint32_t bits = bits_of(bytes.substr(0, size));
    for (std::size_t digit = 0; digit < 4; ++digit)
      out += digit <= size ? alphabet[bits >> (18 - 6 * digit) & 0x3F] : '=';
    bytes.remove_prefix(size);
  }
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view last = padding > 0 ? text.substr(text.size() - 4, 4 - padding) : "";
  if (padding > 0) text.remove_suffix(4);
  for (; !text.empty(); text.remove_prefix(4)) {
    const std::optional<std::uint32_t> number = number_of(text.substr(0, 4));
    if (!number) return std::nullopt;
    bytes += static_cast<char>(*number >> 16);
    bytes += static_cast<char>(*number >> 8);
    bytes += static_cast<char>(*number);
  }
  if (padding > 0 && !append_padded(bytes, last)) return std::nullopt;
  return bytes;
}

}  // namespace hearth
