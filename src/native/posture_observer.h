// native/posture_observer.h: reads what the kernel says of a new sandbox, in a thread of its own.
#pragma once

#include "async/task.h"
#include "native/background_thread.h"
#include "native/native_machine.h"
#include "native/posture.h"
#include "os/unique_fd.h"

#include <future>
#include <memory>

namespace hearth::native {

class NativeSandbox;

class PostureObserver {
 public:
  explicit PostureObserver(std::shared_ptr<const NativeMachine> machine);

  // Begins to look. The sandbox may be destroyed meanwhile.
  std::future<Differences> look_at(const NativeSandbox& sandbox);
  // Waits until `look` is done, without blocking the loop.
  Task<Differences> seen(std::future<Differences>& look);
  // Looks, and throws SpawnError if the sandbox is not what was asked for.
  Task<> check(const NativeSandbox& sandbox);
  // The same for a process that has just come into the sandbox whose first process is `first`.
  Task<> check_newcomer(const os::UniqueFd& pidfd, const os::UniqueFd& first,
                        ExpectedPosture expected);

  ExpectedPosture expected_of(const NativeSandbox& sandbox) const;

 private:
  std::shared_ptr<const NativeMachine> machine_;
  // One for each source and not one for all: it must have ended before the source's loop.
  BackgroundThread thread_;
};

}  // namespace hearth::native
