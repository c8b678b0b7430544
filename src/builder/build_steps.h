// builder/build_steps.h: fills the directory of an environment: tools, packages, bytecode, log.
#pragma once

#include "builder/build_environment.h"

namespace hearth::builder {

struct BuildSite {
  Python python{};
  std::filesystem::path home{};   // for what only the build needs
  std::filesystem::path place{};  // does not exist yet
};

// Everything in `place` is readable for all afterwards. BuildError, BuildStopped, OsError.
void run_build_steps(const BuildPlan& plan, const BuildOptions& options, const BuildSite& site,
                     const std::stop_token& stop, const BuildLog::OnLine& on_line);

}  // namespace hearth::builder
