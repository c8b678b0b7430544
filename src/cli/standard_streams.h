// cli/standard_streams.h: the standard streams of hearth as those of a command in a sandbox, at the
// pace of both sides.
#pragma once

#include "async/task.h"
#include "async/task_group.h"
#include "cli/byte_input.h"
#include "cli/byte_output.h"
#include "cli/raw_terminal.h"
#include "execution/turn.h"

#include <boost/asio/any_io_executor.hpp>

#include <optional>

namespace hearth::cli {

class StandardStreams {
 public:
  struct Kind {
    bool has_terminal = false;  // the command is on one, which is ours
    bool takes_output = true;   // false: what it prints comes as events
    bool ends_line = false;     // on a terminal, so that something of ours can follow
  };
  StandardStreams(const asio::any_io_executor& executor, Kind kind);

  // Says that the command has them.
  void describe(execution::TurnRequest& request) const;
  // Empty if what it prints comes as events.
  execution::OnOutput on_output();
  // To be called with each event of the turn. `turn` must outlive close().
  void heard(const wire::Event& event, execution::Turn& turn);
  // The caller wants the command to end. When it has, what is printed has half a second to be
  // read, as after a time limit: nothing waits for ever for a reader that does not read.
  void hurry();
  // What is not printed yet never is.
  void abandon_output();
  // When the command is over. The terminal is as it was.
  Task<> close();

  bool lost_reader() const;     // of standard output
  bool lost_output() const;     // it could not be written, though there was a reader
  std::string failure() const;  // why, for people

 private:
  void begin(execution::Turn& turn);
  void bound_wait();
  Task<> write(execution::OutputBytes piece);
  Task<> feed(execution::Turn& turn);
  Task<> abandon_soon();
  static Task<> follow_size(execution::Turn& turn);

  Kind kind_;
  ByteInput input_;
  ByteOutput output_;
  ByteOutput errors_;
  std::optional<RawTerminal> raw_{};
  bool is_over_ = false;
  bool is_hurried_ = false;
  bool ended_by_itself_ = false;
  TaskGroup tasks_;
};

}  // namespace hearth::cli
