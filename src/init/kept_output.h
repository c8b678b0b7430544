// init/kept_output.h: the last of what a background command has printed, and those that read it.
// The command never waits for them: what comes replaces what is oldest, read or not.
#pragma once

#include "init/command_output.h"
#include "init/open_streams.h"
#include "init/stream_port.h"
#include "wire/messages.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hearth::init {

class KeptOutput : public CommandOutput {
 public:
  std::size_t room(Stream stream) const override;
  void add(Stream stream, std::string_view bytes) override;
  void finish() override { is_finished_ = true; }
  bool limit_reached() const override { return false; }
  std::uint64_t bytes() const override { return end_; }

  // What the stream of a reader does.
  static std::unique_ptr<StreamWork> reader_of(std::shared_ptr<const KeptOutput> output,
                                               std::uint64_t from, StreamPort& port);

 private:
  class Reader;
  std::uint64_t begin() const { return end_ - ring_.size(); }
  // From there on, as far as it lies in one piece.
  std::string_view piece_at(std::uint64_t position) const;

  std::string ring_;  // the byte at position p is at p % kept_output_bytes
  std::uint64_t end_ = 0;
  bool is_finished_ = false;
};

}  // namespace hearth::init
