#include "os/disks.h"

#include "base/error.h"
#include "base/log.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace hearth::os {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

bool is_memory(const std::string& name) {
  return name.starts_with("ram") || name.starts_with("zram");
}

// One path of a disk with several has a number that no other file knows.
bool is_hidden(const fs::path& disk) { return first_word(disk / "hidden") == "1"; }

bool has_size(const fs::path& disk) {
  const std::string size = first_word(disk / "size");
  return !size.empty() && size != "0";
}

// The kernel writes `cciss!c0d0` where a slash cannot be.
std::string device_of(std::string name) {
  std::replace(name.begin(), name.end(), '!', '/');
  return "/dev/" + name;
}

void write_line(const fs::path& file, const std::string& line) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd && ::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    return;
  // The disk was taken out: nothing can be read from it.
  if (fd && (errno == ENODEV || errno == ENXIO)) return;
  throw OsError("write \"" + line + "\" to " + file.string());
}

bool is_there(const fs::path& file) { return ::access(file.c_str(), F_OK) == 0; }

}  // namespace

std::vector<Disk> disks_in(const fs::path& sys_block) {
  std::vector<Disk> found;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(sys_block, failed)) {
    const std::string name = entry.path().filename();
    if (is_memory(name) || is_hidden(entry.path()) || !has_size(entry.path())) continue;
    const std::string number = first_word(entry.path() / "dev");
    if (!number.empty()) found.push_back({device_of(name), number});
  }
  std::sort(found.begin(), found.end(),
            [](const Disk& a, const Disk& b) { return a.device < b.device; });
  return found;
}

const std::vector<Disk>& disks() {
  static const std::vector<Disk> found = disks_in("/sys/block");
  return found;
}

void limit_disk_reads(const fs::path& group, std::uint64_t bytes_per_sec) {
  const std::string rate = std::to_string(bytes_per_sec);
  const bool is_v1 = is_there(group / disk_limit_file_v1);
  for (const Disk& disk : disks()) {
    if (is_v1) {
      write_line(group / disk_limit_file_v1, disk.number + ' ' + rate);
    } else {
      write_line(group / disk_limit_file_v2,
                 disk.number + " rbps=" + (bytes_per_sec == 0 ? "max" : rate));
    }
  }
}

void lift_disk_reads(const fs::path& group) try {
  if (is_there(group / disk_limit_file_v1) || is_there(group / disk_limit_file_v2))
    limit_disk_reads(group, 0);
} catch (const OsError& error) {
  log::warning("disk read limit of a cgroup could not be lifted for its processes to exit",
               {{"error", error.what()}});
}

}  // namespace hearth::os
