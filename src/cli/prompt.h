// cli/prompt.h: lines as they are typed, with history, editing and bracketed paste on a terminal.
#pragma once

#include "cli/typed_keys.h"
#include "os/unique_fd.h"

#include <filesystem>
#include <optional>
#include <string>

namespace hearth::cli {

class Prompt {
 public:
  // On a terminal, earlier sessions' lines are read from `history`, and kept there. What is typed
  // from now on waits for line(), Ctrl-D too.
  explicit Prompt(std::filesystem::path history);
  ~Prompt();
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;

  bool on_terminal() const { return on_terminal_; }

  struct Line {
    std::string text;          // several lines if it was pasted or comes from the history
    bool was_dropped = false;  // by Ctrl-C on a terminal, with all that stood before it
  };
  // Blocks. Nothing at the end of the input. Throws operation_aborted for a signal that ends us,
  // which is any but Ctrl-C on a terminal.
  std::optional<Line> line(const char* prompt);

  // Into the history, as one entry.
  void remember(const std::string& statement) const;

 private:
  std::optional<std::string> read(const char* prompt) const;

  bool on_terminal_;
  bool brackets_pastes_ = false;
  os::UniqueFd wake_;  // an eventfd: a signal came while a line was read
  TypedKeys keys_;
  unsigned char end_key_ = 0;  // of the terminal, as it was
  std::filesystem::path history_;
};

}  // namespace hearth::cli
