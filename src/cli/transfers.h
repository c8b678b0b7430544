// cli/transfers.h: files into a sandbox before its turn and out of it afterwards, as the options of
// the command line say.
#pragma once

#include "async/task.h"
#include "cli/copied_trees.h"
#include "cli/transfer_options.h"
#include "files/tree_writer.h"
#include "pool/lease.h"
#include "wire/messages.h"

#include <boost/asio/thread_pool.hpp>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hearth::cli {

class Transfers {
 public:
  struct Telling {
    bool summary = true;    // what came out, and what was lost
    bool progress = false;  // of what takes long: for a terminal
  };
  // What is referred to must outlive it.
  Transfers(const TransferOptions& options, Telling telling, std::ostream& errors)
      : options_(options), telling_(telling), errors_(errors) {}

  // What --put names. `lease` must outlive the task. RequestRefused names the option.
  Task<> put(pool::Lease& lease);
  // What a turn displayed, for --save.
  void keep(const std::vector<wire::Display>& displays);
  // What --get and --save name; all that goes wrong is told, and nothing is thrown. False if not
  // everything came out. Without them, it tells which files are lost. `lease` must outlive the
  // task; null: there is no sandbox any more.
  Task<bool> take(pool::Lease* lease);

 private:
  using SizeAndTime = std::pair<std::uint64_t, std::int64_t>;
  struct Copied;

  Task<> put_one(pool::Lease& lease, const Put& put);
  Task<bool> tried(std::string option, Task<> work);
  Task<> get(pool::Lease* lease, const Get& get);
  Task<> save(pool::Lease* lease);
  Task<> save_workspace(pool::Lease* lease, Copied& saved);
  Task<> save_displays(Copied& saved);
  // Into `directory`, for `option`, which is named with what cannot be copied.
  enum class Caches { are_copied, are_left_out };
  Task<> copy_out(TreeReader& tree, os::UniqueFd directory, std::string option, Copied& copied,
                  Caches caches = Caches::are_copied);
  Task<> tell_lost(pool::Lease& lease);
  files::TreeRules rules() const;
  bool is_taken(const std::string& path) const;
  void tell(const std::string& line);
  void tell_left_out(const std::string& option, const char* what, const NamedFiles& files);
  void tell_kept(const std::string& where, const std::string& what);

  const TransferOptions& options_;
  Telling telling_;
  std::ostream& errors_;
  std::map<std::string, SizeAndTime> put_{};  // by paths: unless they change, they are not lost
  std::vector<wire::Display> displays_{};
  asio::thread_pool thread_{1};
};

}  // namespace hearth::cli
