#include "tests/support/sandbox_process.h"

#include "async/within.h"
#include "backend/await_ready.h"
#include "base/error.h"
#include "tests/support/run_task.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

using namespace std::chrono_literals;

namespace hearth::test {
namespace {

constexpr int host_fd = 3;

std::string python() {
  const char* named = std::getenv("HEARTH_TEST_PYTHON");
  return named != nullptr ? named : "/usr/bin/python3";
}

// A Python outside /usr (one of pyenv's, say) is shown to the sandbox together with its
// installation.
std::vector<std::string> python_mounts() {
  const std::filesystem::path real = std::filesystem::canonical(python());
  const std::filesystem::path prefix = real.parent_path().parent_path();
  if (prefix == "/usr") return {};
  return {"--ro-bind", prefix.string(), prefix.string()};
}

std::vector<std::string> command_line(const SandboxOptions& options,
                                      const std::filesystem::path& tools) {
  std::vector<std::string> words = {"bwrap",         "--unshare-user",
                                    "--uid",         "1000",
                                    "--gid",         "1000",
                                    "--unshare-pid", "--unshare-ipc",
                                    "--unshare-net", "--as-pid-1",
                                    "--clearenv",    "--cap-drop",
                                    "ALL",           "--die-with-parent"};
  const auto add = [&words](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  add({"--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
       "/lib64"});
  add({"--symlink", "usr/bin", "/bin", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev",
       "/dev"});
  add({"--tmpfs", "/dev/shm", "--tmpfs", "/tmp"});
  if (options.workspace_bytes > 0) add({"--size", std::to_string(options.workspace_bytes)});
  add({"--tmpfs", "/workspace"});
  add({"--ro-bind", tools.string(), "/tools"});
  add({"--dir", "/hearth", "--ro-bind", HEARTH_INIT, "/hearth/init"});
  add({"--ro-bind", HEARTH_HARNESS, "/hearth/executor_harness"});
  for (const std::string& word : python_mounts()) words.push_back(word);
  // Nothing but what a reset empties can be written to. Of /proc it is the kernel's settings that
  // matter: when root runs the tests, they would be the machine's.
  add({"--remount-ro", "/", "--remount-ro", "/dev", "--remount-ro", "/proc"});
  add({"--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/workspace", "--setenv", "LANG",
       "C.UTF-8"});
  for (const auto& [name, value] : options.environment) add({"--setenv", name, value});
  add({"/hearth/init", "--host-fd", std::to_string(host_fd), "--"});
  if (options.harness.empty()) {
    add({python(), "-s", "/hearth/executor_harness"});
  } else {
    add({"/bin/sh", "-c", options.harness});
  }
  words.insert(words.end(), options.harness_arguments.begin(), options.harness_arguments.end());
  return words;
}

pid_t start(const std::vector<std::string>& words, int socket) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, socket, host_fd);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw OsError("start bwrap", error);
  return pid;
}

// 0 if it has none.
pid_t first_child_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  pid_t child = 0;
  std::ifstream("/proc/" + number + "/task/" + number + "/children") >> child;
  return child;
}

}  // namespace

SandboxProcess::SandboxProcess(asio::io_context& loop, SandboxOptions options) {
  for (const auto& [name, source] : options.tools) tools_.write(name, source);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw OsError("socketpair");
  os::UniqueFd ours(ends[0]);
  // Not the number it gets there: dup2 of a descriptor onto itself would keep it closed on exec.
  const os::UniqueFd theirs(::fcntl(ends[1], F_DUPFD_CLOEXEC, host_fd + 1));
  ::close(ends[1]);
  pid_ = start(command_line(options, tools_.path()), theirs.get());
  auto stream = std::make_unique<DescriptorStream>(loop.get_executor(), std::move(ours));
  stream_ = stream.get();
  channel_ = std::make_unique<SandboxChannel>(std::move(stream));
}

SandboxProcess::~SandboxProcess() {
  kill();
  ::waitpid(pid_, nullptr, 0);
}

// bwrap dies with its child's death signal, and the pid namespace with its first process.
void SandboxProcess::kill() {
  killed_ = true;
  ::kill(pid_, SIGKILL);
}

