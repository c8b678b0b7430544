// tests/support/open_sessions.h: a session manager over fake sandboxes and a store of the test's
// own, with time that passes when the test says so.
#pragma once

#include "session/session_manager.h"
#include "store/session_store.h"
#include "tests/support/any_store.h"
#include "tests/support/fake_sandboxes.h"
#include "tests/support/manual_clock.h"
#include "tests/support/run_task.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace hearth::test {

// What outlives a process.
struct Disk {
  explicit Disk(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : store(parent), directory(parent) {}
  AnyStore store;
  TemporaryDirectory directory;
  std::filesystem::path snapshots() const { return directory.path() / "snapshots"; }
};

using WrapDatabase =
    std::function<std::unique_ptr<store::Database>(std::unique_ptr<store::Database>)>;

class OpenSessions {
 public:
  // `wrap`: what a test puts between the store and its database.
  explicit OpenSessions(const Disk& disk, session::SessionOptions options = {},
                        const WrapDatabase& wrap = {})
      : sandboxes_(world) {
    options.wall_clock = [this] { return now(); };
    auto database = run(disk.store.open(loop_.get_executor()));
    if (wrap) database = wrap(std::move(database));
    auto store = std::make_unique<store::SessionStore>(loop_.get_executor(), std::move(database));
    store_ = store.get();
    manager_ = std::make_unique<session::SessionManager>(loop_.get_executor(), std::move(options),
                                                         std::move(store), disk.snapshots(),
                                                         sandboxes_, clock_);
    marked_cold = run(manager_->init());
  }
  ~OpenSessions() {
    world.trouble = {};
    run(manager_->close());
  }
  OpenSessions(const OpenSessions&) = delete;
  OpenSessions& operator=(const OpenSessions&) = delete;

  template <typename T>
  T run(Task<T> task) {
    return run_task(loop_, std::move(task));
  }
  session::SessionManager& operator*() { return *manager_; }
  session::SessionManager* operator->() { return manager_.get(); }
  store::SessionStore& store() { return *store_; }
  asio::io_context& loop() { return loop_; }

  std::int64_t now() const {
    const auto passed =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now().time_since_epoch());
    return 1'700'000'000'000 + passed.count();
  }
  void pass(std::chrono::milliseconds time) { clock_.advance(time); }

  // Each a moment later than the last: its place in the order of use is certain.
  std::string create(session::CreateRequest request = {}) {
    pass(std::chrono::milliseconds(1));
    if (request.owner.empty()) request.owner = "ann";
    request.blueprint = "default";
    return run(manager_->create(std::move(request))).record.id;
  }
  session::RunAnswer turn(const std::string& id, const std::string& script) {
    pass(std::chrono::milliseconds(1));
    return run(manager_->run(id, "ann", {.script = script}));
  }
  std::string used(const std::string& script = "write a 1") {
    std::string id = create();
    turn(id, script);
    return id;
  }
  store::SessionState state(const std::string& id) {
    return run(manager_->get(id, "")).record.state;
  }

  FakeWorld world{};
  std::size_t marked_cold = 0;

 private:
  asio::io_context loop_{1};
  ManualClock clock_;
  FakeSandboxes sandboxes_;
  store::SessionStore* store_ = nullptr;
  std::unique_ptr<session::SessionManager> manager_;
};

}  // namespace hearth::test
