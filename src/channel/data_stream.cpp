#include "channel/data_stream.h"

#include "base/error.h"
#include "wire/protocol_error.h"

#include <algorithm>
#include <utility>

namespace hearth {
namespace {

// Granted again in pieces of this size: few lines, and the sender does not run dry.
constexpr std::uint64_t grant_bytes = wire::first_window_bytes / 2;
constexpr std::uint64_t most_credit = std::uint64_t{1} << 62;

bool is_last(const wire::EventBody& body) {
  if (std::holds_alternative<wire::End>(body) || std::holds_alternative<wire::CommandList>(body))
    return true;
  const auto* answer = std::get_if<wire::FileAnswer>(&body);
  return answer != nullptr && (std::holds_alternative<wire::FileDone>(answer->body) ||
                               std::holds_alternative<wire::FileFailed>(answer->body));
}

}  // namespace

DataStream::DataStream(SandboxChannel& channel) : channel_(channel), id_(channel.next_stream_++) {
  channel_.streams_.emplace(id_, this);
}

DataStream::~DataStream() {
  channel_.streams_.erase(id_);
  if (is_open_) channel_.post(wire::Abandon{id_});
}

Task<> DataStream::open(wire::Request request) {
  is_open_ = true;
  co_await channel_.ask(std::move(request));
}

Task<DataStream::Part> DataStream::receive() {
  if (parts_.empty()) co_await channel_.hear_until([this] { return !parts_.empty() || failure_; });
  if (parts_.empty()) std::rethrow_exception(failure_);
  Part part = std::move(parts_.front());
  parts_.pop_front();
  if (const auto* bytes = std::get_if<std::string>(&part)) note_taken(bytes->size());
  co_return part;
}

void DataStream::note_taken(std::size_t bytes) {
  taken_ += bytes;
  if (taken_ < grant_bytes || !is_open_) return;
  window_ += taken_;
  channel_.post(wire::Window{id_, std::exchange(taken_, 0)});
}

Task<bool> DataStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto can_go_on = [this] { return credit_ > 0 || !parts_.empty() || failure_; };
    if (!can_go_on()) co_await channel_.hear_until(can_go_on);
    if (!parts_.empty() || failure_) co_return false;
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>({bytes.size(), credit_, wire::max_frame_bytes}));
    std::string frame;
    frame.reserve(size + 64);
    wire::append_data_header(frame, {id_, static_cast<std::uint32_t>(size)});
    frame += bytes.substr(0, size);
    bytes.remove_prefix(size);
    credit_ -= size;
    try {
      co_await channel_.write(Outgoing::Kind::data, std::move(frame));
    } catch (const OsError& error) {
      throw IncompleteRead(error.what());
    }
  }
  co_return true;
}

// Its frames have gone out before.
Task<> DataStream::end() { return channel_.ask(wire::End{id_}); }

void DataStream::hang_up() {
  parts_.emplace_back(wire::EventBody(wire::End{id_}));
  channel_.wake_satisfied();
}

void DataStream::hear_data(std::string_view bytes) {
  if (bytes.size() > window_)
    throw wire::ProtocolError("the sandbox sent more data than it was granted");
  window_ -= bytes.size();
  auto* last = parts_.empty() ? nullptr : std::get_if<std::string>(&parts_.back());
  // Many small frames must not take more memory than one large.
  if (last != nullptr && last->size() + bytes.size() <= wire::max_frame_bytes) {
    *last += bytes;
  } else {
    parts_.emplace_back(std::string(bytes));
  }
}

void DataStream::hear(wire::EventBody body) {
  if (const auto* window = std::get_if<wire::Window>(&body)) {
    if (window->bytes > most_credit - credit_) throw wire::ProtocolError("a window too wide");
    credit_ += window->bytes;
    return;
  }
  if (!is_open_) throw wire::ProtocolError("an answer after the last one");
  if (is_last(body)) is_open_ = false;
  parts_.emplace_back(std::move(body));
}

void DataStream::hear_failure(const wire::ScriptError& error) {
  if (error.name == "ProtocolError") {
    failure_ = std::make_exception_ptr(wire::ProtocolError(error.message));
  } else {
    failure_ = std::make_exception_ptr(IncompleteRead(error.message));
  }
}

}  // namespace hearth
