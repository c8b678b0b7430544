#include "tests/support/engine_proxy.h"

#include "async/task.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <set>

namespace hearth::test {
namespace {

using Local = asio::local::stream_protocol;
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

struct Pair {
  explicit Pair(Local::socket from, asio::io_context& loop)
      : client(std::move(from)), engine(loop) {}
  void close() {
    boost::system::error_code ignored;
    client.close(ignored);
    engine.close(ignored);
  }
  Local::socket client;
  Local::socket engine;
};

}  // namespace

struct EngineProxy::Impl {
  Impl(const std::string& path, std::string target, std::atomic<Mode>& how)
      : acceptor(loop, Local::endpoint(path)), upstream(std::move(target)), mode(how) {}

  Task<> serve() {
    while (true) {
      auto [error, socket] = co_await acceptor.async_accept(as_result);
      if (error) co_return;
      const Mode now = mode;
      auto pair = std::make_shared<Pair>(std::move(socket), loop);
      if (now == Mode::refuse) continue;
      pairs.insert(pair);
      if (now == Mode::hang) continue;
      asio::co_spawn(loop, connect(pair, now), asio::detached);
    }
  }

  Task<> connect(std::shared_ptr<Pair> pair, Mode how) {
    const auto [error] = co_await pair->engine.async_connect(Local::endpoint(upstream), as_result);
    if (error) {
      end(pair);
      co_return;
    }
    asio::co_spawn(loop, pump(pair, pair->client, pair->engine, Mode::pass), asio::detached);
    asio::co_spawn(loop, pump(pair, pair->engine, pair->client, how), asio::detached);
  }

  Task<> pump(std::shared_ptr<Pair> pair, Local::socket& from, Local::socket& to, Mode how) {
    std::array<char, 4096> chunk{};
    std::size_t passed = 0;
    while (true) {
      auto [error, size] = co_await from.async_read_some(asio::buffer(chunk), as_result);
      if (error) break;
      if (how == Mode::delay) {
        asio::steady_timer pause(loop, std::chrono::milliseconds(50));
        co_await pause.async_wait(as_result);
      }
      constexpr std::size_t few = 60;
      if (how == Mode::truncate) size = std::min(size, few - std::min(few, passed));
      passed += size;
      if (std::get<0>(co_await asio::async_write(to, asio::buffer(chunk, size), as_result))) break;
      if (how == Mode::truncate && passed >= few) break;
    }
    // Half of a connection may end without the other.
    boost::system::error_code ignored;
    to.shutdown(Local::socket::shutdown_send, ignored);
    if (how == Mode::truncate || &from == &pair->engine) end(pair);
  }

  void end(const std::shared_ptr<Pair>& pair) {
    pair->close();
    pairs.erase(pair);
  }

  asio::io_context loop{1};
  Local::acceptor acceptor;
  std::string upstream;
  std::atomic<Mode>& mode;
  std::set<std::shared_ptr<Pair>> pairs;
};

EngineProxy::EngineProxy(docker::EngineAddress engine)
    : address_{.socket = directory_.path() / "socket"},
      impl_(std::make_unique<Impl>(address_.socket, engine.socket, mode_)) {
  asio::co_spawn(impl_->loop, impl_->serve(), asio::detached);
  thread_ = std::thread([this] { impl_->loop.run(); });
}

EngineProxy::~EngineProxy() {
  asio::post(impl_->loop, [this] { impl_->loop.stop(); });
  thread_.join();
}

void EngineProxy::cut() {
  asio::post(impl_->loop, [this] {
    for (const auto& pair : impl_->pairs) pair->close();
    impl_->pairs.clear();
  });
}

}  // namespace hearth::test
