// cli/local_backend.h: what makes sandboxes for a command: a builder, and sources of what it built.
#pragma once

#include "backend/sandbox.h"
#include "builder/sandbox_builder.h"
#include "cli/run_plan.h"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <vector>

namespace hearth::cli {

struct LocalBackend {
  std::unique_ptr<builder::SandboxBuilder> builder;
  std::unique_ptr<backend::SourceFactory> sources;
};

// Of `plan.settings.pool.backend`. `plan` must outlive it. CannotSandbox for the native one; the
// Docker engine is asked for later.
LocalBackend open_backend(const asio::any_io_executor& executor, const RunPlan& plan,
                          const settings::Env& environment, bool allow_degraded);

// Without anything that is needed to run: for those who only build.
std::unique_ptr<builder::SandboxBuilder> open_builder(const asio::any_io_executor& executor,
                                                      const RunPlan& plan,
                                                      const settings::Env& environment);

// The blueprint's files, as whoever mounts them sees them.
std::vector<blueprint::Mount> mounts_of(const RunPlan& plan);

}  // namespace hearth::cli
