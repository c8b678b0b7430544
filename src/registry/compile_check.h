// registry/compile_check.h: asks a Python on this machine whether tools compile: one start for any
// number of tools. Executes none of them. As root, Python gives its rights up before it
// looks at a source; it has limits and ends with its caller.
#pragma once

#include "registry/tool.h"

#include <compare>
#include <span>
#include <string>
#include <vector>

namespace hearth::registry {

struct PythonVersion {
  int major = 3;
  int minor = 8;
  auto operator<=>(const PythonVersion&) const = default;
};

// "3.11.4" is 3.11.
PythonVersion python_version_of(const std::string& text);

struct CompileJob {
  const Tool* tool = nullptr;
  std::size_t index = 0;          // in the caller's batch
  PythonVersion oldest_python{};  // of the sandboxes it is for
};

// The tools that do not compile. Without `python` on this machine nothing is found and a warning is
// logged; so it is for a tool whose sandboxes all have a newer Python than this machine and which
// only that one may understand.
std::vector<ToolProblem> compile_problems(std::span<const CompileJob> jobs,
                                          const std::string& python);

}  // namespace hearth::registry
