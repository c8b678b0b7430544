#include "cli/prompt.h"

#include "base/error.h"
#include "cli/terminal.h"
#include "os/trusted_path.h"

#include <editline/readline.h>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

namespace hearth::cli {
namespace {

constexpr int most_kept_lines = 1000;

// What a signal's handler and the editor can reach.
volatile std::sig_atomic_t caught_signal = 0;
volatile std::sig_atomic_t wake_fd = -1;
TypedKeys* keys_of_the_editor = nullptr;

void note_signal(int number) {
  caught_signal = number;
  ::eventfd_write(wake_fd, 1);
}

int next_key(FILE* /*in*/) {
  const std::optional<char32_t> key = keys_of_the_editor->next();
  return key ? static_cast<int>(*key) : EOF;
}

// While it lives, a signal ends a read that waits. At other times the loop hears of them, which
// does not run while a line is typed.
class InterruptedReads {
 public:
  explicit InterruptedReads(int wake) : wake_(wake) {
    caught_signal = 0;
    wake_fd = wake;
    struct sigaction noting{};
    noting.sa_handler = note_signal;
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &noting, &before_[i]);
  }
  ~InterruptedReads() {
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &before_[i], nullptr);
    if (caught_signal == 0) return;
    eventfd_t count = 0;
    ::eventfd_read(wake_, &count);
  }
  InterruptedReads(const InterruptedReads&) = delete;
  InterruptedReads& operator=(const InterruptedReads&) = delete;

  int signal() const { return caught_signal; }

 private:
  static constexpr std::array numbers{SIGINT, SIGTERM, SIGHUP};
  int wake_;
  std::array<struct sigaction, numbers.size()> before_{};
};

// Returns the key that was the end of input until now.
cc_t exchange_end_key(cc_t key) {
  termios settings{};
  if (::tcgetattr(STDIN_FILENO, &settings) != 0) return key;
  const cc_t before = std::exchange(settings.c_cc[VEOF], key);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  return before;
}

bool knows_escape_sequences() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

}  // namespace

Prompt::Prompt(std::filesystem::path history)
    : on_terminal_(has_terminal()),
      brackets_pastes_(on_terminal_ && knows_escape_sequences()),
      wake_(::eventfd(0, EFD_CLOEXEC)),
      keys_(STDIN_FILENO, wake_.get()),
      history_(std::move(history)) {
  if (!wake_) throw OsError("eventfd");
  if (!on_terminal_) return;
  // The editor counts the columns of characters by the locale.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  keys_of_the_editor = &keys_;
  ::rl_getc_function = next_key;
  if (brackets_pastes_) std::cout << "\033[?2004h" << std::flush;
  // While a step runs, nothing reads, and the terminal would make an end of input of Ctrl-D, which
  // the line editor then meets as a null byte that means nothing. Without such a key it stays
  // Ctrl-D.
  end_key_ = exchange_end_key(_POSIX_VDISABLE);
  std::error_code failed;
  const bool is_there = std::filesystem::symlink_status(history_, failed).type() !=
                        std::filesystem::file_type::not_found;
  // A link would be written through.
  if (is_there && (std::filesystem::is_symlink(history_, failed) || os::distrust_of(history_)))
    history_.clear();
  ::using_history();
  if (!history_.empty()) ::read_history(history_.c_str());
}

Prompt::~Prompt() {
  if (!on_terminal_) return;
  if (brackets_pastes_) std::cout << "\033[?2004l" << std::flush;
  exchange_end_key(end_key_);
  if (history_.empty()) return;
  try {
    os::make_trusted_directory(history_.parent_path(), 0755);
  } catch (const Error&) {
    return;  // a history is not worth a complaint
  }
  ::stifle_history(most_kept_lines);
  // Scripts may hold what only their author should read.
  const mode_t before = ::umask(0077);
  ::write_history(history_.c_str());
  ::umask(before);
}

std::optional<Prompt::Line> Prompt::line(const char* prompt) {
  const InterruptedReads reads(wake_.get());
  std::optional<std::string> text = read(prompt);
  if (reads.signal() == SIGINT && on_terminal_) {
    std::cout << '\n' << std::flush;
    return Line{{}, true};
  }
  if (reads.signal() != 0) throw boost::system::system_error(boost::asio::error::operation_aborted);
  if (!text && on_terminal_) std::cout << '\n' << std::flush;  // what follows is the shell's
  if (!text) return std::nullopt;
  return Line{*std::move(text)};
}

std::optional<std::string> Prompt::read(const char* prompt) const {
  if (!on_terminal_) {
    std::string text;
    if (!std::getline(std::cin, text)) return std::nullopt;
    return text;
  }
  const std::unique_ptr<char, void (*)(void*)> typed(::readline(prompt), std::free);
  if (!typed) return std::nullopt;
  return std::string(typed.get());
}

void Prompt::remember(const std::string& statement) const {
  if (on_terminal_)
    ::add_history(statement.substr(0, statement.find_last_not_of('\n') + 1).c_str());
}

}  // namespace hearth::cli