pid_t SandboxProcess::init_pid() const {
  const pid_t init = first_child_of(pid_);
  if (init == 0) throw Error("bwrap has no child");
  return init;
}

pid_t SandboxProcess::harness_pid() const {
  const pid_t init = first_child_of(pid_);
  return init == 0 ? 0 : first_child_of(init);
}

void SandboxProcess::signal_init(int number) const {
  if (::kill(init_pid(), number) != 0) throw OsError("signal init");
}

std::uint64_t SandboxProcess::init_peak_memory_bytes() const {
  std::ifstream status("/proc/" + std::to_string(init_pid()) + "/status");
  std::uint64_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:") status >> kilobytes;
  return kilobytes * 1024;
}

wire::ExecRequest shell_line(std::string line, double timeout_seconds) {
  wire::ExecRequest request;
  request.shell = std::move(line);
  request.timeout_seconds = timeout_seconds;
  return request;
}

wire::RunRequest request_for(std::string script, double timeout_seconds, wire::Mode mode) {
  wire::RunRequest request;
  request.script = std::move(script);
  request.timeout_seconds = timeout_seconds;
  request.mode = mode;
  return request;
}

Sandbox::Sandbox(SandboxOptions options)
    : process_(loop_, options), executor_(process_, {.host_grace = options.host_grace}) {
  ready = run_task(loop_, backend::await_ready(process_.channel(), 30s));
}

execution::ExecutionResult Sandbox::run(execution::WireRequest request,
                                        execution::OnEvent on_event) {
  return run_task(loop_, executor_.run(std::move(request), std::move(on_event)));
}

execution::ExecutionResult Sandbox::run(const std::string& script, double timeout_seconds) {
  return run(request_for(script, timeout_seconds));
}

execution::ExecutionResult Sandbox::step(const std::string& script, double timeout_seconds) {
  return run(request_for(script, timeout_seconds, wire::Mode::interactive));
}

execution::ExecutionResult Sandbox::run(execution::WireRequest request, Events& events) {
  return run(std::move(request), [&events](const wire::Event& event) { events.push_back(event); });
}

execution::ExecutionResult Sandbox::run_and_cancel(
    execution::WireRequest request, const std::function<bool(const wire::Event&)>& is_due) {
  std::exception_ptr failure;
  bool asked = false;
  const auto on_event = [&](const wire::Event& event) {
    if (asked || !is_due(event)) return;
    asked = true;
    asio::co_spawn(loop_, executor_.cancel(), [&](std::exception_ptr error) { failure = error; });
  };
  execution::ExecutionResult result = run(std::move(request), on_event);
  if (failure) std::rethrow_exception(failure);
  return result;
}

wire::ResetDone Sandbox::reset() { return run_task(loop_, process_.channel().reset(10s)); }

namespace {

Task<wire::Event> exchange_line(SandboxProcess& process, std::string line) {
  co_await process.stream().write(line);
  SandboxChannel::Received received = co_await process.channel().receive();
  co_return std::move(received.event);
}

Task<> read_raw_lines(ByteStream& stream, std::string bytes, std::string last,
                      std::vector<std::string>& lines) {
  co_await stream.write(bytes);
  wire::LineReader reader(std::size_t{16} << 20);
  std::array<char, 4096> chunk{};
  while (true) {
    const std::size_t size = co_await stream.read_some(chunk);
    if (size == 0) throw IncompleteRead("the sandbox's stream ended");
    reader.append({chunk.data(), size});
    while (const auto line = reader.next()) {
      lines.emplace_back(line->text);
      if (lines.back().find(last) != std::string::npos) co_return;
    }
  }
}

}  // namespace

wire::Event Sandbox::exchange(const std::string& line) {
  return run_task(loop_, exchange_line(process_, line));
}

std::vector<std::string> Sandbox::raw_exchange(const std::string& bytes, const std::string& last) {
  std::vector<std::string> lines;
  run_task(loop_, within(30s, read_raw_lines(process_.stream(), bytes, last, lines)));
  return lines;
}

}  // namespace hearth::test
