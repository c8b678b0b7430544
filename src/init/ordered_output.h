// init/ordered_output.h: one worker's three pipes put back into the order in which it wrote.
//
// A script prints to two pipes and emits to a third, and pipes do not say which came first. So each
// record on the emit pipe begins with how many bytes its writer had printed to stdout and stderr by
// then ("12 0 {...}"), and a bare pair marks a change of stream. Wrong counts only
// move text; none is ever lost.
#pragma once

#include "wire/line_reader.h"

#include <array>
#include <cstdint>
#include <functional>
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
  // `emit_emptied` says whether it was. The other way round a record may speak of text that came
  // between the two: then `read_more` is called, which adds what is there by now and says whether
  // that was anything. True if that happened: what was read so late may have a mark before it that
  // is not read yet, so it stays until the next call, which must follow.
  bool deliver(OutputSink& sink, bool emit_emptied, const std::function<bool()>& read_more);

  // The writers are gone: everything, cut characters and lines included.
  void finish(OutputSink& sink);

  // Forgets what was not handed over, a cut line included. What is still to come of that line is
  // no record. Returns the bytes of text.
  std::size_t drop();

  std::size_t pending_text_bytes() const;

 private:
  struct Text {
    std::string bytes;
    std::uint64_t delivered = 0;
  };
  bool deliver_records(OutputSink& sink, const std::function<bool()>& read_more);
  // Whether more had to be read for it.
  bool deliver_record(OutputSink& sink, std::string_view line,
                      const std::function<bool()>& read_more);
  bool lacks(std::uint64_t out, std::uint64_t err) const;
  void deliver_text(OutputSink& sink, Stream stream, std::uint64_t up_to);
  void deliver_all_text(OutputSink& sink);

  std::array<Text, 2> text_;
  wire::LineReader records_;
};

}  // namespace hearth::init
