// builder/build_room.h: a directory that the confined programs of a build write to. What is put in
// must be there before the first of them runs.
#pragma once

#include "native/confined_programs.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace hearth::builder {

class BuildRoom {
 public:
  // `path` does not exist yet, and is in a directory that is ours alone. OsError.
  BuildRoom(const native::ConfinedPrograms& programs, std::filesystem::path path);

  void put_directory(const std::string& name) const;
  void put_file(const std::string& name, std::string_view content) const;

  const std::filesystem::path& path() const { return path_; }
  // As the programs see it.
  static std::filesystem::path inside(const std::string& name) {
    return std::filesystem::path(native::ConfinedPrograms::writable_inside) / name;
  }

 private:
  const native::ConfinedPrograms& programs_;
  std::filesystem::path path_;
};

}  // namespace hearth::builder
