// What is left out of an output that is too long, and what is not.
#include "init/turn_output.h"

#include "os/unique_fd.h"
#include "wire/decode.h"
#include "wire/encode.h"

#include <fcntl.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::init;

namespace {

struct Fixture {
  os::UniqueFd null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  HostLink host{null.get(), null.get()};
  TurnOutput output;

  explicit Fixture(std::uint64_t max_bytes, wire::OutputMode mode = wire::OutputMode::truncate)
      : output(host, "e", max_bytes, mode) {}

  std::vector<wire::Event> events() {
    std::vector<wire::Event> all;
    wire::LineReader lines(std::size_t{32} << 20);
    lines.append(host.outgoing());
    while (const auto line = lines.next()) all.push_back(wire::decode_event(line->text));
    return all;
  }
  std::string out() {
    std::string text;
    for (const wire::Event& event : events())
      if (const auto* body = std::get_if<wire::Stdout>(&event.body)) text += body->text;
    return text;
  }
  std::string err() {
    std::string text;
    for (const wire::Event& event : events())
      if (const auto* body = std::get_if<wire::Stderr>(&event.body)) text += body->text;
    return text;
  }
};

std::string numbered_lines(int count) {
  std::string text;
  for (int line = 0; line < count; ++line) text += "line " + std::to_string(line) + "\n";
  return text;
}

const std::string mark_begin = "[... ";
const std::string mark_end = " bytes left out ...]\n";

}  // namespace

