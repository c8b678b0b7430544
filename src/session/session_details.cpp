#include "session/session_details.h"

#include "blueprint/decode.h"
#include "blueprint/encode.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace hearth::session {

std::string to_json(const SessionDetails& details) {
  return boost::json::serialize(blueprint::encode(details));
}

SessionDetails details_in(std::string_view json) {
  SessionDetails details;
  blueprint::Decoder decoder;
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(boost::json::string_view(json), error);
  if (error) throw Error("the record of a session is not JSON");
  decoder.read(value, blueprint::Path(), details);
  if (!decoder.problems().empty())
    throw blueprint::ConfigError("the record of a session", std::move(decoder.problems()));
  return details;
}

pool::CheckoutOptions checkout_options(const SessionDetails& details) {
  pool::CheckoutOptions options;
  options.labels = details.labels;
  options.env = details.env;
  options.cpu_quota = details.limits.cpu_quota;
  options.memory_mb = details.limits.memory_mb;
  options.pids_limit = details.limits.pids_limit;
  options.execution_timeout_sec = details.limits.execution_timeout_sec;
  options.max_output_bytes = details.limits.max_output_bytes;
  options.network_policy = details.network;
  return options;
}

}  // namespace hearth::session
