#include "init/worker_maker.h"

#include "base/error.h"
#include "init/limits.h"
#include "os/packet.h"
#include "wire/member_reader.h"
#include "wire/protocol_error.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace hearth::init {
namespace {

constexpr int control_fd_of_harness = 3;

[[noreturn]] void become_harness(const std::vector<std::string>& command, int control) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::setsid();
  // POSIX message queues outlive processes, and init cannot list and remove them without a mount of
  // their file system. So no process may create one.
  const rlimit no_bytes{0, 0};
  ::setrlimit(RLIMIT_MSGQUEUE, &no_bytes);
  const rlimit files{script_files, script_files};
  ::setrlimit(RLIMIT_NOFILE, &files);
  // Its own output must not reach the host as protocol. stderr goes to the log.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  // dup2 of a descriptor onto itself would not clear its close-on-exec flag.
  const int high = ::fcntl(control, F_DUPFD_CLOEXEC, control_fd_of_harness + 1);
  ::dup2(high, control_fd_of_harness);
  ::close_range(control_fd_of_harness + 1, ~0U, 0);
  ::setenv("HEARTH_CONTROL_FD", std::to_string(control_fd_of_harness).c_str(), 1);

  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const std::string complaint =
      "hearth-init: cannot start " + command[0] + ": " + std::strerror(errno) + "\n";
  if (::write(STDERR_FILENO, complaint.data(), complaint.size()) < 0) std::_Exit(126);
  std::_Exit(127);
}

MakerMessage decode(std::string_view packet) {
  wire::MemberReader members(packet);
  const std::string type = members.string("type");
  if (type == "ready") return MakerReady{members.string("python"), members.string("harness")};
  if (type == "failed") return MakerFailed{members.string("message"), members.string("traceback")};
  if (type == "prepare_failed")
    return PrepareFailed{members.count("number"), members.string("message")};
  throw wire::ProtocolError("unknown message from the harness");
}

}  // namespace

WorkerMaker::WorkerMaker(const std::vector<std::string>& harness_command) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw OsError("create the harness's socket");
  control_.reset(ends[0]);
  const os::UniqueFd far_end(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw OsError("fork the harness");
  if (pid_ == 0) become_harness(harness_command, far_end.get());
}

Worker WorkerMaker::prepare() {
  // A script of the same user may have stopped the harness. SIGCONT is harmless while no script
  // runs.
  if (pid_ > 0) ::kill(pid_, SIGCONT);
  Worker::FarEnds far_ends;
  Worker worker = Worker::create(far_ends);
  const std::array<int, 4> fds{far_ends.stdout_write.get(), far_ends.stderr_write.get(),
                               far_ends.emit_write.get(), far_ends.run_read.get()};

  const std::string text = R"({"type":"prepare","number":)" + std::to_string(++last_request_) + "}";
  // At most one packet is in flight, so it always fits.
  if (!os::send_packet(control_.get(), text, fds)) throw OsError("ask for a worker", EPIPE);
  return worker;
}

std::optional<MakerMessage> WorkerMaker::receive() {
  static std::array<char, std::size_t{256} << 10> packet;
  const ssize_t size = ::recv(control_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
  if (size <= 0) {
    if (size == 0) control_.reset();
    return std::nullopt;
  }
  MakerMessage message = decode({packet.data(), static_cast<std::size_t>(size)});
  // A reset may have killed the process between two forks although its worker already existed.
  const auto* failed = std::get_if<PrepareFailed>(&message);
  if (failed != nullptr && failed->number != last_request_) return std::nullopt;
  return message;
}

}  // namespace hearth::init
