// cli/typed_keys.h: what is typed on a terminal, character by character, for a line editor. A
// bracketed paste becomes characters to be inserted as they are: line ends in it end no line.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::cli {

class TypedKeys {
 public:
  // Reads from `fd` until `wake_fd` is readable.
  TypedKeys(int fd, int wake_fd) : fd_(fd), wake_fd_(wake_fd) {}

  // A character of Unicode; nothing at the end of the input, and when it was woken. Tab comes as
  // spaces: the editor would complete names of the host's files.
  std::optional<char32_t> next();

 private:
  bool read_bytes(int timeout_ms);  // -1: for ever
  bool has_paste_begun();
  std::optional<std::string> read_paste();
  std::optional<char32_t> take_character();

  int fd_;
  int wake_fd_;
  std::string bytes_;                // read, not yet looked at
  std::deque<char32_t> prepared_{};  // go out before anything else
};

// The editor's key that inserts the next character whatever it means.
inline constexpr char32_t quoting_key = 0x16;  // Ctrl-V

// What was pasted, as keys that insert it: without line ends at its end, and without characters
// that no source has.
std::deque<char32_t> keys_that_insert(std::string_view pasted);

}  // namespace hearth::cli
