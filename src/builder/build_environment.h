// builder/build_environment.h: one environment, built or found, in the calling thread. Between
// processes it is built once; between the callers of one process, native_builder sees to that.
#pragma once

#include "builder/build_log.h"
#include "builder/build_plan.h"
#include "builder/environment.h"
#include "builder/find_python.h"
#include "builder/pip_command.h"
#include "native/confined_programs.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace hearth::builder {

struct BuildOptions {
  std::filesystem::path state_dir{};  // environments/<checksum>/{packages,tools,build.log,manifest}
  PipOptions pip{};
  std::chrono::milliseconds build_timeout{600'000};
  native::ConfinedLimits limits{};
  // The directory of hearth-launcher, for a program that is not beside it; see find_programs.
  std::filesystem::path programs{};
  std::string configuration{};  // see UseRecords
  std::vector<std::filesystem::path> python_directories = usual_python_directories();
};

// Asked to stop.
struct BuildStopped : Error {
  BuildStopped() : Error("the build was stopped") {}
};

// All of these throw os::UntrustedPath when another user could have written what they find.

// The directory of all environments, made if there is none. OsError.
std::filesystem::path prepare_environments(const BuildOptions& options);
// The directory of their locks, which no other user can open. OsError.
std::filesystem::path prepare_locks(const BuildOptions& options);

// The plan with the interpreter that it means, and with the checksum of its environment. Runs
// programs to find one of a version. PythonNotFound, UntrustedPath.
BuildPlan with_python(BuildPlan plan, const BuildOptions& options);

// These two are given a plan with its interpreter.

// A whole environment whose interpreter is unchanged; runs nothing. Nothing when there is none, or
// when more than a look is needed.
std::optional<Environment> find_environment(const BuildPlan& plan, const BuildOptions& options);

// PythonNotFound, BuildError, BuildStopped; OsError with the path when the state directory cannot
// be used.
Environment build_environment(const BuildPlan& plan, const BuildOptions& options,
                              const std::stop_token& stop, const BuildLog::OnLine& on_line);

}  // namespace hearth::builder
