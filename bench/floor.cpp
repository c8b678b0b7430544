#include "bench/floor.h"

#include "base/error.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace hearth::bench {
namespace {

void write_all(int fd, std::string_view bytes) {
  if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw OsError("write to the floor");
}

void read_byte(int fd) {
  char byte = 0;
  if (::read(fd, &byte, 1) != 1) throw OsError("read from the floor");
}

}  // namespace

Floor::Floor() {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
    throw OsError("pipe");
  to_.reset(to[1]);
  from_.reset(from[0]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::array<char*, 4> arguments{const_cast<char*>("/usr/bin/python3"), const_cast<char*>("-sS"),
                                 const_cast<char*>(HEARTH_SOURCE_DIR "/bench/floor.py"), nullptr};
  const int error =
      ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  if (error != 0) throw OsError("start the floor", error);
  renew();
}

Floor::~Floor() {
  ::kill(pid_, SIGKILL);
  to_.reset();
  ::waitpid(pid_, nullptr, 0);
}

void Floor::renew() {
  // Child and parent read the same pipe, so the parent is asked only when the child is gone.
  if (std::exchange(forked_, true)) {
    write_all(to_.get(), "\n");
    read_byte(from_.get());
  }
  write_all(to_.get(), "\n");
  read_byte(from_.get());
}

void Floor::round_trip(std::string_view script) {
  std::string message = std::to_string(script.size()) + "\n";
  message += script;
  write_all(to_.get(), message);
  read_byte(from_.get());
}

}  // namespace hearth::bench
