// docker/http_connection.h: one HTTP/1.1 connection to an engine: a request, then its answer, whole
// or bit by bit; or, after an upgrade, bare bytes.
#pragma once

#include "async/task.h"
#include "docker/engine_address.h"

#include <boost/asio/generic/stream_protocol.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hearth::docker {

struct HttpRequest {
  std::string method;
  std::string target;
  std::string body{};
  std::string content_type = "application/json";
  bool upgrade = false;
};

class HttpConnection {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  // Throws EngineUnreachable with advice.
  static Task<std::unique_ptr<HttpConnection>> open(EngineAddress address);
  virtual ~HttpConnection() = default;

  // Sends it and reads the answer's head. What the engine says to a request it would not read to
  // its end is an answer too. Throws EngineUnreachable.
  virtual Task<unsigned> exchange(HttpRequest request) = 0;
  virtual unsigned status() const = 0;
  // Of the answer to the last exchange; empty if there is none.
  virtual std::string header(std::string_view name) const = 0;
  // Of its body: at least one byte, 0 at its end. Throws EngineUnreachable if it breaks off.
  virtual Task<std::size_t> read_body(std::span<char> into) = 0;

  // Whether another exchange may follow: the body was read to its end, and the engine has neither
  // hung up nor said anything more.
  virtual bool is_reusable() = 0;

  // After an upgrade: the bare stream and what of it has come already.
  struct Hijacked {
    Socket socket;
    std::string first_bytes;
  };
  virtual Hijacked hijack() = 0;
};

}  // namespace hearth::docker
