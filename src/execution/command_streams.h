// execution/command_streams.h: the standard streams of one command, as data streams: what it reads,
// and what it prints at the pace of its reader.
#pragma once

#include "async/mutex.h"
#include "async/task.h"
#include "async/task_group.h"
#include "channel/data_stream.h"
#include "wire/messages.h"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::execution {

// Bytes that a command printed, as they are.
struct OutputBytes {
  bool is_stderr = false;
  std::string_view bytes;  // valid until the task is over
};

// Called for the output of a command as it arrives; the next comes when the task is over. So a slow
// reader makes the command wait, and no memory grow. When it throws, the command finds that output
// closed.
using OnOutput = std::function<Task<>(OutputBytes)>;

struct CommandIo {
  std::string input{};
  bool input_stays_open = false;
  OnOutput on_output{};  // empty: the output comes as events
};

class CommandStreams {
 public:
  // `channel` must outlive it. Names the streams in the request.
  CommandStreams(const asio::any_io_executor& executor, SandboxChannel& channel, CommandIo io,
                 wire::ExecRequest& request);

  // When the request was sent.
  void begin();
  // When the command is over: nothing of it comes any more. Returns when all its output has reached
  // its reader.
  Task<> drained();
  // When it is not waited for any more, too. Awaits all tasks that use the streams.
  Task<> close();

  // False if the command takes no more. `bytes` must outlive the task.
  Task<bool> write(std::string_view bytes);
  Task<> end_input();

 private:
  using Stream = std::unique_ptr<DataStream>;
  Stream open(std::optional<wire::StreamId>& name);
  void hang_up();
  Task<> write_given();
  Task<> read(Stream& stream, bool is_stderr);

  SandboxChannel& channel_;
  CommandIo io_;
  Stream input_, output_, errors_;
  bool input_ended_ = false;
  Mutex writing_;
  TaskGroup tasks_;
};

}  // namespace hearth::execution
