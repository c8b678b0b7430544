// docker/engine_client.h: calls of the Docker Engine API. Each ends: with its answer, with the
// engine's refusal, or at its deadline.
#pragma once

#include "async/task.h"
#include "docker/engine_address.h"
#include "docker/engine_error.h"
#include "docker/http_connection.h"

#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::docker {

struct EngineCall {
  std::string method = "GET";
  std::string path{};  // with its query, without the version
  boost::json::value body = nullptr;
  std::chrono::milliseconds limit{10'000};
  // Statuses that are as good as success: 404 for what shall be removed, say.
  std::vector<unsigned> accepted{};
};

struct EngineAnswer {
  unsigned status = 0;
  boost::json::value body = nullptr;  // null where it is empty or no JSON
};

struct EngineIdentity {
  std::string version;      // of the engine
  std::string api_version;  // that is spoken with it
};

class EngineClient {
 public:
  explicit EngineClient(EngineAddress address) : address_(std::move(address)) {}

  const EngineAddress& address() const { return address_; }

  // Throws EngineError, EngineUnreachable, EngineTimeout.
  Task<EngineAnswer> call(EngineCall call);

  // The answer's body as it comes, with `content` as the request's. Nothing more is passed on once
  // this returns or throws.
  using OnBytes = std::function<void(std::string_view)>;
  struct Upload {
    std::string type{};
    std::string bytes{};
  };
  Task<> stream(EngineCall call, Upload content, OnBytes on_bytes);

  // A call whose answer's head comes at once and whose body comes later, if ever: the connection it
  // comes on.
  Task<std::unique_ptr<HttpConnection>> begin(EngineCall call);

  // The streams of a container, from now on.
  Task<HttpConnection::Hijacked> attach(std::string container, std::chrono::milliseconds limit);

  // Whether it answers, and as what.
  Task<EngineIdentity> ping();

 private:
  Task<std::unique_ptr<HttpConnection>> connect();
  Task<std::unique_ptr<HttpConnection>> send(const EngineCall& call, Upload content, bool upgrade);
  Task<std::string> target_of(const EngineCall& call);
  Task<> agree_on_version();
  Task<> run_call(const EngineCall& call, EngineAnswer& answer);
  Task<> run_stream(const EngineCall& call, Upload& content, const OnBytes& on_bytes);
  void keep(std::unique_ptr<HttpConnection> connection);

  EngineAddress address_;
  std::string api_version_;
  std::string engine_version_;
  std::vector<std::unique_ptr<HttpConnection>> idle_;
};

// For a path: everything but letters, digits and -._~ is escaped.
std::string url_encode(std::string_view text);

// The newest version of the API that both sides know, "1.41".
std::string common_api_version(std::string_view theirs);

}  // namespace hearth::docker
