#include "channel/sandbox_commands.h"

#include "channel/data_stream.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

namespace hearth {

CommandReader::CommandReader() = default;
CommandReader::CommandReader(std::unique_ptr<DataStream> stream, std::uint64_t position)
    : stream_(std::move(stream)), position_(position) {}
CommandReader::CommandReader(CommandReader&& other) noexcept = default;
CommandReader& CommandReader::operator=(CommandReader&& other) noexcept = default;
CommandReader::~CommandReader() = default;

Task<CommandReader::Piece> CommandReader::next() {
  while (!is_over_) {
    DataStream::Part part = co_await stream_->receive();
    if (auto* bytes = std::get_if<std::string>(&part)) {
      Piece piece{position_, std::move(*bytes)};
      position_ += piece.bytes.size();
      co_return piece;
    }
    const auto& event = std::get<wire::EventBody>(part);
    if (const auto* position = std::get_if<wire::Position>(&event)) {
      position_ = position->offset;
    } else if (std::holds_alternative<wire::End>(event)) {
      is_over_ = true;
    } else {
      throw wire::ProtocolError("an answer to another request");
    }
  }
  co_return Piece{position_};
}

Task<std::vector<wire::CommandInfo>> SandboxCommands::list() {
  DataStream stream(*channel_);
  co_await stream.open(wire::ListCommands{stream.id()});
  DataStream::Part part = co_await stream.receive();
  auto* event = std::get_if<wire::EventBody>(&part);
  auto* list = event == nullptr ? nullptr : std::get_if<wire::CommandList>(event);
  if (list == nullptr) throw wire::ProtocolError("an answer to another request");
  co_return std::move(list->commands);
}

Task<CommandReader> SandboxCommands::attach(std::string execution_id, std::uint64_t from) {
  auto stream = std::make_unique<DataStream>(*channel_);
  co_await stream->open(wire::AttachCommand{stream->id(), execution_id, from});
  const DataStream::Part part = co_await stream->receive();
  const auto* event = std::get_if<wire::EventBody>(&part);
  if (event != nullptr && std::holds_alternative<wire::End>(*event))
    throw NoSuchCommand("no background command has the id " + execution_id);
  const auto* position = event == nullptr ? nullptr : std::get_if<wire::Position>(event);
  if (position == nullptr) throw wire::ProtocolError("an answer to another request");
  co_return CommandReader(std::move(stream), position->offset);
}

Task<wire::CommandInfo> SandboxCommands::ended(std::string execution_id) {
  CommandReader reader = co_await attach(execution_id, std::numeric_limits<std::uint64_t>::max());
  while (!(co_await reader.next()).bytes.empty()) {
  }
  for (wire::CommandInfo& command : co_await list())
    if (command.execution_id == execution_id && command.ending) co_return std::move(command);
  throw NoSuchCommand("the background command " + execution_id + " is not kept any more");
}

void SandboxCommands::signal(std::string execution_id, std::string name, bool all_processes) {
  channel_->post(wire::SignalRequest{std::move(execution_id), std::move(name), all_processes});
}

void SandboxCommands::cancel(std::string execution_id) {
  channel_->post(wire::CancelRequest{std::move(execution_id)});
}

}  // namespace hearth
