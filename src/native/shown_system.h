// native/shown_system.h: what everything that hearth-launcher starts sees of this machine, as words
// of the launcher's command line.
#pragma once

#include "native/launch_plan.h"

#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace hearth::native {

class LauncherWords {
 public:
  void add(std::initializer_list<std::string> more) {
    words_.insert(words_.end(), more.begin(), more.end());
  }
  // Read-only, at its own path; nothing if it is in what was shown so already.
  void show(const std::filesystem::path& path);
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
  std::vector<std::filesystem::path> shown_;
};

// The system, read-only, and users that exist for sandboxes only. Neither /etc/hosts nor
// /etc/nsswitch.conf: those depend on which network there is.
void show_system(LauncherWords& words, const Machine& machine);

// An interpreter of its own (pyenv, /opt) comes with its whole installation, one of a virtual
// environment with that and what it was made of. Nothing else of a home directory is shown.
void show_python(LauncherWords& words, const Machine& machine, const std::filesystem::path& python);

}  // namespace hearth::native
