// channel/outgoing.h: what waits to be written to a sandbox. Messages stay whole, whichever task
// writes them and wherever one is cancelled. Lines go before data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace hearth {

class Outgoing {
 public:
  enum class Kind { line, data };
  // Tells when the message has gone out.
  struct Ticket {
    Kind kind = Kind::line;
    std::uint64_t number = 0;
  };

  Ticket add(Kind kind, std::string message) {
    Lane& lane = lanes_[index(kind)];
    lane.waiting.push_back(std::move(message));
    return {kind, ++lane.added};
  }
  bool is_sent(const Ticket& ticket) const {
    return lanes_[index(ticket.kind)].sent >= ticket.number;
  }

  bool is_empty() const {
    return written_ == current_.size() && lanes_[0].waiting.empty() && lanes_[1].waiting.empty();
  }

  // The next bytes to write; empty if nothing waits.
  std::string_view front() {
    if (written_ == current_.size() && !begin_next()) return {};
    return std::string_view(current_).substr(written_);
  }
  void note_written(std::size_t bytes) {
    written_ += bytes;
    if (written_ == current_.size()) ++lanes_[index(current_kind_)].sent;
  }

 private:
  struct Lane {
    std::deque<std::string> waiting;
    std::uint64_t added = 0;
    std::uint64_t sent = 0;
  };
  static std::size_t index(Kind kind) { return static_cast<std::size_t>(kind); }

  bool begin_next() {
    for (const Kind kind : {Kind::line, Kind::data}) {
      Lane& lane = lanes_[index(kind)];
      if (lane.waiting.empty()) continue;
      current_ = std::move(lane.waiting.front());
      lane.waiting.pop_front();
      current_kind_ = kind;
      written_ = 0;
      return true;
    }
    return false;
  }

  Lane lanes_[2];
  std::string current_;  // the message that is being written
  Kind current_kind_ = Kind::line;
  std::size_t written_ = 0;  // of it
};

}  // namespace hearth
