#include "session/sandbox_variables.h"

#include "base/log.h"
#include "channel/sandbox_files.h"
#include "execution/turn.h"
#include "session/variables_script.h"
#include "wire/protocol_error.h"

#include <fmt/format.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

namespace hearth::session {
namespace {

namespace json = boost::json;

// Of the sandbox, not of /workspace: no snapshot has it.
constexpr const char* pickle_path = "/tmp/.hearth-variables";
// As variables_script.h has them: a sandbox that names more is not believed.
constexpr std::size_t most_names = 2000;
constexpr std::size_t most_name_bytes = 1000;

// In names of its own: the session's globals stay as they are.
std::string own_step(const std::string& call) {
  return fmt::format(
      "exec(r'''{}\n{}\n''', {{'namespace': globals(), 'emit_result': emit_result, "
      "'emit_intermediate': emit_intermediate}})\n",
      variables_script, call);
}

Task<execution::ExecutionResult> run(pool::Lease& lease, std::string call,
                                     std::chrono::milliseconds limit) {
  execution::TurnRequest request{.script = own_step(call), .language = "python"};
  request.mode = blueprint::ExecutionMode::interactive;
  const std::chrono::milliseconds allowed =
      std::chrono::seconds(lease.binding().limits.execution_timeout_sec);
  request.time_limit = std::min(limit, allowed);
  co_return co_await execution::run_turn(lease, std::move(request));
}

std::vector<std::string> names_in(const json::value* value) {
  std::vector<std::string> names;
  if (value == nullptr || !value->is_array()) return names;
  for (const json::value& name : value->get_array()) {
    if (names.size() >= most_names) break;
    if (name.is_string() && name.get_string().size() <= most_name_bytes)
      names.emplace_back(name.get_string());
  }
  return names;
}

json::value parsed(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value() : value;
}

std::vector<std::string> names_in_result(const execution::ExecutionResult& result,
                                         const char* key) {
  if (!result.result) return {};
  const json::value value = parsed(result.result->text);
  return value.is_object() ? names_in(value.get_object().if_contains(key))
                           : std::vector<std::string>();
}

// All that there were: it says so before it begins.
std::vector<std::string> announced(const execution::ExecutionResult& result) {
  if (result.intermediates.empty()) return {};
  const json::value value = parsed(result.intermediates.front().data.text);
  return names_in(&value);
}

void note_failure(const execution::ExecutionResult& result, const char* what) {
  const std::string why =
      result.error ? result.error->name + ": " + result.error->message : result.detail;
  log::info("variables of a session are lost",
            {{"step", what}, {"verdict", execution::name_of(result.verdict)}, {"error", why}});
}

}  // namespace

Task<KeptVariables> keep_variables(pool::Lease& lease, VariableLimits limits) {
  const execution::ExecutionResult result =
      co_await run(lease, fmt::format("keep(namespace, '{}', {})", pickle_path, limits.max_bytes),
                   limits.time_limit);
  KeptVariables kept{.lost = announced(result)};
  if (!result.sandbox_usable) co_return kept;
  if (result.verdict != execution::Verdict::ok || !result.result) {
    note_failure(result, "keep");
    co_return kept;
  }
  try {
    std::vector<std::string> names = names_in_result(result, "kept");
    SandboxFiles files = lease.files();
    if (!names.empty()) kept.pickle = co_await files.read(pickle_path, limits.max_bytes);
    co_await files.remove(pickle_path);
    kept.names = std::move(names);
    kept.lost = names_in_result(result, "lost");
  } catch (const FileError& error) {
    log::info("variables of a session are lost", {{"step", "read"}, {"error", error.what()}});
    kept.pickle.clear();
  }
  co_return kept;
}

Task<std::vector<std::string>> restore_variables(pool::Lease& lease, const KeptVariables& variables,
                                                 VariableLimits limits) {
  if (variables.pickle.empty()) co_return std::vector<std::string>();
  try {
    SandboxFiles files = lease.files();
    co_await files.write(pickle_path, variables.pickle, 0600);
  } catch (const FileError& error) {
    log::info("variables of a session are lost", {{"step", "write"}, {"error", error.what()}});
    co_return variables.names;
  }
  const execution::ExecutionResult result =
      co_await run(lease, fmt::format("restore(namespace, '{}')", pickle_path), limits.time_limit);
  if (result.verdict == execution::Verdict::ok && result.result)
    co_return names_in_result(result, "lost");
  note_failure(result, "restore");
  co_return variables.names;
}

}  // namespace hearth::session
