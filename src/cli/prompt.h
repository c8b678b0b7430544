// cli/prompt.h: lines as they are typed, with history and editing on a terminal.
#pragma once

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

  struct Line {
    std::string text;
    bool was_dropped = false;  // by Ctrl-C on a terminal, with all that stood before it
  };
  // Blocks. Nothing at the end of the input. Throws operation_aborted for a signal that ends us,
  // which is any but Ctrl-C on a terminal.
  std::optional<Line> line(const char* prompt);

 private:
  std::optional<std::string> read(const char* prompt) const;

  bool on_terminal_;
  unsigned char end_key_ = 0;  // of the terminal, as it was
  std::filesystem::path history_;
};

}  // namespace hearth::cli
