// files/file_failure.h: why a request about files cannot be fulfilled.
#pragma once

#include "base/error.h"
#include "wire/file_messages.h"

#include <cerrno>
#include <string>

namespace hearth::files {

struct FileFailure : Error {
  FileFailure(wire::FileProblem kind, const std::string& why) : Error(why), problem(kind) {}
  wire::FileProblem problem;
};

// What the kernel said. `place`, where given, is the part of the path that it is about.
FileFailure failure_of(int code, const std::string& place = {});

}  // namespace hearth::files
