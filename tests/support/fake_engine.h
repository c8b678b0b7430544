// tests/support/fake_engine.h: an engine that says what a test wrote down for it: for answers that
// a real one cannot be made to give.
#pragma once

#include "async/task.h"
#include "docker/engine_address.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <deque>
#include <string>
#include <vector>

namespace hearth::test {

inline std::string answer(const std::string& status, const std::string& body,
                          const std::string& headers = {}) {
  return "HTTP/1.1 " + status + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline const std::string pong = answer("200 OK", "OK", "Api-Version: 1.41\r\nServer: Fake/1\r\n");

// Says to each request what a test wrote down for it, in order.
class FakeEngine {
 public:
  explicit FakeEngine(asio::io_context& loop)
      : loop_(loop),
        address_{.socket = directory_.path() / "socket"},
        acceptor_(loop, asio::local::stream_protocol::endpoint(address_.socket)) {
    asio::co_spawn(loop_, accept(), asio::detached);
  }

  const docker::EngineAddress& address() const { return address_; }
  void will_say(std::string text, bool then_hang_up = false) {
    script_.push_back({std::move(text), then_hang_up});
  }

  std::vector<std::string> requests{};  // first lines
  std::string last_request{};
  int connections = 0;

 private:
  struct Line {
    std::string text;
    bool hang_up = false;
  };

  Task<> accept() {
    while (true) {
      auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
      if (error) co_return;
      ++connections;
      asio::co_spawn(loop_, serve(std::move(socket)), asio::detached);
    }
  }
  Task<> serve(asio::local::stream_protocol::socket socket) {
    std::string bytes;
    while (true) {
      const auto [error, size] = co_await asio::async_read_until(
          socket, asio::dynamic_buffer(bytes), "\r\n\r\n", asio::as_tuple(asio::use_awaitable));
      if (error || script_.empty()) co_return;
      last_request = bytes.substr(0, size);
      requests.push_back(bytes.substr(0, bytes.find("\r\n")));
      const std::size_t length_at = last_request.find("Content-Length: ");
      std::size_t body = 0;
      if (length_at != std::string::npos) body = std::stoul(last_request.substr(length_at + 16));
      while (bytes.size() < size + body) {
        std::array<char, 4096> more{};
        const auto [failed, got] = co_await socket.async_read_some(
            asio::buffer(more), asio::as_tuple(asio::use_awaitable));
        if (failed) co_return;
        bytes.append(more.data(), got);
      }
      last_request += bytes.substr(size, body);
      bytes.erase(0, size + body);
      const Line line = script_.front();
      script_.pop_front();
      co_await asio::async_write(socket, asio::buffer(line.text),
                                 asio::as_tuple(asio::use_awaitable));
      if (line.hang_up) co_return;
    }
  }

  asio::io_context& loop_;
  TemporaryDirectory directory_;
  docker::EngineAddress address_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::deque<Line> script_;
};

}  // namespace hearth::test
