// native/cgroup_files.h: reading, writing and removing in the kernel's trees of groups.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::native {

// Of memory cgroups of version 1: what the buffers of TCP and UDP sockets may hold.
inline constexpr const char* socket_limit_file = "memory.kmem.tcp.limit_in_bytes";

// What limits swap: version 1 together with memory, version 2 alone. Absent where the kernel does
// not count it.
inline constexpr const char* memory_and_swap_file = "memory.memsw.limit_in_bytes";
inline constexpr const char* swap_file = "memory.swap.max";

// How processor time is handed out; what every kernel begins with.
inline constexpr int cpu_period_us = 100'000;

// Throws OsError.
void write_value(const std::filesystem::path& file, const std::string& value);
// Empty if it cannot be read.
std::string read_value(const std::filesystem::path& file);
// The processes in a group that this process can see.
std::vector<pid_t> processes_of(const std::filesystem::path& group);
// Sends SIGKILL to every process in it. May miss one that is just being forked.
void kill_processes_of(const std::filesystem::path& group);
// The number behind `key` in lines of "key number"; 0 if there is none.
std::uint64_t value_of(const std::string& text, std::string_view key);
// Page cache of files that its processes were the first to read. Outlives them.
std::uint64_t cached_bytes(const std::filesystem::path& group);
// The kernel keeps a removed group for as long as page cache is charged to it.
void drop_cache(const std::filesystem::path& group);
// Waits a little for a last process on its way out, and complains in the log.
void remove_directory(const std::filesystem::path& path);

}  // namespace hearth::native
