#include "init/command_input.h"

#include "init/nonblocking_io.h"

#include <termios.h>
#include <unistd.h>

#include <utility>

namespace hearth::init {
namespace {

// A terminal in which programs read lines ends the line at the first, and the input at a second.
std::string end_of_input(int terminal, char last) {
  termios mode{};
  if (::tcgetattr(terminal, &mode) != 0 || mode.c_cc[VEOF] == _POSIX_VDISABLE) return {};
  return std::string(last == '\n' ? 1 : 2, static_cast<char>(mode.c_cc[VEOF]));
}

}  // namespace

class CommandInput::Work : public StreamWork {
 public:
  Work(std::shared_ptr<CommandInput> input, StreamPort& port)
      : input_(std::move(input)), port_(port) {
    input_->port_ = &port_;
  }
  // What came before is still written.
  ~Work() override { end(); }

  void take(std::string_view bytes) override {
    if (!input_->closed_) input_->waiting_ += bytes;
  }
  void take_end() override { end(); }
  void interrupt() override { input_->close(); }

 private:
  void end() {
    input_->port_ = nullptr;
    input_->ended_ = true;
    port_.close();
  }

  std::shared_ptr<CommandInput> input_;
  StreamPort& port_;
};

std::unique_ptr<StreamWork> CommandInput::work_of(std::shared_ptr<CommandInput> input,
                                                  StreamPort& port) {
  return std::make_unique<Work>(std::move(input), port);
}

void CommandInput::pump(os::UniqueFd& pipe) {
  if (closed_ || !pipe) return;
  write_to(pipe.get());
  if (closed_ || (ended_ && waiting_.empty())) {
    closed_ = true;
    pipe.reset();
  }
}

void CommandInput::pump_terminal(int terminal) {
  if (closed_ || terminal < 0) return;
  write_to(terminal);
  if (closed_ || !ended_ || !waiting_.empty()) return;
  if (!std::exchange(end_is_added_, true)) {
    waiting_ = end_of_input(terminal, last_);
    write_to(terminal);
  }
  closed_ = closed_ || waiting_.empty();
}

void CommandInput::write_to(int fd) {
  if (waiting_.empty()) return;
  const WriteResult result = write_available(fd, waiting_);
  if (result.bytes > 0) last_ = waiting_[result.bytes - 1];
  waiting_.erase(0, result.bytes);
  if (port_ != nullptr && result.bytes > 0) port_->note_taken(result.bytes);
  if (result.broken) close();
}

void CommandInput::close() {
  closed_ = true;
  waiting_ = {};
  if (port_ == nullptr) return;
  port_->send(wire::End{port_->id()});
  port_->close();
  port_ = nullptr;
}

}  // namespace hearth::init
