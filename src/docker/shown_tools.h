// docker/shown_tools.h: the tools of this process as directories that containers mount. With them
// one image serves many sets of tools.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hearth::docker {

struct ToolFile {
  std::string name{};  // without .py
  std::string source{};
};

class ShownTools {
 public:
  ShownTools(const std::filesystem::path& state_dir, const std::string& instance);
  ~ShownTools();  // removes them
  ShownTools(const ShownTools&) = delete;
  ShownTools& operator=(const ShownTools&) = delete;

  // Holds just these; made by the first call. Any user can read it and only Hearth's can write it:
  // UntrustedPath, if another could. OsError.
  std::filesystem::path directory_of(const std::vector<ToolFile>& tools) const;

  // The processes that have such directories, the dead ones too.
  static std::vector<std::string> instances(const std::filesystem::path& state_dir);
  // Of a dead process. What cannot be removed stays for the next start.
  static void remove(const std::filesystem::path& state_dir, const std::string& instance);

 private:
  std::filesystem::path directory_;
};

}  // namespace hearth::docker
