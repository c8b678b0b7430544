#include "cli/prompt.h"

#include "os/trusted_path.h"

#include <editline/readline.h>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

namespace hearth::cli {
namespace {

constexpr int most_kept_lines = 1000;

volatile std::sig_atomic_t caught_signal = 0;
void wake_up(int /*signal*/) {}

// It may come when the prompt is there and the read has not yet begun, which then would wait all
// the same. So the clock interrupts it, again and again.
void note_signal(int number) {
  caught_signal = number;
  constexpr timeval a_moment{0, 10'000};
  const itimerval again{a_moment, a_moment};
  ::setitimer(ITIMER_REAL, &again, nullptr);
}

// While it lives, a signal ends a read that waits. At other times the loop hears of them, which
// does not run while a line is typed.
class InterruptedReads {
 public:
  InterruptedReads() {
    caught_signal = 0;
    struct sigaction waking{};
    waking.sa_handler = wake_up;  // for good: one may still be on its way when this is over
    ::sigaction(SIGALRM, &waking, nullptr);
    struct sigaction noting{};
    noting.sa_handler = note_signal;
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &noting, &before_[i]);
  }
  ~InterruptedReads() {
    constexpr itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &before_[i], nullptr);
  }
  InterruptedReads(const InterruptedReads&) = delete;
  InterruptedReads& operator=(const InterruptedReads&) = delete;

  int signal() const { return caught_signal; }

 private:
  static constexpr std::array numbers{SIGINT, SIGTERM, SIGHUP};
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

}  // namespace

Prompt::Prompt(std::filesystem::path history)
    : on_terminal_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1),
      history_(std::move(history)) {
  if (!on_terminal_) return;
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
  const InterruptedReads reads;
  std::optional<std::string> text = read(prompt);
  if (reads.signal() == SIGINT && on_terminal_) {
    std::cout << '\n' << std::flush;
    return Line{{}, true};
  }
  if (reads.signal() != 0) throw boost::system::system_error(boost::asio::error::operation_aborted);
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
  if (typed.get()[0] != '\0') ::add_history(typed.get());
  return std::string(typed.get());
}

}  // namespace hearth::cli
