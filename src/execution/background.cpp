#include "execution/background.h"

#include "channel/data_stream.h"
#include "channel/sandbox_channel.h"

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

namespace hearth::execution {
namespace {

wire::ExecRequest command_of(pool::Lease& lease, TurnRequest request) {
  blueprint::Problems problems;
  if (request.input_stays_open)
    problems.push_back({"input_stays_open", "is not for background commands"});
  // It must not wait for the command to read.
  if (request.input.size() > wire::first_window_bytes)
    problems.push_back({"input", "of a background command has at most 524288 bytes"});
  if (!request.time_limit) request.time_limit = std::chrono::milliseconds(0);
  WireRequest wire = wire_request(lease.binding(), std::move(request));
  if (!std::holds_alternative<wire::ExecRequest>(wire))
    problems.push_back(
        {"background", "is for commands and scripts in other languages than Python"});
  if (!problems.empty()) throw blueprint::ConfigError("a background command", std::move(problems));
  auto& command = std::get<wire::ExecRequest>(wire);
  command.background = true;
  return std::move(command);
}

// Returns when the command runs.
Task<std::uint64_t> hear_start(SandboxChannel::Listener& events) {
  wire::ScriptError error{"CommandFailed", "the command was not started", {}};
  while (true) {
    const SandboxChannel::Received received = co_await events.receive();
    if (const auto* started = std::get_if<wire::Started>(&received.event.body))
      co_return started->pid;
    if (const auto* failure = std::get_if<wire::ScriptError>(&received.event.body)) {
      if (received.event.execution_id.empty()) throw IncompleteRead(failure->message);
      error = *failure;
    }
    if (std::holds_alternative<wire::ScriptDone>(received.event.body))
      throw CommandNotStarted(error.message, error.name);
  }
}

}  // namespace

Task<StartedCommand> start_background(pool::Lease& lease, TurnRequest request) {
  SandboxChannel& channel = lease.sandbox().channel();
  const std::string input = request.input;
  wire::ExecRequest command = command_of(lease, std::move(request));
  std::optional<DataStream> stream;
  if (!input.empty()) {
    stream.emplace(channel);
    stream->assume_open();
    command.input = stream->id();
  }
  SandboxChannel::Listener events(channel, [id = command.execution_id](const wire::Event& event) {
    return event.execution_id == id ||
           (event.execution_id.empty() && std::holds_alternative<wire::ScriptError>(event.body));
  });
  const std::string id = command.execution_id;
  co_await channel.send(std::move(command));
  if (stream && co_await stream->write(input)) co_await stream->end();
  co_return StartedCommand{id, co_await hear_start(events)};
}

}  // namespace hearth::execution
