// os/disks.h: the disks of this machine, and what a cgroup may read from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace hearth::os {

struct Disk {
  std::string device{};  // /dev/vda
  std::string number{};  // 254:0, as the kernel's files name it

  bool operator==(const Disk&) const = default;
};

// Every whole disk that has a size, but for those that are memory. Loop devices and volumes count
// too: then it does not matter which file system a file is on.
std::vector<Disk> disks_in(const std::filesystem::path& sys_block);
// Those of this machine, as they were at the first call.
const std::vector<Disk>& disks();

// In version 1 a file of the blkio controller, in version 2 of io.
inline constexpr const char* disk_limit_file_v1 = "blkio.throttle.read_bps_device";
inline constexpr const char* disk_limit_file_v2 = "io.max";

// What the processes of a cgroup may read from each disk; 0 is no limit. Throws OsError.
void limit_disk_reads(const std::filesystem::path& group, std::uint64_t bytes_per_sec);
// A process that waits for a disk cannot be killed, so the limit has to go before it can end.
// Never fails. Does nothing where the group has no such limit.
void lift_disk_reads(const std::filesystem::path& group);

}  // namespace hearth::os
