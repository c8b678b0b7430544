// init/limits.h: bounds of init's memory and waiting times, whatever a script or the host does.
#pragma once

#include "wire/command_messages.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hearth::init {

using Clock = std::chrono::steady_clock;

inline constexpr std::size_t max_request_bytes = std::size_t{8} << 20;
// The harness refuses a payload over 8 MiB; the rest is for the record around it.
inline constexpr std::size_t max_record_bytes = (std::size_t{8} << 20) + 4096;
inline constexpr std::size_t read_chunk_bytes = std::size_t{64} << 10;
// While this much waits for the host, the script's pipes are not read. Then the script waits, and
// init does not.
inline constexpr std::size_t max_host_backlog_bytes = std::size_t{256} << 10;
// While this much waits, no data streams add to it. What they have added is before the next line.
inline constexpr std::size_t max_data_backlog_bytes = std::size_t{128} << 10;
inline constexpr std::size_t max_open_streams = 256;
// Slices of each data stream between two looks at everything else.
inline constexpr int stream_rounds = 4;
// Of a listing or a removal, in a slice.
inline constexpr std::size_t entries_per_slice = 100;

// From the deadline, at which the script gets its exception, to SIGKILL.
inline constexpr std::chrono::milliseconds timeout_grace{200};
inline constexpr std::chrono::milliseconds cancel_grace{500};
// How long the output of a command that was ended still waits for a host that reads slowly.
inline constexpr std::chrono::milliseconds delivery_patience{500};
// How soon after a step its worker is asked whether it waits for the next one, and how long it has
// at least to show it. Threads that the step left may keep it from the CPU.
inline constexpr std::chrono::milliseconds return_check_delay{50};
inline constexpr std::chrono::seconds return_patience{1};
// How often leftover processes of a turn are killed again, and when the sandbox is given up.
inline constexpr std::chrono::milliseconds sweep_interval{10};
inline constexpr std::chrono::seconds sweep_patience{5};
inline constexpr int max_prepare_attempts = 3;
// Most sandboxes are destroyed right after a turn, so the next worker is made after this delay.
inline constexpr std::chrono::milliseconds prepare_delay{50};
inline constexpr int max_reaped_at_once = 256;
// Commands at once. Each has a process of its own beside those of the command.
inline constexpr std::size_t max_commands = wire::max_listed_commands;

// Sockets of the Internet in a sandbox, with connections that wait to be accepted. How soon it is
// noticed that there are more.
inline constexpr std::uint64_t max_internet_sockets = 2048;
inline constexpr std::chrono::milliseconds socket_check_interval{100};
// What was killed for them needs a moment to be gone.
inline constexpr std::chrono::seconds socket_kill_patience{1};

// Open files. A process may send descriptors while its user has fewer in flight than its own limit.
// So init can still send some when scripts have used up theirs.
inline constexpr unsigned script_files = 1024;
inline constexpr unsigned init_files = 4096;

}  // namespace hearth::init
