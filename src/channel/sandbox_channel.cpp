#include "channel/sandbox_channel.h"

#include "async/within.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "channel/data_stream.h"
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/protocol_error.h"

#include <boost/asio/this_coro.hpp>

#include <optional>
#include <utility>

namespace hearth {
namespace {

// About the sandbox itself, so for every conversation.
bool is_about_sandbox(const wire::Event& event) {
  return event.execution_id.empty() && std::holds_alternative<wire::ScriptError>(event.body);
}

template <typename Body>
bool is_answer(const wire::Event& event) {
  return event.execution_id.empty() && std::holds_alternative<Body>(event.body);
}

std::optional<wire::StreamId> stream_of(const wire::EventBody& body) {
  if (const auto* answer = std::get_if<wire::FileAnswer>(&body)) return answer->stream;
  if (const auto* window = std::get_if<wire::Window>(&body)) return window->stream;
  if (const auto* end = std::get_if<wire::End>(&body)) return end->stream;
  if (const auto* list = std::get_if<wire::CommandList>(&body)) return list->stream;
  if (const auto* position = std::get_if<wire::Position>(&body)) return position->stream;
  return std::nullopt;
}

}  // namespace

// A task that waits while another one reads.
struct SandboxChannel::Follower {
  Follower(const asio::any_io_executor& executor, SandboxChannel& owner, const Condition& condition)
      : bell(executor),
        channel(owner),
        holds(condition),
        place(owner.followers_.insert(owner.followers_.end(), this)) {}
  ~Follower() { channel.followers_.erase(place); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  AsyncEvent bell;
  SandboxChannel& channel;
  const Condition& holds;
  std::list<Follower*>::iterator place;
};

// The right to read, and which reader gets it next.
class SandboxChannel::Leading {
 public:
  explicit Leading(SandboxChannel& channel) : channel_(channel) { channel_.is_being_read_ = true; }
  ~Leading() {
    channel_.is_being_read_ = false;
    if (!channel_.followers_.empty()) channel_.followers_.front()->bell.notify_all();
  }
  Leading(const Leading&) = delete;
  Leading& operator=(const Leading&) = delete;

