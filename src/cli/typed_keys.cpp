#include "cli/typed_keys.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace hearth::cli {
namespace {

constexpr std::string_view paste_begin = "\x1b[200~";
constexpr std::string_view paste_end = "\x1b[201~";
// A terminal sends a sequence at once; Escape alone is a key, too.
constexpr int sequence_patience_ms = 50;
constexpr char32_t replacement = 0xfffd;
constexpr int for_ever = -1;
constexpr std::size_t indentation = 4;

std::size_t length_of_character(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}

// Removes a whole character, or a byte that begins none, from the front of `bytes`.
char32_t take_utf8(std::string_view& bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  const std::size_t length = first < 0xc2 || first > 0xf4 ? 1 : length_of_character(first);
  char32_t character = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
    if ((byte & 0xc0U) != 0x80) {
      bytes.remove_prefix(i);
      return replacement;
    }
    character = character << 6U | (byte & 0x3fU);
  }
  bytes.remove_prefix(length);
  return length == 1 && first >= 0x80 ? replacement : character;
}

}  // namespace

std::deque<char32_t> keys_that_insert(std::string_view pasted) {
  std::deque<char32_t> keys;
  const std::size_t last = pasted.find_last_not_of("\r\n");
  pasted = pasted.substr(0, last == std::string_view::npos ? 0 : last + 1);
  while (!pasted.empty()) {
    char32_t character = take_utf8(pasted);
    if (character == '\r') {  // how terminals send the end of a line
      if (pasted.starts_with('\n')) pasted.remove_prefix(1);
      character = '\n';
    }
    if (character == '\n' || character == '\t') {
      keys.push_back(quoting_key);
    } else if (character < 0x20 || character == 0x7f) {
      continue;
    }
    keys.push_back(character);
  }
  return keys;
}

// False at the end of the input, when it was woken, and when nothing came in time.
bool TypedKeys::read_bytes(int timeout_ms) {
  std::array<pollfd, 2> either{pollfd{fd_, POLLIN, 0}, pollfd{wake_fd_, POLLIN, 0}};
  int ready = 0;
  while ((ready = ::poll(either.data(), either.size(), timeout_ms)) < 0 && errno == EINTR) {
  }
  if (ready <= 0 || either[1].revents != 0) return false;
  std::array<char, 4096> piece{};
  const ssize_t got = ::read(fd_, piece.data(), piece.size());
  if (got <= 0) return false;
  bytes_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

bool TypedKeys::has_paste_begun() {
  while (bytes_.size() < paste_begin.size() && paste_begin.starts_with(bytes_))
    if (!read_bytes(sequence_patience_ms)) return false;
  if (!bytes_.starts_with(paste_begin)) return false;
  bytes_.erase(0, paste_begin.size());
  return true;
}

std::optional<std::string> TypedKeys::read_paste() {
  std::size_t end = 0;
  while ((end = bytes_.find(paste_end)) == std::string::npos)
    if (!read_bytes(for_ever)) return std::nullopt;
  std::string pasted = bytes_.substr(0, end);
  bytes_.erase(0, end + paste_end.size());
  return pasted;
}

std::optional<char32_t> TypedKeys::take_character() {
  const std::size_t length = length_of_character(static_cast<unsigned char>(bytes_[0]));
  while (bytes_.size() < length)
    if (!read_bytes(sequence_patience_ms)) break;
  std::string_view rest = bytes_;
  const char32_t character = take_utf8(rest);
  bytes_.erase(0, bytes_.size() - rest.size());
  return character;
}

std::optional<char32_t> TypedKeys::next() {
  while (prepared_.empty()) {
    if (bytes_.empty() && !read_bytes(for_ever)) return std::nullopt;
    if (!has_paste_begun()) {
      const std::optional<char32_t> character = take_character();
      if (character != U'\t') return character;
      prepared_.assign(indentation, U' ');
      continue;
    }
    const std::optional<std::string> pasted = read_paste();
    if (!pasted) return std::nullopt;
    prepared_ = keys_that_insert(*pasted);
  }
  const char32_t key = prepared_.front();
  prepared_.pop_front();
  return key;
}

}  // namespace hearth::cli
