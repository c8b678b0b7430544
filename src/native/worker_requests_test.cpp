#include "native/worker_requests.h"

#include "os/packet.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

#include <fcntl.h>

#include <array>

using namespace hearth;
using native::WorkerRequest;
using native::WorkerRequests;

namespace {

struct Fixture {
  boost::asio::io_context loop{1};
  std::optional<WorkerRequests> requests{std::in_place, loop.get_executor()};
  os::UniqueFd init = requests->take_far_end();
  os::UniqueFd pipe;
  std::vector<std::uint64_t> asked;

  Fixture() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    pipe.reset(ends[0]);
    ::close(ends[1]);
    requests->await_request([this](const WorkerRequest& request) {
      CHECK(request.pipes.size() == 4);
      asked.push_back(request.number);
    });
  }
  void send(std::string_view text, std::size_t fds) {
    os::send_packet(init.get(), text, std::vector<int>(fds, pipe.get()));
  }
  void run() {
    loop.restart();
    loop.poll();
  }
};

}  // namespace

TEST_CASE("a request for a worker arrives with its descriptors, one at a time") {
  Fixture f;
  f.send(R"({"type":"prepare","number":7})", 4);
  f.send(R"({"type":"prepare","number":8})", 4);
  f.run();
  CHECK(f.asked == std::vector<std::uint64_t>{7});
}

TEST_CASE("after a malformed request nothing is read any more") {
  for (const auto& [text, fds] : std::vector<std::pair<std::string, std::size_t>>{
           {R"({"type":"other","number":7})", 4},
           {R"({"type":"prepare","number":-1})", 4},
           {R"({"type":"prepare"})", 4},
           {R"({"type":"prepare","number":7,"more":1})", 4},
           {"nonsense", 4},
           {R"({"type":"prepare","number":7})" + std::string(1000, ' '), 4}}) {
    CAPTURE(text);
    Fixture f;
    f.send(text, fds);
    f.run();
    CHECK(f.asked.empty());
    f.send(R"({"type":"prepare","number":9})", 4);
    f.run();
    CHECK(f.asked.empty());
  }
}

TEST_CASE("a request whose pipes are missing, or none, is refused") {
  Fixture f;
  const os::UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  f.send(R"({"type":"prepare","number":7})", 3);
  os::send_packet(f.init.get(), R"({"type":"prepare","number":8})",
                  std::vector<int>{f.pipe.get(), f.pipe.get(), f.pipe.get(), null.get()});
  f.run();
  CHECK(f.asked.empty());
  std::array<char, 256> buffer{};
  for (const int number : {7, 8}) {
    const auto packet = os::receive_packet(f.init.get(), buffer);
    REQUIRE(packet);
    CHECK(packet->text == R"({"type":"prepare_failed","number":)" + std::to_string(number) +
                              R"(,"message":"its pipes did not arrive"})");
  }
  f.send(R"({"type":"prepare","number":9})", 4);
  f.run();
  CHECK(f.asked == std::vector<std::uint64_t>{9});
}

TEST_CASE("init hears why it gets no worker") {
  Fixture f;
  f.requests->say_failed(7, "no \"room\"");
  std::array<char, 256> buffer{};
  const auto packet = os::receive_packet(f.init.get(), buffer);
  REQUIRE(packet);
  CHECK(packet->text == R"({"type":"prepare_failed","number":7,"message":"no \"room\""})");
  // The other end is closed.
  f.init.reset();
  f.requests->say_failed(8, "too late");
}

TEST_CASE("a request that came before the socket was closed is not served") {
  Fixture f;
  f.send(R"({"type":"prepare","number":7})", 4);
  f.requests.reset();
  f.run();
  CHECK(f.asked.empty());
}