TEST_CASE("C8: an output within the limit is passed on as it comes") {
  Fixture f(10'000);
  const std::string text = numbered_lines(100);
  f.output.add_text(Stream::out, text);
  CHECK(f.out() == text);
  f.output.finish();
  CHECK(f.out() == text);
  CHECK_FALSE(f.output.truncated());
}

TEST_CASE("C8: of a longer one the first and the last lines are kept, and the rest is counted") {
  std::size_t chunk = 0;
  SUBCASE("a byte at a time") { chunk = 1; }
  SUBCASE("in short pieces") { chunk = 7; }
  SUBCASE("in pipefuls") { chunk = 65536; }
  SUBCASE("at once") { chunk = std::size_t{1} << 30; }
  Fixture f(10'000);
  const std::string text = numbered_lines(100'000);
  for (std::size_t at = 0; at < text.size(); at += chunk)
    f.output.add_text(Stream::out, std::string_view(text).substr(at, chunk));
  f.output.finish();
  const std::string kept = f.out();
  const std::size_t mark = kept.find(mark_begin);
  REQUIRE(mark != std::string::npos);
  const std::size_t end = kept.find(mark_end, mark);
  REQUIRE(end != std::string::npos);
  std::string head = kept.substr(0, mark);
  if (chunk < 65536) head.pop_back();  // in the middle of a line: the mark begins one
  const std::string tail = kept.substr(end + mark_end.size());
  CHECK(text.starts_with(head));
  CHECK(head.ends_with('\n') == (chunk >= 65536));
  CHECK(text.ends_with(tail));
  CHECK(tail.starts_with("line "));
  const std::uint64_t left_out = text.size() - head.size() - tail.size();
  CHECK(kept.substr(mark, end - mark) == mark_begin + std::to_string(left_out));
  REQUIRE(f.output.truncated());
  CHECK(*f.output.truncated() == wire::Truncated{left_out, 0, 0, 0});
  CHECK_FALSE(f.output.limit_reached());
  CHECK(f.output.bytes() <= 10'000);
  // Each event of a short piece is much longer than its text.
  CHECK(head.size() > (chunk < 65536 ? 100 : 2500));
  CHECK(tail.size() > 1700);
}

TEST_CASE("C8: a line that never ends is cut, but no character is") {
  Fixture f(2000);
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "ä€😀";
  f.output.add_text(Stream::err, text);
  f.output.finish();
  const std::string kept = f.err();
  const std::size_t mark = kept.find("\n" + mark_begin);
  REQUIRE(mark != std::string::npos);
  const std::string tail = kept.substr(kept.find(mark_end) + mark_end.size());
  CHECK(text.starts_with(kept.substr(0, mark)));
  CHECK(text.ends_with(tail));
  CHECK_FALSE(tail.empty());
  CHECK(f.output.truncated()->stderr_bytes == text.size() - mark - tail.size());
}

TEST_CASE("C8: both streams, logs and results keep their order, and a result is never left out") {
  Fixture f(4000);
  f.output.add_text(Stream::out, numbered_lines(1000));
  f.output.add(wire::Log{"info", "after the lines"});
  f.output.add(wire::FinalResult{{"42"}});
  f.output.add_text(Stream::err, "e1\n");
  f.output.add(wire::Log{"info", "last"});
  f.output.finish();
  std::vector<std::string_view> types;
  for (const wire::Event& event : f.events()) types.push_back(wire::type_of(event.body));
  CHECK(types == std::vector<std::string_view>{"stdout", "stdout", "stdout", "log", "final_result",
                                               "stderr", "log"});
  CHECK(f.err() == "e1\n");

  Fixture flooded(4000);
  flooded.output.add_text(Stream::out, numbered_lines(1000));
  flooded.output.add(wire::FinalResult{{"42"}});
  for (int i = 0; i < 1000; ++i) flooded.output.add(wire::Log{"info", std::to_string(i)});
  flooded.output.finish();
  const auto events = flooded.events();
  CHECK(std::any_of(events.begin(), events.end(), [](const wire::Event& event) {
    return std::holds_alternative<wire::FinalResult>(event.body);
  }));
  CHECK(std::get<wire::Log>(events.back().body).message == "999");
  const auto logs = std::count_if(events.begin(), events.end(), [](const wire::Event& event) {
    return std::holds_alternative<wire::Log>(event.body);
  });
  CHECK(flooded.output.truncated()->events + static_cast<std::uint64_t>(logs) == 1000);
  CHECK_FALSE(flooded.output.limit_reached());
}

TEST_CASE("C8: a log that is larger than the tail does not push the text out") {
  Fixture f(4000);
  f.output.add_text(Stream::out, numbered_lines(1000));
  f.output.add(wire::Log{"info", std::string(100'000, 'x')});
  f.output.finish();
  CHECK(f.out().ends_with("line 999\n"));
  CHECK(f.output.truncated()->events == 1);
}

TEST_CASE("C8: a result that finds no room reaches the limit") {
  Fixture f(4000);
  SUBCASE("in the first part") {
    f.output.add(wire::FinalResult{{'"' + std::string(4000, 'x') + '"'}});
  }
  SUBCASE("in the last part") {
    f.output.add_text(Stream::out, numbered_lines(1000));
    f.output.add(wire::FinalResult{{'"' + std::string(3000, 'x') + '"'}});
  }
  SUBCASE("as the second of many errors") {
    f.output.add_text(Stream::out, numbered_lines(1000));
    for (int i = 0; i < 4; ++i) f.output.add(wire::ScriptError{"E", std::string(1000, 'x'), ""});
  }
  CHECK(f.output.limit_reached());
}

TEST_CASE("C8: displays have a limit of their own, beyond which their text remains") {
  Fixture f(4000);
  const std::string image(3 << 20, 'A');
  for (int i = 0; i < 3; ++i)
    f.output.add(wire::Display{
        {R"({"text/plain":"figure )" + std::to_string(i) + R"(","image/png":")" + image + "\"}"}});
  f.output.finish();
  const auto events = f.events();
  REQUIRE(events.size() == 3);
  CHECK(std::get<wire::Display>(events[1].body).data.text.size() > image.size());
  CHECK(std::get<wire::Display>(events[2].body).data.text == R"({"text/plain":"figure 2"})");
  CHECK(*f.output.truncated() == wire::Truncated{0, 0, 1, 0});
  CHECK(f.output.bytes() < 200);
}

TEST_CASE("C8: what is kept of a flood is bounded, however large the limit") {
  Fixture f(std::uint64_t{1} << 30);
  const std::string text(1 << 20, 'x');
  // The part that is passed on at once.
  for (int i = 0; i < 1024; ++i) {
    f.output.add_text(Stream::out, text);
    f.host.outgoing().clear();
  }
  f.output.finish();
  CHECK(f.host.outgoing().size() > 3 << 20);
  CHECK(f.host.outgoing().size() < 5 << 20);
}

TEST_CASE("C8: without truncation the limit is reached") {
  Fixture f(2000, wire::OutputMode::fail);
  f.output.add_text(Stream::out, numbered_lines(1000));
  CHECK(f.output.limit_reached());
  f.output.finish();
  CHECK_FALSE(f.output.truncated());
  CHECK(numbered_lines(1000).starts_with(f.out()));
}
