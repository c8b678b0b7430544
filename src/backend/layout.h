// backend/layout.h: what every sandbox looks like from inside, whichever backend makes it: paths,
// env, sizes of its file systems in memory. The programs inside (init, isolate, the harness) have
// their own copies of the paths they need, as they include nothing of a backend.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace hearth::backend::layout {

inline constexpr const char* workspace = "/workspace";
inline constexpr const char* temporary = "/tmp";
inline constexpr const char* tools = "/tools";
inline constexpr const char* harness = "/hearth/executor_harness";
inline constexpr const char* user = "sandbox";  // also the host name

inline constexpr std::array<std::pair<const char*, const char*>, 5> env{
    {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
     {"HOME", workspace},
     {"USER", user},
     {"LANG", "C.UTF-8"},
     {"TMPDIR", temporary}}};

// Of /tmp; /workspace has the blueprint's scratch_size_mb.
inline constexpr std::int64_t temporary_bytes = std::int64_t{64} << 20;
// A file costs the kernel about a kilobyte, so their number is limited, too.
inline constexpr std::int64_t bytes_per_inode = 4096;

// Not counted against a blueprint's pids_limit: init, the holder of a worker's memory and the
// process between two forks. Where the harness runs inside, it is one more.
inline constexpr std::int64_t own_processes = 3;

}  // namespace hearth::backend::layout
