// init/turn_output.h: the events of one turn or command on their way to the host, counted against
// its output limit.
#pragma once

#include "init/host_link.h"
#include "init/ordered_output.h"
#include "wire/messages.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::init {

class TurnOutput {
 public:
  // `host` must outlive it.
  TurnOutput(HostLink& host, std::string execution_id, std::uint64_t max_bytes)
      : host_(host), execution_id_(std::move(execution_id)), max_bytes_(max_bytes) {}

  // What reaches the limit is dropped, and so is everything after it.
  void add_text(Stream stream, std::string_view bytes);
  void add(wire::EventBody body);
  bool limit_reached() const { return limit_reached_; }
  std::uint64_t bytes() const { return bytes_; }

  // Init's own word, which is not counted.
  void say(wire::EventBody body) { host_.send({execution_id_, std::move(body)}); }

 private:
  bool append_text_line(Stream stream, std::string_view text);

  HostLink& host_;
  std::string execution_id_;
  std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;
  bool limit_reached_ = false;
};

}  // namespace hearth::init
