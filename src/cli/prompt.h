// cli/prompt.h: lines from whoever types, with history and editing on a terminal.
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

  // Blocks. Nothing at the end of the input; an empty line after Ctrl-C.
  std::optional<std::string> line(const char* prompt);

 private:
  bool on_terminal_;
  unsigned char end_key_ = 0;  // of the terminal, as it was
  std::filesystem::path history_;
};

}  // namespace hearth::cli
