#include "api/run_request.h"

#include "api/request_fields.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "wire/protocol_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace hearth::api {
namespace {

using blueprint::Problems;
using wire::JsonKind;
using wire::JsonMember;

// Fields of the object that have no effect here, with the reason.
struct UnusableField {
  std::string_view name;
  std::string_view reason;
};
constexpr std::string_view not_yet = "is not implemented yet";
constexpr std::string_view python = "python";
constexpr std::string_view not_of_python = "is not implemented yet for code in Python";
constexpr std::string_view only_of_python = "is not implemented yet but for code in Python";
constexpr std::string_view fixed = "is decided when the session starts, not for each run";
constexpr std::array unusable_fields{
    UnusableField{"blueprint", fixed},       UnusableField{"limits", fixed},
    UnusableField{"stdin", not_yet},         UnusableField{"stdin_open", not_yet},
    UnusableField{"tty", not_yet},           UnusableField{"background", not_yet},
    UnusableField{"network", not_yet},       UnusableField{"tools", not_yet},
    UnusableField{"on_disconnect", not_yet}, UnusableField{"when_busy", not_yet}};

// What other products call a field.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> synonyms{
    {{"script", "code"},
     {"source", "code"},
     {"timeout", "timeout_seconds"},
     {"cmd", "command"},
     {"argv", "args"},
     {"environment", "env"},
     {"workdir", "cwd"}}};

std::string suggestion_for(const std::string& key) {
  for (const auto& [other, ours] : synonyms)
    if (key == other) return fmt::format("; did you mean \"{}\"?", ours);
  std::vector<std::string> names;
  for (const RequestField& field : request_fields()) names.emplace_back(field.name);
  for (const UnusableField& field : unusable_fields) names.emplace_back(field.name);
  return suggestion(key, names);
}

void refuse_unless_one_program(const std::vector<JsonMember>& members, Problems& problems) {
  std::vector<std::string> given;
  for (const JsonMember& member : members)
    if (member.kind != JsonKind::null &&
        (member.key == "code" || member.key == "command" || member.key == "shell"))
      given.push_back(member.key);
  constexpr std::string_view rule = "exactly one of code, command and shell is needed";
  if (given.empty()) problems.push_back({"code", fmt::format("is missing: {}", rule)});
  for (std::size_t i = 1; i < given.size(); ++i)
    problems.push_back({given[i], fmt::format("stands beside {}: {}", given[0], rule)});
}

bool has(const std::vector<JsonMember>& members, std::string_view key) {
  return std::any_of(members.begin(), members.end(), [&](const JsonMember& member) {
    return member.key == key && member.kind != JsonKind::null;
  });
}

void refuse_what_belongs_to_another_program(const std::vector<JsonMember>& members,
                                            Problems& problems) {
  if (has(members, "language") && !has(members, "code"))
    problems.push_back({"language", "is for code"});
  if (has(members, "args") && has(members, "command"))
    problems.push_back({"args", "belong into command, behind the program"});
}

void note_what_the_program_lacks(const std::vector<JsonMember>& members, const RunRequest& request,
                                 Problems& unusable) {
  const bool is_python = has(members, "code") && request.language == python;
  for (const char* field : {"args", "cwd"})
    if (is_python && has(members, field)) unusable.push_back({field, std::string(not_of_python)});
  const bool may_be_python = has(members, "code") && request.language.empty();
  if (!is_python && !may_be_python && request.output == blueprint::OutputMode::truncate)
    unusable.push_back({"output", std::string(only_of_python)});
}

[[noreturn]] void refuse(ProblemCode code, Problems problems) {
  const std::string detail =
      joined(problems, "; ", [](const blueprint::Problem& problem) { return to_string(problem); });
  throw RequestRefused({code, detail, {}, std::move(problems)});
}

}  // namespace

std::vector<JsonMember> parse_members(std::string_view json) try {
  return wire::parse_object(json);
} catch (const wire::ProtocolError& error) {
  throw RequestRefused({ProblemCode::invalid_request, error.what()});
}

RunRequest parse_run_request(std::string_view json) {
  return parse_run_request(parse_members(json));
}

RunRequest parse_run_request(std::vector<JsonMember> members) {
  RunRequest request;
  Problems problems;
  Problems unusable;
  const auto named = [](const auto& fields, const std::string& key) {
    return std::find_if(fields.begin(), fields.end(),
                        [&](const auto& field) { return field.name == key; });
  };
  for (const JsonMember& member : members) {
    const auto known = named(request_fields(), member.key);
    const auto* const refused = named(unusable_fields, member.key);
    if (refused != unusable_fields.end()) {
      if (member.kind != JsonKind::null)
        unusable.push_back({member.key, std::string(refused->reason)});
    } else if (known == request_fields().end()) {
      problems.push_back({member.key, "is not a known field" + suggestion_for(member.key), true});
    } else if (member.kind != JsonKind::null) {  // which is as good as absent
      known->read({member, request, problems});
    }
  }
  refuse_unless_one_program(members, problems);
  refuse_what_belongs_to_another_program(members, problems);
  note_what_the_program_lacks(members, request, unusable);
  if (!problems.empty()) refuse(ProblemCode::invalid_request, std::move(problems));
  if (!unusable.empty()) refuse(ProblemCode::not_implemented, std::move(unusable));
  return request;
}

// The same for code in the blueprint's language.
void refuse_what_that_language_lacks(const RunRequest& request, const pool::Binding& binding) {
  if (!request.command.empty() || !request.shell.empty() || !request.language.empty()) return;
  const bool is_python = binding.language == python;
  Problems unusable;
  if (is_python && !request.args.empty()) unusable.push_back({"args", std::string(not_of_python)});
  if (is_python && !request.directory.empty())
    unusable.push_back({"cwd", std::string(not_of_python)});
  if (!is_python && request.output == blueprint::OutputMode::truncate)
    unusable.push_back({"output", std::string(only_of_python)});
  if (!unusable.empty()) refuse(ProblemCode::not_implemented, std::move(unusable));
}

execution::TurnRequest turn_request_of(RunRequest request, const pool::Binding& binding) {
  refuse_what_that_language_lacks(request, binding);
  execution::TurnRequest turn{.script = std::move(request.code)};
  turn.command = std::move(request.command);
  turn.shell = std::move(request.shell);
  turn.language = std::move(request.language);
  turn.args = std::move(request.args);
  turn.directory = std::move(request.directory);
  turn.env = std::move(request.env);
  turn.output = request.output;
  if (!request.timeout_seconds) return turn;
  const std::int64_t most = binding.limits.execution_timeout_sec;
  if (*request.timeout_seconds > static_cast<double>(most))
    refuse(ProblemCode::invalid_request,
           {{"timeout_seconds",
             fmt::format("must be at most {}, as for \"{}\" (execution_timeout_sec), is {:g}", most,
                         binding.blueprint, *request.timeout_seconds)}});
  turn.time_limit = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::duration<double>(*request.timeout_seconds));
  return turn;
}

}  // namespace hearth::api
