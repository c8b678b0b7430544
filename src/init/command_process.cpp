#include "init/command_process.h"

#include "base/error.h"
#include "init/nonblocking_io.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace hearth::init {
namespace {

void make_pipe(os::UniqueFd& read_end, os::UniqueFd& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw OsError("create a pipe");
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
}

os::UniqueFd open_terminal() {
  os::UniqueFd terminal(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal || ::unlockpt(terminal.get()) != 0) throw OsError("open a terminal");
  return terminal;
}

void set_size(int terminal, const wire::TerminalSize& size) {
  const winsize wanted{size.rows, size.columns, 0, 0};
  ::ioctl(terminal, TIOCSWINSZ, &wanted);
}

}  // namespace

CommandProcess::CommandProcess(const CommandPlan& plan, const wire::ExecRequest& request,
                               int script)
    : has_terminal_(request.terminal.has_value()) {
  CommandEnds ends;
  connect(ends, request);
  ends.script = script;
  os::UniqueFd report;
  make_pipe(report_, report);
  runner_ = ::fork();
  if (runner_ < 0) throw OsError("fork");
  if (runner_ == 0) become_runner(plan, ends, report.get());
  for (os::UniqueFd* far : {&far_input_, &far_output_, &far_errors_}) far->reset();
  for (const os::UniqueFd* near : {&report_, &input_, &output_, &errors_})
    if (*near) make_nonblocking(near->get());
}

void CommandProcess::connect(CommandEnds& ends, const wire::ExecRequest& request) {
  if (request.terminal) {
    output_ = open_terminal();
    set_size(output_.get(), *request.terminal);
    far_input_.reset(::ioctl(output_.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!far_input_) throw OsError("open a terminal");
    ends = {far_input_.get(), far_input_.get(), far_input_.get(), -1, true};
    return;
  }
  open_input(request.input.has_value());
  make_pipe(output_, far_output_);
  // In one pipe the two keep their order.
  if (!request.background) make_pipe(errors_, far_errors_);
  const int errors = request.background ? far_output_.get() : far_errors_.get();
  ends = {far_input_.get(), far_output_.get(), errors, -1, false};
}

void CommandProcess::open_input(bool is_pipe) {
  if (is_pipe) return make_pipe(far_input_, input_);
  far_input_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!far_input_) throw OsError("open /dev/null");
}

std::optional<RunnerReport> CommandProcess::next_report() {
  RunnerReport report;
  if (!report_) return std::nullopt;
  const ssize_t got = ::read(report_.get(), &report, sizeof report);
  // A closed pipe is always ready: until the runner is reaped, poll() would return at once.
  if (got == 0) report_.reset();
  if (got != sizeof report) return std::nullopt;
  return report;
}

void CommandProcess::resize(const wire::TerminalSize& size) const {
  if (has_terminal_ && output_) set_size(output_.get(), size);
}

}  // namespace hearth::init
