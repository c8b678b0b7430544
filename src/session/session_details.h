// session/session_details.h: what a session was asked to be. Stored with it as JSON.
#pragma once

#include "blueprint/fields.h"
#include "blueprint/sandbox_config.h"
#include "pool/binding.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::session {

enum class EndAction { pause, remove };
constexpr auto names_of(EndAction /*type*/) {
  return enum_names<EndAction>({{EndAction::pause, "pause"}, {EndAction::remove, "delete"}});
}

struct SessionLimits {  // no wider than the blueprint's; absent: the blueprint's
  std::optional<double> cpu_quota{};
  std::optional<std::int64_t> memory_mb{};
  std::optional<std::int64_t> pids_limit{};
  std::optional<std::int64_t> execution_timeout_sec{};
  std::optional<std::int64_t> max_output_bytes{};
  bool operator==(const SessionLimits&) const = default;
};

struct SessionDetails {
  blueprint::ExecutionMode mode = blueprint::ExecutionMode::interactive;
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> env{};  // kept for its next sandbox; never shown
  SessionLimits limits{};
  std::optional<blueprint::NetworkPolicy> network{};
  std::optional<std::int64_t> idle_timeout_ms{};  // absent: the manager's
  EndAction on_idle = EndAction::pause;
  EndAction on_expire = EndAction::remove;
  std::string configuration{};  // of its blueprint: a path; empty: none
  bool operator==(const SessionDetails&) const = default;
};

template <blueprint::MaybeConst<SessionLimits> Self, typename Visit>
void for_each_field(Self& limits, Visit&& visit) {
  visit("cpu_quota", limits.cpu_quota);
  visit("memory_mb", limits.memory_mb);
  visit("pids_limit", limits.pids_limit);
  visit("execution_timeout_sec", limits.execution_timeout_sec);
  visit("max_output_bytes", limits.max_output_bytes);
}

template <blueprint::MaybeConst<SessionDetails> Self, typename Visit>
void for_each_field(Self& details, Visit&& visit) {
  visit("mode", details.mode);
  visit("labels", details.labels);
  visit("env", details.env);
  visit("limits", details.limits);
  visit("network", details.network);
  visit("idle_timeout_ms", details.idle_timeout_ms);
  visit("on_idle", details.on_idle);
  visit("on_expire", details.on_expire);
  visit("configuration", details.configuration);
}

std::string to_json(const SessionDetails& details);
// ConfigError if it is not what to_json() wrote.
SessionDetails details_in(std::string_view json);

// What a sandbox for such a session has to be. No other owner ever gets it.
pool::CheckoutOptions checkout_options(const SessionDetails& details);

}  // namespace hearth::session
