// init/command_input.h: the standard input of a command, on its way from a data stream to the
// command's pipe or terminal. What the command does not read waits here, at most a window of it.
#pragma once

#include "init/open_streams.h"
#include "init/stream_port.h"
#include "os/unique_fd.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hearth::init {

class CommandInput {
 public:
  // What the stream of `input` does. The stream may be over before the command, and the reverse.
  static std::unique_ptr<StreamWork> work_of(std::shared_ptr<CommandInput> input, StreamPort& port);

  // True if there is something to write.
  bool is_waiting() const { return !waiting_.empty() || (ended_ && !closed_); }
  // Writes what fits. At the end of the stream a pipe is closed, and a terminal gets its character
  // for that.
  void pump(os::UniqueFd& pipe);
  void pump_terminal(int terminal);
  // The command reads no more: tells the host.
  void close();

 private:
  class Work;
  void write_to(int fd);

  StreamPort* port_ = nullptr;  // until the stream is over
  std::string waiting_;
  char last_ = '\n';  // that a terminal got
  bool ended_ = false;
  bool end_is_added_ = false;
  bool closed_ = false;
};

}  // namespace hearth::init
