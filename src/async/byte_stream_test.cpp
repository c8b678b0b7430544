#include "async/byte_stream.h"

#include "async/within.h"
#include "base/error.h"
#include "os/pairs.h"
#include "tests/support/run_task.h"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

using namespace hearth;
using namespace std::chrono_literals;

namespace {

Task<> read_all(ByteStream& stream, std::string& into) {
  std::array<char, 1000> chunk{};
  while (const std::size_t size = co_await stream.read_some(chunk)) into.append(chunk.data(), size);
}

}  // namespace

TEST_CASE("writing to a stream whose other side is gone throws and does not end the process") {
  asio::io_context loop;
  os::SocketPair pair = os::make_socket_pair(SOCK_STREAM);
  DescriptorStream stream(loop.get_executor(), std::move(pair.ours));
  pair.theirs.reset();
  int code = 0;
  try {
    test::run_task(loop, stream.write("hello"));
  } catch (const OsError& error) {
    code = error.code;
  }
  CHECK(code == EPIPE);
}

TEST_CASE("a write larger than the socket's buffer arrives whole") {
  asio::io_context loop;
  os::SocketPair pair = os::make_socket_pair(SOCK_STREAM);
  auto ours = std::make_unique<DescriptorStream>(loop.get_executor(), std::move(pair.ours));
  DescriptorStream theirs(loop.get_executor(), std::move(pair.theirs));
  const std::string sent(5'000'000, 'x');
  std::string received;
  const auto close_when_sent = [](std::unique_ptr<DescriptorStream>& stream,
                                  const std::string& bytes) -> Task<> {
    co_await stream->write(bytes);
    stream.reset();
  };
  asio::co_spawn(loop, close_when_sent(ours, sent), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  test::run_task(loop, read_all(theirs, received));
  CHECK(received == sent);
}

TEST_CASE("a write that is not read can be cancelled") {
  asio::io_context loop;
  os::SocketPair pair = os::make_socket_pair(SOCK_STREAM);
  DescriptorStream stream(loop.get_executor(), std::move(pair.ours));
  const std::string endless(8'000'000, 'x');
  CHECK_THROWS_AS(test::run_task(loop, within(1ms, stream.write(endless))), DeadlineExceeded);
}
