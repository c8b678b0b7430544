#include "docker/shown_tools.h"

#include "base/log.h"
#include "os/durable_files.h"
#include "os/remove_tree.h"
#include "os/trusted_path.h"

#include <chrono>
#include <cstddef>
#include <system_error>

namespace hearth::docker {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds removal_patience{5};

fs::path place_of(const fs::path& state_dir) { return state_dir / "tools"; }

}  // namespace

ShownTools::ShownTools(const fs::path& state_dir, const std::string& instance)
    : directory_(place_of(state_dir) / instance) {}

ShownTools::~ShownTools() {
  remove(directory_.parent_path().parent_path(), directory_.filename().string());
}

fs::path ShownTools::directory_of(const std::vector<ToolFile>& tools) const {
  // Numbered, as a set of tools never changes once a container may show it.
  // The engine mounts what is in it; other users of this machine need not read it.
  os::make_private_directory(directory_.parent_path());
  os::make_trusted_directory(directory_, 0755);
  std::size_t number = 0;
  while (fs::exists(directory_ / std::to_string(number))) ++number;
  fs::path made = directory_ / std::to_string(number);
  os::make_directory(made, 0755);
  for (const ToolFile& tool : tools)
    os::write_new_file(made / (tool.name + ".py"), tool.source, 0644);
  return made;
}

std::vector<std::string> ShownTools::instances(const fs::path& state_dir) {
  std::vector<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(place_of(state_dir), none))
    names.push_back(entry.path().filename().string());
  return names;
}

void ShownTools::remove(const fs::path& state_dir, const std::string& instance) {
  const fs::path directory = place_of(state_dir) / instance;
  if (!os::remove_tree(directory, std::chrono::steady_clock::now() + removal_patience))
    log::warning("directory of tools could not be removed; the next start retries",
                 {{"directory", directory.string()}});
}

}  // namespace hearth::docker
