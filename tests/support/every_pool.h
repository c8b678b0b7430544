// tests/support/every_pool.h: a pool of one blueprint, on each backend, for the cases that must
// hold in all of them. Its sandbox is reset between two leases.
#pragma once

#include "execution/background.h"
#include "tests/support/docker_pool.h"
#include "tests/support/native_pool.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace hearth::test {

struct InNamespaces : NativePool {
  static blueprint::SandboxConfig config() { return pool_config("default", 1); }
  explicit InNamespaces(blueprint::SandboxConfig config = InNamespaces::config())
      : NativePool({std::move(config)}, pool_options(2, 0)) {}
};

struct InContainers : DockerPool {
  static blueprint::SandboxConfig config() { return docker_config(); }
  explicit InContainers(blueprint::SandboxConfig config = InContainers::config())
      : DockerPool({std::move(config)}, settings()) {}
  template <typename T>
  T run(Task<T> task) {
    return run_task(loop, std::move(task));
  }

 private:
  static settings::Settings settings() {
    settings::Settings settings;
    settings.pool = pool_options(2, 0);
    return settings;
  }
};

// In the background. Returns its id.
template <typename Pool>
std::string start(Pool& pool, pool::Lease& lease, std::string line) {
  return pool.run(execution::start_background(lease, {.shell = std::move(line)})).execution_id;
}

}  // namespace hearth::test

// For TEST_CASE_TEMPLATE.
#define IN_EVERY_POOL hearth::test::InNamespaces, hearth::test::InContainers
