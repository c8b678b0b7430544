#include "docker/engine_client.h"

#include "async/within.h"
#include "docker/json_path.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace hearth::docker {
namespace {

namespace json = boost::json;

// Newer engines speak it too, unless they have dropped it; then they say so.
constexpr int newest_minor = 47;
constexpr std::size_t most_idle = 16;
// Of an answer that is held as a whole; the largest are lists of containers.
constexpr std::size_t most_answer_bytes = std::size_t{64} << 20;

Task<std::string> whole_body(HttpConnection& connection) {
  std::string text;
  std::array<char, 16384> chunk;  // NOLINT: filled by read_body
  while (const std::size_t size = co_await connection.read_body(chunk)) {
    text.append(chunk.data(), size);
    if (text.size() > most_answer_bytes) throw EngineUnreachable("the engine's answer has no end");
  }
  co_return text;
}

json::value parsed(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  return failed ? json::value(nullptr) : value;
}

// {"message": "..."}, or plain text from proxies and from refused versions.
std::string message_in(const std::string& body) {
  std::string message = text_at(parsed(body), {"message"});
  if (!message.empty()) return message;
  return body.empty() ? "no reason given" : body;
}

std::string in_words(const EngineCall& call) {
  return call.method + ' ' + call.path.substr(0, call.path.find('?'));
}

bool is_accepted(const EngineCall& call, unsigned status) {
  return status < 400 ||
         std::find(call.accepted.begin(), call.accepted.end(), status) != call.accepted.end();
}

Task<> within_limit(const EngineCall& call, Task<> work) {
  const std::string words = in_words(call);
  const std::chrono::milliseconds limit = call.limit;
  try {
    co_await within(limit, std::move(work));
  } catch (const DeadlineExceeded&) {
    throw EngineTimeout("the Docker engine did not answer " + words + " within " +
                        std::to_string(limit.count()) + " ms");
  }
}

}  // namespace

std::string url_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

std::string common_api_version(std::string_view theirs) {
  int minor = newest_minor;
  if (theirs.starts_with("1.")) {
    int found = 0;
    const auto [end, error] =
        std::from_chars(theirs.data() + 2, theirs.data() + theirs.size(), found);
    if (error == std::errc() && end == theirs.data() + theirs.size())
      minor = std::min(found, newest_minor);
  }
  return "1." + std::to_string(minor);
}

Task<std::unique_ptr<HttpConnection>> EngineClient::connect() {
  while (!idle_.empty()) {
    std::unique_ptr<HttpConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->is_reusable()) co_return connection;
  }
  co_return co_await HttpConnection::open(address_);
}

void EngineClient::keep(std::unique_ptr<HttpConnection> connection) {
  if (idle_.size() < most_idle && connection->is_reusable()) idle_.push_back(std::move(connection));
}

Task<> EngineClient::agree_on_version() {
  std::unique_ptr<HttpConnection> connection = co_await connect();
  const unsigned status = co_await connection->exchange({.method = "GET", .target = "/_ping"});
  const std::string body = co_await whole_body(*connection);
  if (status != 200) throw EngineError("GET /_ping", status, message_in(body));
  api_version_ = common_api_version(connection->header("Api-Version"));
  engine_version_ = connection->header("Server");
  keep(std::move(connection));
}

Task<std::string> EngineClient::target_of(const EngineCall& call) {
  if (api_version_.empty()) co_await agree_on_version();
  co_return "/v" + api_version_ + call.path;
}

Task<std::unique_ptr<HttpConnection>> EngineClient::send(const EngineCall& call, Upload content,
                                                         bool upgrade) {
  HttpRequest request{.method = call.method, .target = co_await target_of(call)};
  request.upgrade = upgrade;
  if (!call.body.is_null()) request.body = json::serialize(call.body);
  if (!content.bytes.empty()) {
    request.body = std::move(content.bytes);
    request.content_type = content.type;
  }
  std::unique_ptr<HttpConnection> connection = co_await connect();
  unsigned status = 0;
  try {
    status = co_await connection->exchange(std::move(request));
  } catch (const EngineUnreachable&) {
    api_version_.clear();  // the one that comes after it may be another
    throw;
  }
  if (is_accepted(call, status)) co_return connection;
  const std::string body = co_await whole_body(*connection);
  keep(std::move(connection));
  throw EngineError(in_words(call), status, message_in(body));
}

Task<> EngineClient::run_call(const EngineCall& call, EngineAnswer& answer) {
  std::unique_ptr<HttpConnection> connection = co_await send(call, {}, false);
  answer.body = parsed(co_await whole_body(*connection));
  answer.status = connection->status();
  keep(std::move(connection));
}

Task<EngineAnswer> EngineClient::call(EngineCall call) {
  EngineAnswer answer;
  co_await within_limit(call, run_call(call, answer));
  co_return answer;
}

Task<> EngineClient::run_stream(const EngineCall& call, Upload& content, const OnBytes& on_bytes) {
  std::unique_ptr<HttpConnection> connection = co_await send(call, std::move(content), false);
  std::array<char, 16384> chunk;  // NOLINT: filled by read_body
  while (const std::size_t size = co_await connection->read_body(chunk))
    on_bytes({chunk.data(), size});
  keep(std::move(connection));
}

Task<> EngineClient::stream(EngineCall call, Upload content, OnBytes on_bytes) {
  co_await within_limit(call, run_stream(call, content, on_bytes));
}

Task<std::unique_ptr<HttpConnection>> EngineClient::begin(EngineCall call) {
  std::unique_ptr<HttpConnection> connection;
  const auto run = [&]() -> Task<> { connection = co_await send(call, {}, false); };
  co_await within_limit(call, run());
  co_return connection;
}

Task<HttpConnection::Hijacked> EngineClient::attach(std::string container,
                                                    std::chrono::milliseconds limit) {
  const EngineCall call{
      .method = "POST",
      .path = "/containers/" + container + "/attach?stream=1&stdin=1&stdout=1&stderr=1",
      .limit = limit};
  std::unique_ptr<HttpConnection> connection;
  const auto run = [&]() -> Task<> { connection = co_await send(call, {}, true); };
  co_await within_limit(call, run());
  co_return connection->hijack();
}

Task<EngineIdentity> EngineClient::ping() {
  const EngineCall call{.path = "/_ping"};
  co_await within_limit(call, agree_on_version());
  co_return EngineIdentity{engine_version_, api_version_};
}

}  // namespace hearth::docker
