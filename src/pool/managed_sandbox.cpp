#include "pool/managed_sandbox.h"

#include "async/within.h"
#include "channel/sandbox_files.h"

#include <exception>
#include <utility>

namespace hearth::pool {
namespace {

// True if the kernel has to be told of the difference.
bool differ(const blueprint::ResourceLimits& one, const blueprint::ResourceLimits& other) {
  return one.cpu_quota != other.cpu_quota || one.memory_mb != other.memory_mb ||
         one.pids_limit != other.pids_limit;
}

Task<> put(SandboxChannel& channel, const WorkspaceFile& file) {
  co_await SandboxFiles(channel).write(file.path, file.content, file.mode);
}

}  // namespace

Task<> ManagedSandbox::prepare(const Binding& binding, const blueprint::ResourceLimits& usual,
                               std::chrono::milliseconds file_limit) {
  try {
    if (differ(binding.limits, usual)) {
      has_own_limits = true;
      co_await sandbox->set_limits(binding.limits);
    }
    for (const WorkspaceFile& file : binding.files)
      co_await within(file_limit, put(sandbox->channel(), file));
  } catch (...) {
    unusable = true;
    throw;
  }
}

Task<std::string> ManagedSandbox::clean(const blueprint::ResourceLimits& usual,
                                        std::chrono::milliseconds limit) {
  std::string problem;
  try {
    if (std::exchange(has_own_limits, false)) co_await sandbox->set_limits(usual);
    const wire::ResetDone done = co_await sandbox->channel().reset(limit);
    if (!done.clean) problem = done.message.empty() ? "not clean" : done.message;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  co_return problem;
}

Task<std::string> ManagedSandbox::probe(std::chrono::milliseconds limit) {
  std::string problem;
  try {
    co_await within(limit, sandbox->probe());
  } catch (const std::exception& error) {
    problem = error.what();
  }
  co_return problem;
}

}  // namespace hearth::pool
