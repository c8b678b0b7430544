// tests/support/engine_proxy.h: stands between us and a real engine, and does to the connections
// what networks, overload and restarts do.
#pragma once

#include "docker/engine_address.h"
#include "tests/support/temporary_directory.h"

#include <atomic>
#include <memory>
#include <thread>

namespace hearth::test {

class EngineProxy {
 public:
  enum class Mode {
    pass,
    delay,     // each piece of an answer comes a twentieth of a second late
    truncate,  // answers end after a few bytes
    refuse,    // connections are closed as soon as they are there
    hang,      // connections are taken, and nothing follows
  };

  explicit EngineProxy(docker::EngineAddress engine);
  ~EngineProxy();
  EngineProxy(const EngineProxy&) = delete;
  EngineProxy& operator=(const EngineProxy&) = delete;

  const docker::EngineAddress& address() const { return address_; }
  // From now on, for new connections.
  void set(Mode mode) { mode_ = mode; }
  // Ends all there are.
  void cut();

 private:
  struct Impl;

  TemporaryDirectory directory_;
  docker::EngineAddress address_;
  std::atomic<Mode> mode_ = Mode::pass;
  std::unique_ptr<Impl> impl_;
  std::thread thread_;
};

}  // namespace hearth::test
