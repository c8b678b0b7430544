// init/command_output.h: where the output of a command goes: into events, or onto data streams as
// it is.
#pragma once

#include "init/open_streams.h"
#include "init/ordered_output.h"
#include "init/stream_port.h"
#include "init/turn_output.h"
#include "wire/messages.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace hearth::init {

class CommandOutput {
 public:
  virtual ~CommandOutput() = default;
  // How much may be read of the command now. 0 while the host has to catch up: then the command
  // waits.
  virtual std::size_t room(Stream stream) const = 0;
  // False when nothing of it is wanted any more.
  virtual bool is_wanted(Stream /*stream*/) const { return true; }
  virtual void add(Stream stream, std::string_view bytes) = 0;
  // The command says no more.
  virtual void finish() = 0;
  virtual bool limit_reached() const = 0;
  virtual std::uint64_t bytes() const = 0;
};

// Text in events, which are counted against the output limit.
class EventOutput : public CommandOutput, private OutputSink {
 public:
  // `events` must outlive it.
  explicit EventOutput(TurnOutput& events) : events_(events) {}

  std::size_t room(Stream stream) const override;
  void add(Stream stream, std::string_view bytes) override;
  void finish() override { text_.finish(*this); }
  bool limit_reached() const override { return events_.limit_reached(); }
  std::uint64_t bytes() const override { return events_.bytes(); }

 private:
  void on_text(Stream stream, std::string_view bytes) override { events_.add_text(stream, bytes); }
  void on_record(std::string_view /*record*/) override {}
  void on_malformed_record() override {}

  TurnOutput& events_;
  OrderedOutput text_;  // which keeps characters whole
};

// Data streams, one of each output.
class StreamOutput : public CommandOutput {
 public:
  explicit StreamOutput(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // What the stream of one of its outputs does.
  static std::unique_ptr<StreamWork> work_of(std::shared_ptr<StreamOutput> output, Stream stream,
                                             StreamPort& port);

  std::size_t room(Stream stream) const override;
  bool is_wanted(Stream stream) const override { return port(stream) != nullptr; }
  void add(Stream stream, std::string_view bytes) override;
  void finish() override;
  bool limit_reached() const override { return limit_reached_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  class Work;
  void end(Stream stream);
  StreamPort*& port(Stream stream) { return ports_.at(static_cast<std::size_t>(stream)); }
  StreamPort* port(Stream stream) const { return ports_.at(static_cast<std::size_t>(stream)); }

  std::array<StreamPort*, 2> ports_{};  // null when the stream is over
  std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;
  bool limit_reached_ = false;
};

}  // namespace hearth::init
