// tests/support/fake_sandboxes.h: sandboxes for sessions that are only a map of files. A script is
// "write NAME TEXT", "remove NAME", "link NAME TARGET", "read NAME", the same with variables as
// "set", "get" and "define" (one that does not pickle), "crash", or anything else that does
// nothing.
#pragma once

#include "async/event.h"
#include "base/id.h"
#include "base/scope_exit.h"
#include "pool/errors.h"
#include "registry/tool_registry.h"
#include "session/sandboxes.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace hearth::test {

using Files = std::map<std::string, std::string>;
using Labels = std::map<std::string, std::string>;

// What a test makes of each step: wait, throw, look.
using Trouble = std::function<Task<>(const std::string& step)>;

struct FakeWorld {
  std::size_t alive = 0;  // sandboxes
  std::size_t most_alive = 0;
  std::size_t most_memory = 1'000'000;  // of them may be alive
  std::size_t spares = 0;
  std::vector<pool::CheckoutOptions> leases{};
  Trouble trouble{};
  std::vector<std::string> broken{};  // what no session may do to a sandbox, and one did
  // The first turn in a sandbox, and its end.
  std::function<void(const std::string& id, const Labels& labels, const Files& files)> on_begin{};
  std::function<void(const Labels& labels, const Files& files)> on_end{};

  Task<> step(std::string name) const {
    if (trouble) co_await trouble(name);
  }
};

class FakeTree : public session::TreeReader {
 public:
  FakeTree(const FakeWorld& world, Files files) : world_(world), files_(std::move(files)) {}
  Task<std::optional<session::TreeEntry>> next() override {
    co_await world_.step("read an entry");
    if (files_.empty()) co_return std::nullopt;
    const auto first = files_.extract(files_.begin());
    content_ = first.mapped();
    session::TreeEntry entry{.path = first.key(), .size_bytes = content_.size()};
    if (content_.starts_with("-> ")) {
      entry.kind = session::TreeKind::symlink;
      entry.target = content_.substr(3);
    }
    co_return entry;
  }
  Task<std::string> read() override { co_return std::exchange(content_, {}); }

 private:
  const FakeWorld& world_;
  Files files_;
  std::string content_;
};

class FakeSandbox : public session::LiveSandbox {
 public:
  FakeSandbox(const asio::any_io_executor& executor, FakeWorld& world, Files files, Labels labels)
      : world_(world),
        files_(std::move(files)),
        labels_(std::move(labels)),
        command_ended_(executor) {
    world_.most_alive = std::max(world_.most_alive, ++world_.alive);
  }
  ~FakeSandbox() override { leave_world(); }

  const std::string& id() const override { return id_; }
  Task<execution::ExecutionResult> run(execution::TurnRequest request,
                                       execution::OnEvent /*on_event*/) override {
    only_at_rest("run");
    if (!std::exchange(has_begun_, true) && world_.on_begin) world_.on_begin(id_, labels_, files_);
    is_busy_ = true;
    bool is_over = false;
    const ScopeExit ended([&] {
      is_busy_ = false;
      if (!is_over) kill();  // cancelled
    });
    execution::ExecutionResult result;
    std::exception_ptr failure;
    try {
      result = co_await turn(std::move(request));
    } catch (const Error&) {
      failure = std::current_exception();
    }
    is_over = true;
    if (failure) std::rethrow_exception(failure);
    co_return result;
  }
  Task<> cancel() override { co_return; }
  Task<> restart_interpreter() override {
    only_at_rest("restart the interpreter");
    co_await world_.step("restart the interpreter");
    variables_.clear();
  }
  Task<> end_processes() override {
    only_at_rest("end processes");
    co_await world_.step("end processes");
    variables_.clear();
    may_start_commands_ = false;
    co_await command_ended_.wait_until([this] { return starting_ == 0; });
    end_commands();
  }
  void allow_commands() override { may_start_commands_ = true; }
  SandboxFiles files() override { throw Error("a fake sandbox has no channel"); }
  SandboxCommands commands() override { throw Error("a fake sandbox has no channel"); }
  execution::Turn command(execution::TurnRequest /*request*/, execution::OnEvent /*on_event*/,
                          execution::OnOutput /*on_output*/) override {
    throw Error("a fake sandbox has no channel");
  }
  Task<execution::StartedCommand> start(execution::TurnRequest request) override {
    if (!may_start_commands_) throw Error("the session is being paused");
    ++starting_;
    const ScopeExit has_started([this] {
      --starting_;
      command_ended_.notify_all();
    });
    co_await world_.step("start a command");
    if (is_gone_) throw Error("the sandbox is gone");
    const std::string id = request.execution_id.empty() ? random_id() : request.execution_id;
    commands_.insert(id);
    co_return execution::StartedCommand{id, 2};
  }
  Task<> ended(std::string execution_id) override {
    co_await command_ended_.wait_until(
        [&] { return is_gone_ || !commands_.contains(execution_id); });
    co_await world_.step("hear of an end");
    if (is_gone_) throw Error("the sandbox is gone");
  }
  // Those that run in the background.
  const std::set<std::string>& running() const { return commands_; }
  void end_commands() {
    commands_.clear();
    command_ended_.notify_all();
  }
  Task<session::KeptVariables> keep_variables(session::VariableLimits limits) override {
    only_at_rest("keep variables");
    co_await world_.step("keep variables");
    session::KeptVariables kept;
    for (const auto& [name, value] : variables_) {
      if (value == "defined" || value.size() > limits.max_bytes) {
        kept.lost.push_back(name);
      } else {
        kept.names.push_back(name);
        kept.pickle.append(name).append(" ").append(value).append(" ");
      }
    }
    co_return kept;
  }
  Task<std::vector<std::string>> restore_variables(const session::KeptVariables& variables,
                                                   session::VariableLimits /*limits*/) override {
    co_await world_.step("restore variables");
    std::istringstream words(variables.pickle);
    for (std::string name, value; words >> name >> value;) {
      if (value == "bomb") kill();
      variables_[name] = value;
    }
    co_return std::vector<std::string>();
  }
  Task<std::unique_ptr<session::TreeReader>> read_tree() override {
    only_at_rest("read a tree");
    if (!commands_.empty()) world_.broken.emplace_back("read a tree while a command runs");
    co_await world_.step("read a tree");
    co_return std::make_unique<FakeTree>(world_, files_);
  }
  Task<> write_tree(session::TreeReader& tree) override {
    while (std::optional<session::TreeEntry> entry = co_await tree.next()) {
      std::string content;
      if (entry->kind == session::TreeKind::symlink) content = "-> " + entry->target;
      for (std::string bytes = co_await tree.read(); !bytes.empty(); bytes = co_await tree.read())
        content += bytes;
      files_[entry->path] = content;
    }
    co_await world_.step("write a tree");
  }
  bool is_gone() const override { return is_gone_; }
  Task<> end() override {
    only_at_rest("end");
    kill();
    co_await world_.step("end");
    leave_world();
  }
  void kill() override {
    is_gone_ = true;
    end_commands();
  }

