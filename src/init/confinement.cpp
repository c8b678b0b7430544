#include "init/confinement.h"

#include "base/error.h"
#include "os/read_file.h"

#include <sys/statvfs.h>

#include <algorithm>

namespace hearth::init {
namespace {

constexpr std::size_t most_status_bytes = 1 << 16;

// Without the name, the colon and blanks; empty if there is no such line.
std::string_view value_of(std::string_view name, std::string_view status) {
  while (!status.empty()) {
    std::string_view line = status.substr(0, status.find('\n'));
    status.remove_prefix(std::min(line.size() + 1, status.size()));
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return {};
}

bool is_zero(std::string_view digits) {
  return !digits.empty() && digits.find_first_not_of('0') == std::string_view::npos;
}

// Ambient capabilities are always permitted ones, too. Not every kernel shows them.
bool has_no_capabilities(std::string_view status) {
  const char* const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd"};
  return std::all_of(std::begin(sets), std::end(sets),
                     [status](const char* set) { return is_zero(value_of(set, status)); });
}

// Real, effective, saved and of the file system: none is root's.
bool is_ordinary_user(std::string_view status) {
  for (const char* kind : {"Uid", "Gid"}) {
    std::string_view ids = value_of(kind, status);
    if (ids.empty()) return false;
    while (!ids.empty()) {
      const std::string_view id = ids.substr(0, ids.find('\t'));
      if (is_zero(id)) return false;
      ids.remove_prefix(std::min(id.size() + 1, ids.size()));
    }
  }
  return true;
}

std::string missing_one(std::string_view wanted, const Confinement& found) {
  const std::string_view status = found.status;
  if (wanted == "caps") return has_no_capabilities(status) ? "" : "it has capabilities";
  if (wanted == "no-new-privs")
    return value_of("NoNewPrivs", status) == "1" ? "" : "programs may gain privileges";
  if (wanted == "seccomp")
    return value_of("Seccomp", status) == "2" ? "" : "system calls are not filtered";
  if (wanted == "user") return is_ordinary_user(status) ? "" : "it runs as root";
  if (wanted == "read-only")
    return found.root_is_read_only ? "" : "its root file system can be written to";
  throw Error("--confined does not know " + std::string(wanted));
}

}  // namespace

Confinement observed_confinement() {
  struct statvfs root{};
  const bool is_read_only = ::statvfs("/", &root) == 0 && (root.f_flag & ST_RDONLY) != 0;
  return {os::read_file("/proc/self/status", most_status_bytes), is_read_only};
}

std::string missing_confinement(std::string_view wanted, const Confinement& found) {
  std::string missing;
  while (!wanted.empty()) {
    const std::string_view word = wanted.substr(0, wanted.find(','));
    wanted.remove_prefix(std::min(word.size() + 1, wanted.size()));
    const std::string one = missing_one(word, found);
    if (!one.empty()) missing += (missing.empty() ? "" : "; ") + one;
  }
  return missing;
}

}  // namespace hearth::init
