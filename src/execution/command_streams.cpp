#include "execution/command_streams.h"

#include "base/error.h"
#include "base/log.h"

#include <utility>
#include <variant>

namespace hearth::execution {

CommandStreams::CommandStreams(const asio::any_io_executor& executor, SandboxChannel& channel,
                               CommandIo io, wire::ExecRequest& request)
    : channel_(channel), io_(std::move(io)), tasks_(executor) {
  if (!io_.input.empty() || io_.input_stays_open) input_ = open(request.input);
  if (!io_.on_output) return;
  output_ = open(request.output);
  if (!request.terminal) errors_ = open(request.errors);
}

CommandStreams::Stream CommandStreams::open(std::optional<wire::StreamId>& name) {
  auto stream = std::make_unique<DataStream>(channel_);
  stream->assume_open();
  name = stream->id();
  return stream;
}

void CommandStreams::begin() {
  if (input_) tasks_.start("write the input of a command", write_given());
  if (output_) tasks_.start("read the output of a command", read(output_, false));
  if (errors_) tasks_.start("read the errors of a command", read(errors_, true));
}

void CommandStreams::hang_up() {
  input_ended_ = true;
  for (const Stream* stream : {&input_, &output_, &errors_})
    if (*stream) (*stream)->hang_up();
}

Task<> CommandStreams::drained() {
  hang_up();
  co_await tasks_.drained();
}

Task<> CommandStreams::close() {
  hang_up();
  co_await tasks_.close();
  const Mutex::Lock lock = co_await writing_.lock();
}

Task<> CommandStreams::write_given() {
  if (!co_await write(io_.input)) co_return;
  if (!io_.input_stays_open) co_await end_input();
}

Task<bool> CommandStreams::write(std::string_view bytes) try {
  if (!input_ || input_ended_) co_return false;
  const Mutex::Lock lock = co_await writing_.lock();
  if (input_ended_) co_return false;
  co_return co_await input_->write(bytes);
} catch (const Error& error) {
  log::debug("sandbox ended before the input of its command", {{"error", error.what()}});
  co_return false;
}

Task<> CommandStreams::end_input() try {
  if (!input_ || input_ended_) co_return;
  const Mutex::Lock lock = co_await writing_.lock();
  if (!std::exchange(input_ended_, true)) co_await input_->end();
} catch (const Error& error) {
  log::debug("sandbox ended before the input of its command", {{"error", error.what()}});
}

Task<> CommandStreams::read(Stream& stream, bool is_stderr) try {
  while (true) {
    const DataStream::Part part = co_await stream->receive();
    const auto* bytes = std::get_if<std::string>(&part);
    if (bytes == nullptr) co_return;
    co_await io_.on_output({is_stderr, *bytes});
  }
} catch (const Error& error) {
  log::debug("output of a command is not read any more", {{"error", error.what()}});
  stream.reset();
}

}  // namespace hearth::execution
