#include "isolate/failure.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hearth::isolate {
namespace {

const char* failed_step = "";

[[noreturn]] void report(int fd, const char* format) {
  char line[256];
  const int size = std::snprintf(line, sizeof line, format, failed_step, std::strerror(errno));
  // If this fails, too, there is nothing left to report to.
  if (::write(fd, line, static_cast<std::size_t>(size)) < 0) ::_exit(2);
  ::_exit(1);
}

}  // namespace

bool fail(const char* step) {
  failed_step = step;
  return false;
}

void exit_sandbox(int stream) {
  report(stream, R"({"type":"error","name":"SandboxFailed","message":"%s: %s","traceback":""})"
                 "\n");
}

void exit_worker(int emit_pipe) {
  report(emit_pipe, R"(0 0 {"type":"prepare_failed","message":"%s: %s"})"
                    "\n");
}

}  // namespace hearth::isolate
