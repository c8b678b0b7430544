#include "cli/prompt.h"

#include <sys/stat.h>
#include <unistd.h>

#include <editline/readline.h>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace hearth::cli {
namespace {

constexpr int most_kept_lines = 1000;

}  // namespace

Prompt::Prompt(std::filesystem::path history)
    : on_terminal_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1),
      history_(std::move(history)) {
  if (!on_terminal_) return;
  ::using_history();
  ::read_history(history_.c_str());
}

Prompt::~Prompt() {
  if (!on_terminal_) return;
  std::error_code ignored;
  std::filesystem::create_directories(history_.parent_path(), ignored);
  ::stifle_history(most_kept_lines);
  // Scripts may hold what only their author should read.
  const mode_t before = ::umask(0077);
  ::write_history(history_.c_str());
  ::umask(before);
}

std::optional<std::string> Prompt::line(const char* prompt) {
  if (!on_terminal_) {
    std::string text;
    if (!std::getline(std::cin, text)) return std::nullopt;
    return text;
  }
  const std::unique_ptr<char, void (*)(void*)> typed(::readline(prompt), std::free);
  if (!typed) return std::nullopt;
  if (typed.get()[0] != '\0') ::add_history(typed.get());
  return std::string(typed.get());
}

}  // namespace hearth::cli
