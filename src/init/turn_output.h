// init/turn_output.h: the events of one turn or command on their way to the host, counted against
// its output limit.
#pragma once

#include "init/host_link.h"
#include "init/ordered_output.h"
#include "init/output_tail.h"
#include "wire/messages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::init {

class TurnOutput {
 public:
  // `host` must outlive it.
  TurnOutput(HostLink& host, std::string execution_id, std::uint64_t max_bytes,
             wire::OutputMode mode = wire::OutputMode::fail)
      : host_(host),
        execution_id_(std::move(execution_id)),
        max_bytes_(max_bytes),
        truncates_(mode == wire::OutputMode::truncate) {}

  // What reaches the limit is dropped, and so is everything after it. A truncated output has no
  // limit but for its result and errors: its first part is passed on, and by finish() its last.
  void add_text(Stream stream, std::string_view bytes);
  void add(wire::EventBody body);
  void finish();
  bool limit_reached() const { return limit_reached_; }
  std::uint64_t bytes() const { return bytes_; }
  std::optional<wire::Truncated> truncated() const;  // after finish()

  std::size_t backlog() const { return host_.backlog(); }

  // Init's own word, which is not counted.
  void say(wire::EventBody body) { host_.send({execution_id_, std::move(body)}); }

 private:
  std::uint64_t room() const;
  void begin_tail() { tail_.emplace(max_bytes_ - bytes_); }
  bool append_text(Stream stream, std::string_view text, std::uint64_t most_bytes);
  std::size_t append_part(Stream stream, std::string_view text, std::uint64_t most_bytes);
  bool append_line(const std::string& line, std::uint64_t most_bytes);
  void add_truncating(wire::EventBody body);
  bool add_display(wire::Display& display);
  void append_item(const OutputTail::Item& item);
  void mark_gap(Stream stream, std::uint64_t bytes);

  HostLink& host_;
  std::string execution_id_;
  std::uint64_t max_bytes_;
  bool truncates_;
  std::uint64_t bytes_ = 0;
  bool limit_reached_ = false;
  std::array<bool, 2> is_inside_line_{};  // of stdout, stderr
  std::optional<OutputTail> tail_;        // once the first part is full
  std::uint64_t display_bytes_ = 0;
  std::uint64_t shortened_displays_ = 0;
};

}  // namespace hearth::init
