#include "docker/http_connection.h"

#include "docker/engine_error.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <sys/socket.h>

#include <optional>
#include <utility>

namespace hearth::docker {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

void rethrow_cancellation(const error_code& error) {
  if (error == asio::error::operation_aborted) throw boost::system::system_error(error);
}

[[noreturn]] void broke_off(const HttpRequest& request, const error_code& error) {
  // Without the query, which may hold the credentials of a proxy.
  throw EngineUnreachable("the Docker engine broke off its answer to " + request.method + ' ' +
                          request.target.substr(0, request.target.find('?')) + " (" +
                          error.message() + ')');
}

asio::generic::stream_protocol::endpoint endpoint_of(const EngineAddress& address) {
  if (!address.socket.empty()) return asio::local::stream_protocol::endpoint(address.socket);
  return asio::ip::tcp::endpoint(asio::ip::make_address(address.host), address.port);
}

class BeastConnection : public HttpConnection {
 public:
  explicit BeastConnection(Socket socket) : socket_(std::move(socket)) {}

  Task<unsigned> exchange(HttpRequest request) override {
    request_ = std::move(request);
    http::request<http::string_body> message;
    message.method_string(request_.method);
    message.target(request_.target);
    message.version(11);
    message.set(http::field::host, "docker");
    if (!request_.body.empty()) message.set(http::field::content_type, request_.content_type);
    if (request_.upgrade) {
      message.set(http::field::connection, "Upgrade");
      message.set(http::field::upgrade, "tcp");
    }
    message.body() = std::exchange(request_.body, {});
    message.prepare_payload();
    const auto [write_error, written] = co_await http::async_write(socket_, message, as_result);
    rethrow_cancellation(write_error);

    parser_.emplace();
    parser_->body_limit(boost::none);
    const auto [error, read] =
        co_await http::async_read_header(socket_, buffer_, *parser_, as_result);
    rethrow_cancellation(error);
    if (error) broke_off(request_, write_error ? write_error : error);
    may_go_on_ = !write_error;
    co_return status();
  }

  unsigned status() const override { return parser_->get().result_int(); }

  std::string header(std::string_view name) const override {
    const auto found = parser_->get().find(boost::beast::string_view(name.data(), name.size()));
    return found == parser_->get().end() ? std::string() : std::string(found->value());
  }

  Task<std::size_t> read_body(std::span<char> into) override {
    while (!parser_->is_done()) {
      parser_->get().body().data = into.data();
      parser_->get().body().size = into.size();
      auto [error, read] = co_await http::async_read_some(socket_, buffer_, *parser_, as_result);
      rethrow_cancellation(error);
      if (error == http::error::need_buffer) error = {};
      if (error) broke_off(request_, error);
      const std::size_t size = into.size() - parser_->get().body().size;
      if (size > 0) co_return size;
    }
    co_return 0;
  }

  bool is_reusable() override {
    if (!may_go_on_ || !parser_ || !parser_->is_done() || !parser_->keep_alive() ||
        buffer_.size() > 0)
      return false;
    char byte = 0;
    const ssize_t peeked = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return peeked < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  Hijacked hijack() override {
    const auto bytes = buffer_.data();
    return {std::move(socket_), std::string(static_cast<const char*>(bytes.data()), bytes.size())};
  }

 private:
  Socket socket_;
  boost::beast::flat_buffer buffer_;
  HttpRequest request_;
  std::optional<http::response_parser<http::buffer_body>> parser_;
  bool may_go_on_ = true;
};

}  // namespace

Task<std::unique_ptr<HttpConnection>> HttpConnection::open(EngineAddress address) {
  Socket socket(co_await asio::this_coro::executor);
  error_code error;
  try {
    const auto [connect_error] = co_await socket.async_connect(endpoint_of(address), as_result);
    error = connect_error;
  } catch (const boost::system::system_error& failed) {
    error = failed.code();  // a path that is too long for a socket, an address that is none
  }
  rethrow_cancellation(error);
  if (error)
    throw EngineUnreachable(explain_unreachable(address, error.value(), runs_in_container()));
  co_return std::make_unique<BeastConnection>(std::move(socket));
}

}  // namespace hearth::docker
