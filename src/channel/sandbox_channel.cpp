#include "channel/sandbox_channel.h"

#include "async/within.h"
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"
#include "wire/workspace_path.h"

#include <optional>
#include <utility>

namespace hearth {
namespace {

// Far below init's limit of a line: init holds several copies of a piece in the sandbox's memory.
constexpr std::size_t file_piece_bytes = std::size_t{256} << 10;

}  // namespace

SandboxChannel::SandboxChannel(std::unique_ptr<LineStream> stream) : stream_(std::move(stream)) {}

SandboxChannel::SandboxChannel(std::unique_ptr<ByteStream> stream)
    : SandboxChannel(std::make_unique<PlainLineStream>(std::move(stream))) {}

Task<> SandboxChannel::send(wire::Request request) {
  const std::string line = wire::encode(request);
  co_await stream_->write(line);
}

Task<SandboxChannel::Received> SandboxChannel::receive() {
  while (true) {
    if (const std::optional<wire::LineReader::Line> line = stream_->next()) {
      if (line->too_long) throw wire::ProtocolError("a line without end");
      co_return Received{wire::decode_event(line->text), line->text.size() + 1};
    }
    if (!co_await stream_->fill())
      throw IncompleteRead(stream_->inside_line() ? "the sandbox's stream ended inside a message"
                                                  : "the sandbox's stream ended");
  }
}

Task<wire::ResetDone> SandboxChannel::reset(std::chrono::milliseconds limit) {
  wire::ResetDone done;
  co_await within(limit, exchange_reset(done));
  co_return done;
}

Task<> SandboxChannel::exchange_reset(wire::ResetDone& done) {
  co_await send(wire::ResetRequest{});
  while (true) {
    Received received = co_await receive();
    if (auto* said = std::get_if<wire::ResetDone>(&received.event.body)) {
      done = std::move(*said);
      co_return;
    }
  }
}

Task<> SandboxChannel::ask(wire::Request request) {
  try {
    co_await send(std::move(request));
  } catch (const OsError& error) {
    throw IncompleteRead(error.what());
  }
}

template <typename Answer>
Task<Answer> SandboxChannel::receive_answer() {
  while (true) {
    Received received = co_await receive();
    if (!received.event.execution_id.empty()) continue;  // late event of an earlier turn
    if (auto* answer = std::get_if<Answer>(&received.event.body)) co_return std::move(*answer);
    const auto* error = std::get_if<wire::ScriptError>(&received.event.body);
    if (error == nullptr) continue;
    if (error->name == "ProtocolError") throw wire::ProtocolError(error->message);
    throw IncompleteRead(error->message);  // its last words
  }
}

Task<> SandboxChannel::ping(std::chrono::milliseconds limit) {
  co_await within(limit, exchange_ping());
}

Task<> SandboxChannel::exchange_ping() {
  co_await ask(wire::PingRequest{});
  co_await receive_answer<wire::Pong>();
}

Task<> SandboxChannel::write_file(std::string path, std::string_view content, unsigned mode,
                                  std::chrono::milliseconds limit) {
  if (const std::string problem = wire::problem_of_workspace_path(path); !problem.empty())
    throw Error("the path of a file in the workspace " + problem);
  co_await within(limit, exchange_file(std::move(path), content, mode));
}

Task<> SandboxChannel::exchange_file(std::string path, std::string_view content, unsigned mode) {
  bool append = false;
  do {
    const std::string_view piece = content.substr(0, file_piece_bytes);
    content.remove_prefix(piece.size());
    co_await ask(wire::WriteFileRequest{path, std::string(piece), mode, append});
    const auto answer = co_await receive_answer<wire::FileWritten>();
    if (answer.path != path) throw wire::ProtocolError("an answer about another file");
    if (!answer.error.empty()) throw Error(answer.error);
    append = true;
  } while (!content.empty());
}

}  // namespace hearth
