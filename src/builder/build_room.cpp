#include "builder/build_room.h"

#include "os/durable_files.h"

#include <utility>

namespace hearth::builder {

BuildRoom::BuildRoom(const native::ConfinedPrograms& programs, std::filesystem::path path)
    : programs_(programs), path_(std::move(path)) {
  os::make_directory(path_, 0700);
  programs_.give(path_);
  put_directory("home");
}

void BuildRoom::put_directory(const std::string& name) const {
  os::make_directory(path_ / name, 0755);
  programs_.give(path_ / name);
}

void BuildRoom::put_file(const std::string& name, std::string_view content) const {
  os::write_new_file(path_ / name, content, 0600);
  programs_.give(path_ / name);
}

}  // namespace hearth::builder