 private:
  SandboxChannel& channel_;
};

SandboxChannel::SandboxChannel(std::unique_ptr<MessageStream> stream)
    : stream_(std::move(stream)) {}

SandboxChannel::SandboxChannel(std::unique_ptr<ByteStream> stream)
    : SandboxChannel(std::make_unique<PlainMessageStream>(std::move(stream))) {}

Task<> SandboxChannel::send(wire::Request request) {
  return write(Outgoing::Kind::line, wire::encode(request));
}

void SandboxChannel::post(const wire::Request& request) noexcept try {
  outgoing_.add(Outgoing::Kind::line, wire::encode(request));
  flush_left();
  if (left_ != nullptr && !outgoing_.is_empty()) left_->notify_all();
} catch (const std::exception& error) {
  log::debug("request to a sandbox was dropped", {{"error", error.what()}});
}

Task<> SandboxChannel::write(Outgoing::Kind kind, std::string message) {
  const Outgoing::Ticket ticket = outgoing_.add(kind, std::move(message));
  flush();
  while (!outgoing_.is_sent(ticket)) {
    co_await stream_->writable();
    flush();
  }
}

void SandboxChannel::flush() {
  for (std::string_view bytes = outgoing_.front(); !bytes.empty(); bytes = outgoing_.front()) {
    const std::size_t written = stream_->write_now(bytes);
    if (written == 0) return;
    outgoing_.note_written(written);
  }
}

void SandboxChannel::flush_left() noexcept try { flush(); } catch (const std::exception& error) {
  takes_nothing_ = true;
  log::debug("sandbox ended before it could be told", {{"error", error.what()}});
}

SandboxChannel::Listener::Listener(SandboxChannel& channel, Wants wants)
    : channel_(channel), wants_(std::move(wants)) {
  channel_.listeners_.push_back(this);
}

SandboxChannel::Listener::~Listener() { channel_.listeners_.remove(this); }

Task<SandboxChannel::Received> SandboxChannel::Listener::receive() {
  if (heard_.empty()) co_await channel_.hear_until([this] { return !heard_.empty(); });
  Received received = std::move(heard_.front());
  heard_.pop_front();
  co_return received;
}

Task<SandboxChannel::Received> SandboxChannel::receive() {
  Listener everything(*this, [](const wire::Event& /*event*/) { return true; });
  co_return co_await everything.receive();
}

Task<> SandboxChannel::hear_until(Condition holds) {
  while (!holds()) {
    if (failure_) std::rethrow_exception(failure_);
    if (is_being_read_) {
      co_await follow(holds);
    } else {
      co_await lead(holds);
    }
  }
}

Task<> SandboxChannel::lead(const Condition& holds) try {
  const Leading leading(*this);
  while (!holds()) {
    if (dispatch_next()) continue;
    if (!co_await fill())
      throw IncompleteRead(stream_->inside_message() ? "the sandbox's stream ended inside a message"
                                                     : "the sandbox's stream ended");
  }
} catch (const Error&) {
  fail(std::current_exception());
}

// What post() could not write, such as a window, may be what the sandbox waits for. So whichever
// task reads also writes it, as soon as there is room. Without streams, nothing fills the
// connection: such a conversation is spared the second wait.
Task<bool> SandboxChannel::fill() {
  if (streams_.empty() && outgoing_.is_empty()) co_return co_await stream_->fill();
  AsyncEvent left(co_await asio::this_coro::executor);
  left_ = &left;
  const ScopeExit forget([this] { left_ = nullptr; });
  std::optional<bool> is_open;
  while (!is_open) {
    co_await first_of(read_more(is_open), room_for_left(left));
    if (!takes_nothing_) flush_left();
  }
  co_return *is_open;
}

Task<> SandboxChannel::read_more(std::optional<bool>& is_open) {
  is_open = co_await stream_->fill();
}

Task<> SandboxChannel::room_for_left(AsyncEvent& left) {
  co_await left.wait_until([this] { return !takes_nothing_ && !outgoing_.is_empty(); });
  try {
    co_await stream_->writable();
  } catch (const OsError&) {
    takes_nothing_ = true;
  }
}

Task<> SandboxChannel::follow(const Condition& holds) {
  Follower follower(co_await asio::this_coro::executor, *this, holds);
  co_await follower.bell.wait_until(
      [this, &holds] { return holds() || !is_being_read_ || failure_; });
}

void SandboxChannel::fail(std::exception_ptr failure) {
  failure_ = std::move(failure);
  for (Follower* follower : followers_) follower->bell.notify_all();
}

void SandboxChannel::wake_satisfied() {
  for (Follower* follower : followers_)
    if (follower->holds()) follower->bell.notify_all();
}

// False if no whole message has arrived.
bool SandboxChannel::dispatch_next() {
  const std::optional<wire::MessageReader::Message> message = stream_->next();
  if (!message) return false;
  if (message->too_long) throw wire::ProtocolError("a line without end");
  if (!message->stream) {
    deliver({wire::decode_event(message->text), message->text.size() + 1});
  } else if (const auto found = streams_.find(*message->stream); found != streams_.end()) {
    found->second->hear_data(message->text);
  } else if (*message->stream >= next_stream_) {
    throw wire::ProtocolError("data of a stream that was never opened");
  }
  wake_satisfied();
  return true;
}

void SandboxChannel::deliver(Received received) {
  if (const std::optional<wire::StreamId> stream = stream_of(received.event.body)) {
    const auto found = streams_.find(*stream);
    if (found != streams_.end()) return found->second->hear(std::move(received.event.body));
    if (*stream >= next_stream_)
      throw wire::ProtocolError("an answer of a stream that was never opened");
    return;
  }
  if (is_about_sandbox(received.event)) return deliver_to_all(received);
  for (Listener* listener : listeners_)
    if (listener->wants_(received.event)) return listener->heard_.push_back(std::move(received));
  ++unwanted_events_;
}

void SandboxChannel::deliver_to_all(const Received& received) {
  const auto& error = std::get<wire::ScriptError>(received.event.body);
  for (Listener* listener : listeners_)
    if (listener->wants_(received.event)) listener->heard_.push_back(received);
  for (const auto& [id, stream] : streams_) stream->hear_failure(error);
}

Task<wire::ResetDone> SandboxChannel::reset(std::chrono::milliseconds limit) {
  wire::ResetDone done;
  co_await within(limit, exchange_reset(done));
  co_return done;
}

Task<> SandboxChannel::exchange_reset(wire::ResetDone& done) {
  Listener answers(*this, is_answer<wire::ResetDone>);
  co_await send(wire::ResetRequest{});
  Received received = co_await answers.receive();
  done = std::move(std::get<wire::ResetDone>(received.event.body));
}

Task<> SandboxChannel::ask(wire::Request request) {
  try {
    co_await send(std::move(request));
  } catch (const OsError& error) {
    throw IncompleteRead(error.what());
  }
}

Task<> SandboxChannel::ping(std::chrono::milliseconds limit) {
  co_await within(limit, exchange_ping());
}

Task<> SandboxChannel::exchange_ping() {
  Listener answers(*this, [](const wire::Event& event) {
    return is_answer<wire::Pong>(event) || is_about_sandbox(event);
  });
  co_await ask(wire::PingRequest{});
  const Received received = co_await answers.receive();
  const auto* error = std::get_if<wire::ScriptError>(&received.event.body);
  if (error == nullptr) co_return;
  if (error->name == "ProtocolError") throw wire::ProtocolError(error->message);
  throw IncompleteRead(error->message);  // its last words
}

}  // namespace hearth
