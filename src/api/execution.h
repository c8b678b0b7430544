// api/execution.h: what a front end knows of one execution beside what its sandbox said.
#pragma once

#include "api/request_files.h"
#include "pool/pool_stats.h"

#include <optional>
#include <string>
#include <vector>

namespace hearth::api {

// What became of a session that was paused before.
struct Resumed {
  std::string source{};    // snapshot or fresh
  bool work_lost = false;  // what was done after the snapshot is lost: its process had crashed
  std::vector<std::string> lost_variables{};
};

struct Execution {
  std::string id{};  // new_execution_id()
  std::optional<std::string> session_id{};
  std::optional<Resumed> resumed{};
  std::string file{};        // the command line's: which of several
  std::string sandbox_id{};  // empty: it never had one
  pool::CheckoutKind checkout = pool::CheckoutKind::warm;
  double queued_seconds = 0;   // before its turn began
  double timeout_seconds = 0;  // of the turn
  FoundFiles files{};          // that its result names
  bool is_step = false;        // its variables and files stay for the next
  bool is_kept = false;        // what is left out of `text` can be asked for by its id
};

// "ex_" and 128 random bits.
std::string new_execution_id();

}  // namespace hearth::api