 private:
  // Those that still look at it do not keep it alive.
  void leave_world() {
    if (std::exchange(has_left_, true)) return;
    if (world_.on_end) world_.on_end(labels_, files_);
    --world_.alive;
  }
  void only_at_rest(const char* what) const {
    if (is_busy_) world_.broken.push_back(std::string(what) + " while a turn runs");
  }
  Task<execution::ExecutionResult> turn(execution::TurnRequest request) {
    co_await world_.step("run");
    execution::ExecutionResult result;
    std::istringstream words(request.script);
    std::string verb;
    std::string name;
    std::string text;
    words >> verb >> name >> text;
    if (verb == "write") files_[name] = text;
    if (verb == "link") files_[name] = "-> " + text;
    if (verb == "remove") files_.erase(name);
    if (verb == "set") variables_[name] = text;
    if (verb == "define") variables_[name] = "defined";
    if (verb == "get") result.stdout_text = variables_.contains(name) ? variables_[name] : "(none)";
    if (verb == "crash") kill();
    if (verb == "read") result.stdout_text = files_.contains(name) ? files_.at(name) : "(none)";
    co_await world_.step("end a run");
    result.sandbox_usable = !is_gone_;
    result.verdict = is_gone_ ? execution::Verdict::lost : execution::Verdict::ok;
    co_return result;
  }

  FakeWorld& world_;
  std::string id_ = "sb_" + random_id();
  Files files_;
  std::map<std::string, std::string> variables_;
  Labels labels_;
  std::set<std::string> commands_;
  bool may_start_commands_ = true;
  std::size_t starting_ = 0;
  AsyncEvent command_ended_;
  bool has_begun_ = false;
  bool has_left_ = false;
  bool is_busy_ = false;
  bool is_gone_ = false;
};

class FakeSandboxes : public session::Sandboxes {
 public:
  explicit FakeSandboxes(FakeWorld& world) : world_(world) {}
  void check(const std::string& blueprint, const pool::CheckoutOptions& options) const override {
    if (blueprint != "default") throw registry::UnknownBlueprint(blueprint, {"default"});
    if (options.memory_mb.value_or(0) > 256) throw Error("more memory than the blueprint has");
  }
  bool has_memory_for(const std::string& /*blueprint*/,
                      const pool::CheckoutOptions& /*options*/) const override {
    return world_.alive < world_.most_memory;
  }
  Task<std::unique_ptr<session::LiveSandbox>> lease(std::string /*blueprint*/,
                                                    pool::CheckoutOptions options) override {
    co_await world_.step("lease");
    Files files;
    for (const pool::WorkspaceFile& file : options.files) files[file.path] = file.content;
    auto sandbox = std::make_unique<FakeSandbox>(co_await asio::this_coro::executor, world_,
                                                 std::move(files), options.labels);
    world_.leases.push_back(std::move(options));
    co_return sandbox;
  }
  std::size_t spares() const override { return world_.spares; }

 private:
  FakeWorld& world_;
};

}  // namespace hearth::test
