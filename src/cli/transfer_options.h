// cli/transfer_options.h: --put, --get, --save and --force, which `hearth run` and others share:
// what goes into a sandbox before its turn, and what comes out of it afterwards.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace hearth::cli {

// A file or directory of this machine.
struct Put {
  std::string local{};
  std::string path{};  // in the sandbox, of the file or directory itself
};
struct Get {
  std::string path{};   // in the sandbox
  std::string local{};  // where it appears: no directory that it goes into
};
struct TransferOptions {
  std::vector<Put> puts{};
  std::vector<Get> gets{};
  std::string save{};  // a directory; empty: nothing is saved
  bool force = false;

  bool take_anything() const { return !gets.empty() || !save.empty(); }
};

// As they were written.
struct RawTransferOptions {
  std::vector<std::string> puts{};
  std::vector<std::string> gets{};
  std::string save{};
  bool force = false;
};
// `raw` must outlive `command`.
void add_transfer_options(CLI::App& command, RawTransferOptions& raw);
// CLI::ValidationError.
TransferOptions checked(const RawTransferOptions& raw);

// Before anything runs: what is to be put is there, nothing would be overwritten without --force,
// and what comes out can be written; --save makes its directory. Error.
void require_places(const TransferOptions& options);

}  // namespace hearth::cli
