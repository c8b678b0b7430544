#include "init/ordered_output.h"

#include "init/limits.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace hearth::init;

namespace {

struct Recorder : OutputSink {
  std::vector<std::string> seen;
  void on_text(Stream stream, std::string_view bytes) override {
    seen.push_back((stream == Stream::out ? "out:" : "err:") + std::string(bytes));
  }
  void on_record(std::string_view json) override { seen.push_back("rec:" + std::string(json)); }
  void on_malformed_record() override { seen.emplace_back("bad"); }
};

using Seen = std::vector<std::string>;

bool nothing_more() { return false; }

}  // namespace

TEST_CASE("H12: text and records come in the order in which they were written") {
  OrderedOutput output;
  Recorder sink;
  // print a; print b to stderr; print c; emit x; print d: all of it is in the pipes before anything
  // looks.
  output.add_text(Stream::out, "acd");
  output.add_text(Stream::err, "b");
  output.add_records("1 0\n1 1\n2 1 {x}\n");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen == Seen{"out:a", "err:b", "out:c", "rec:{x}", "out:d"});
}

TEST_CASE("text waits for a record that is still being written, but not for ever") {
  OrderedOutput output;
  Recorder sink;
  output.add_text(Stream::out, "after");
  output.add_records("0 0 {half");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen.empty());
  output.add_records("}\n");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen == Seen{"rec:{half}", "out:after"});

  sink.seen.clear();
  output.add_records("5 0 {never ends");
  output.add_text(Stream::out, std::string(read_chunk_bytes, 'x'));
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen.size() == 1);
}

TEST_CASE("what is dropped counts as handed over, and takes the line it cuts with it") {
  OrderedOutput output;
  Recorder sink;
  output.add_text(Stream::out, "old");
  output.add_records("3 0 {ol");
  output.deliver(sink, true, nothing_more);
  CHECK(output.drop() == 3);
  output.add_records("d}\n6 0 {new}\n");
  output.add_text(Stream::out, "new");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen == Seen{"bad", "out:new", "rec:{new}"});
}

TEST_CASE("text waits while records were left unread") {
  OrderedOutput output;
  Recorder sink;
  output.add_text(Stream::out, "late");
  output.add_records("0 0 {1}\n");
  output.deliver(sink, false, nothing_more);
  CHECK(sink.seen == Seen{"rec:{1}"});
  output.add_records("0 0 {2}\n");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen == Seen{"rec:{1}", "rec:{2}", "out:late"});
}

TEST_CASE("a character cut in two is handed over whole") {
  OrderedOutput output;
  Recorder sink;
  const std::string text = "ä😀";
  for (const char byte : text) {
    output.add_text(Stream::out, std::string_view(&byte, 1));
    output.deliver(sink, true, nothing_more);
  }
  CHECK(sink.seen == Seen{"out:ä", "out:😀"});
  output.add_text(Stream::err, "\xf0\x9f");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen.size() == 2);
  output.finish(sink);
  CHECK(sink.seen.back() == "err:\xf0\x9f");
}

TEST_CASE("H23: forged counts and garbage move text at most, and lose none") {
  OrderedOutput output;
  Recorder sink;
  output.add_text(Stream::out, "abc");
  output.add_records(
      "99999999999999999999 0 {}\n-1 0 {}\nx\n\n1\n1 1x\n1  1\n18446744073709551615 0 {ok}\n");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen == Seen{"bad", "bad", "bad", "bad", "bad", "bad", "bad", "out:abc", "rec:{ok}"});
  output.add_text(Stream::out, "more");
  output.add_records("2 0 {old count}\n");
  output.deliver(sink, true, nothing_more);
  CHECK(Seen(sink.seen.end() - 2, sink.seen.end()) == Seen{"out:more", "rec:{old count}"});
}

TEST_CASE("a record comes after what was printed before it, although others printed too") {
  OrderedOutput output;
  Recorder sink;
  output.add_text(Stream::out, "a child's 100 bytes, which the worker did not count");
  output.deliver(sink, true, nothing_more);
  output.add_records("5 0 {log}\n");
  bool was_read = false;
  const auto more = [&] {
    if (!was_read) output.add_text(Stream::out, "five\n");
    return !std::exchange(was_read, true);
  };
  output.deliver(sink, true, more);
  CHECK(Seen(sink.seen.end() - 2, sink.seen.end()) == Seen{"out:five\n", "rec:{log}"});
}

TEST_CASE("a record over the limit is dropped and the next one is read") {
  OrderedOutput output;
  Recorder sink;
  output.add_records("0 0 {" + std::string(max_record_bytes, 'x') + "}\n0 0 {next}\n");
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen == Seen{"bad", "rec:{next}"});
}

TEST_CASE("H12: text that a record speaks of is read before the record is passed on") {
  OrderedOutput output;
  Recorder sink;
  // Nothing was in the pipes when they were read; then the script printed and emitted.
  output.add_records("3 0 {end}\n");
  int reads = 0;
  const bool read_late = output.deliver(sink, true, [&] {
    output.add_text(Stream::out, reads == 0 ? "ab" : "cd");
    return ++reads <= 2;
  });
  CHECK(read_late);
  CHECK(reads == 2);
  CHECK(sink.seen == Seen{"out:abc", "rec:{end}"});
  // The d may have a mark before it that is not read yet.
  output.deliver(sink, true, nothing_more);
  CHECK(sink.seen.back() == "out:d");
}
