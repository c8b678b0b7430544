// builder/environment.h: what a blueprint is built into for the native backend, and what can go
// wrong with that.
#pragma once

#include "backend/errors.h"

#include <filesystem>
#include <string>
#include <vector>

namespace hearth::builder {

// Read-only directories and an interpreter, all on this machine.
struct Environment {
  std::string checksum{};
  std::filesystem::path packages{};  // for sys.path; empty when nothing had to be installed
  std::filesystem::path tools{};     // holds <tool>.py
  std::filesystem::path python{};    // as Python::executable
  std::string python_version{};
  std::vector<std::string> preload{};
  bool operator==(const Environment&) const = default;
};

using backend::BuildError;

}  // namespace hearth::builder
