#include "native/programs.h"

#include "base/error.h"

#include <string>

namespace hearth::native {
namespace {

namespace fs = std::filesystem;

fs::path find_one(const fs::path& beside, const std::string& name) {
  for (const fs::path& directory : {beside, beside.parent_path() / "lib" / "hearth"})
    if (fs::exists(directory / name)) return directory / name;
  throw Error(name + " is missing: it belongs beside the program, in " + beside.string());
}

}  // namespace

Programs find_programs() {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path();
  return {find_one(beside, "hearth-launcher"), find_one(beside, "hearth-init"),
          find_one(beside, "libhearth-isolate.so"), find_one(beside, "executor_harness.py")};
}

}  // namespace hearth::native
