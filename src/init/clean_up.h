// init/clean_up.h: removes what earlier turns left in the sandbox besides processes: files and IPC
// objects. Use of the network cannot be undone, only reported.
#pragma once

#include "init/network_use.h"
#include "init/options.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace hearth::init {

class CleanUp {
 public:
  // Notes the modes of the directories as they are now.
  explicit CleanUp(const Options& options);

  // Compares the network with its state now, from here on. Before the first script; only where the
  // sandbox serves several leases.
  void watch_network() { network_.emplace(); }

  // When no process of a script is alive. Returns what could not be removed, empty if nothing.
  std::string run() const;

 private:
  struct WipedDirectory {
    std::string path;
    mode_t mode;
  };
  std::vector<WipedDirectory> wiped_;
  std::optional<Options::Passwd> passwd_;
  std::optional<NetworkUse> network_;
};

}  // namespace hearth::init
