// init/command_process.h: the processes of one command and init's ends of their pipes or terminal.
#pragma once

#include "init/command_runner.h"
#include "os/unique_fd.h"
#include "wire/command_messages.h"

#include <sys/types.h>

#include <optional>

namespace hearth::init {

class CommandProcess {
 public:
  // Throws OsError if a pipe, terminal or process cannot be made. `script` is -1 if there is none.
  CommandProcess(const CommandPlan& plan, const wire::ExecRequest& request, int script);

  pid_t runner() const { return runner_; }
  // It was reaped.
  void forget_runner() {
    runner_ = 0;
    report_.reset();
  }
  int report_fd() const { return report_.get(); }
  int output_fd() const { return output_.get(); }
  int errors_fd() const { return errors_.get(); }  // -1 if they are part of the output
  int input_fd() const { return has_terminal_ ? output_.get() : input_.get(); }
  bool has_terminal() const { return has_terminal_; }
  os::UniqueFd& input() { return input_; }  // a pipe's; none with a terminal
  os::UniqueFd& output() { return output_; }
  os::UniqueFd& errors() { return errors_; }

  // What the runner has reported since.
  std::optional<RunnerReport> next_report();
  void resize(const wire::TerminalSize& size) const;

 private:
  void connect(CommandEnds& ends, const wire::ExecRequest& request);
  void open_input(bool is_pipe);

  pid_t runner_ = 0;
  os::UniqueFd report_, input_, output_, errors_;
  os::UniqueFd far_input_, far_output_, far_errors_;  // until the runner has them
  bool has_terminal_ = false;
};

}  // namespace hearth::init
