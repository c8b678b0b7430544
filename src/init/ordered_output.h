// init/ordered_output.h: puts the output of a worker's three pipes back into the order in which it
// was written.
//
// A script prints to two pipes and emits to a third, and pipes do not say which came first. So each
// record on the emit pipe begins with how many bytes its writer had printed to stdout and stderr by
// then ("12 0 {...}"), and a bare pair marks a change of stream. Wrong counts only move text; none
// is ever lost.
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

  // Hands over what is known to be in order. Read stdout and stderr first, and then the emit pipe
  // until it is empty: then no mark that belongs before the text can be missing. `emit_emptied`
  // says whether the emit pipe was emptied.
  //
  // A record may refer to text that was printed after stdout and stderr were read. Then `read_more`
  // is called, which adds the text that is available now and returns whether there was any. In that
  // case this returns true. The added text may have a mark before it that is not read yet, so it is
  // kept until the next call, which must follow.
  bool deliver(OutputSink& sink, bool emit_emptied, const std::function<bool()>& read_more);

  // After all writers have closed their ends: hands over everything, incomplete characters and
  // lines included.
  void finish(OutputSink& sink);

  // Drops what was not handed over, an incomplete line included. The rest of that line will be no
  // record. Returns the number of bytes of text.
  std::size_t drop();

  std::size_t pending_text_bytes() const;

 private:
  struct Text {
    std::string bytes;
    std::uint64_t delivered = 0;
  };
  bool deliver_records(OutputSink& sink, const std::function<bool()>& read_more);
  // True if more had to be read for it.
  bool deliver_record(OutputSink& sink, std::string_view line,
                      const std::function<bool()>& read_more);
  bool lacks(std::uint64_t out, std::uint64_t err) const;
  void deliver_text(OutputSink& sink, Stream stream, std::uint64_t up_to);
  void deliver_all_text(OutputSink& sink);

  std::array<Text, 2> text_;
  wire::LineReader records_;
};

}  // namespace hearth::init
