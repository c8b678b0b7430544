// init/ordered_output.h: one worker's three pipes put back into the order in which it wrote.
//
// A script prints to two pipes and emits to a third, and pipes do not say which came first. So each
// record on the emit pipe begins with how many bytes its writer had printed to stdout and stderr by
// then ("12 0 {...}"), and a bare pair marks a change of stream. Counts nobody can vouch for only
// move text; none is ever lost.
#pragma once

#include "wire/line_reader.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::init {

enum class Stream { out = 0, err = 1 };

class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void on_text(Stream stream, std::string_view bytes) = 0;  // never ends inside a character
  virtual void on_record(std::string_view json) = 0;
  virtual void on_malformed_record() = 0;
};

class OrderedOutput {
 public:
  OrderedOutput();

  void add_text(Stream stream, std::string_view bytes);
  void add_records(std::string_view bytes);

  // Hands over what is known to be in order. Call it after reading stdout and stderr first and then
  // the emit pipe until it was empty: then no mark that belongs before the text can be missing.
  // `emit_emptied` says whether it was.
  void deliver(OutputSink& sink, bool emit_emptied);

  // The writers are gone: everything, cut characters and lines included.
  void finish(OutputSink& sink);

  std::size_t pending_text_bytes() const;

 private:
  struct Text {
    std::string bytes;
    std::uint64_t delivered = 0;
  };
  void deliver_records(OutputSink& sink);
  void deliver_record(OutputSink& sink, std::string_view line);
  void deliver_text(OutputSink& sink, Stream stream, std::uint64_t up_to);
  void deliver_all_text(OutputSink& sink);

  std::array<Text, 2> text_;
  wire::LineReader records_;
};

}  // namespace hearth::init
