#include "api/problem.h"

#include "api/object_writer.h"
#include "backend/errors.h"
#include "pool/errors.h"
#include "registry/tool.h"
#include "registry/tool_registry.h"
#include "session/errors.h"
#include "session/snapshots.h"
#include "settings/diagnostic.h"
#include "store/errors.h"

namespace hearth::api {
namespace {

blueprint::Problems fields_of(const settings::SettingsError& error) {
  blueprint::Problems problems;
  for (const settings::Diagnostic& found : error.diagnostics) {
    const std::string line = found.line == 0 ? "" : ":" + std::to_string(found.line);
    problems.push_back({found.key, found.file + line + ": " + found.message});
  }
  return problems;
}

}  // namespace

Problem problem_of(const std::exception_ptr& failure) try {
  std::rethrow_exception(failure);
} catch (const RequestRefused& error) {
  return error.problem;
} catch (const settings::SettingsError& error) {
  return {ProblemCode::invalid_request, error.what(), {}, fields_of(error)};
} catch (const blueprint::ConfigError& error) {
  return {ProblemCode::invalid_request, error.what(), {}, error.problems};
} catch (const registry::UnknownBlueprint& error) {
  return {ProblemCode::invalid_request, error.what()};
} catch (const registry::ToolError& error) {
  return {ProblemCode::invalid_request, error.what()};
} catch (const backend::BuildError& error) {
  return {ProblemCode::unprocessable, error.what(), error.log};
} catch (const backend::SpawnError& error) {
  // With a traceback it is a tool or a preloaded module, else the machine.
  return {error.traceback.empty() ? ProblemCode::backend_unavailable : ProblemCode::unprocessable,
          error.what(), error.traceback};
} catch (const backend::BackendUnavailable& error) {
  return {ProblemCode::backend_unavailable, error.what()};
} catch (const backend::ReadyTimeout& error) {
  return {ProblemCode::backend_unavailable, error.what()};
} catch (const pool::SpawningFails& error) {
  return {ProblemCode::backend_unavailable, error.what()};
} catch (const session::SessionNotFound& error) {
  return {ProblemCode::not_found, error.what()};
} catch (const session::SessionGone& error) {
  return {ProblemCode::gone, error.what()};
} catch (const session::SessionBusy& error) {
  return {ProblemCode::conflict, error.what()};
} catch (const session::SnapshotDamaged& error) {
  return {ProblemCode::snapshot_damaged, error.what()};
} catch (const session::SnapshotTooLarge& error) {
  return {ProblemCode::too_large, error.what()};
} catch (const store::StoreInUse& error) {
  return {ProblemCode::conflict, error.what()};
} catch (const store::StoreUnavailable& error) {
  return {ProblemCode::backend_unavailable, error.what()};
} catch (const pool::CapacityReached& error) {
  return {ProblemCode::capacity, error.what()};
} catch (const std::exception& error) {
  return {ProblemCode::internal, error.what()};
}

std::string error_line(const Problem& problem) {
  std::string line;
  ObjectWriter object(line);
  object.text("type", "error");
  object.text("code", enum_name(problem.code));
  object.text("detail", problem.detail);
  if (!problem.log.empty()) object.text("log", problem.log);
  if (!problem.errors.empty())
    object.json("errors", json_array(problem.errors, [](std::string& out, const auto& error) {
                  ObjectWriter entry(out);
                  entry.text("field", error.field);
                  entry.text("message", error.message);
                  entry.close();
                }));
  object.close();
  return line + '\n';
}

}  // namespace hearth::api
