// wire/messages.h: what host and sandbox say to each other, as values. docs/protocol.md is the same
// in words; a test holds the two together.
#pragma once

#include "base/enum_names.h"
#include "wire/command_messages.h"
#include "wire/file_messages.h"
#include "wire/stream_messages.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hearth::wire {

// ---- host to sandbox ----

enum class Mode { plan, interactive };
constexpr auto names_of(Mode /*type*/) {
  return enum_names<Mode>({{Mode::plan, "plan"}, {Mode::interactive, "interactive"}});
}

// Of the displays of a turn whose output is truncated; they do not count otherwise.
inline constexpr std::uint64_t max_display_bytes = std::uint64_t{8} << 20;

// What happens to a script whose output reaches the limit.
enum class OutputMode { fail, truncate };
constexpr auto names_of(OutputMode /*type*/) {
  return enum_names<OutputMode>({{OutputMode::fail, "fail"}, {OutputMode::truncate, "truncate"}});
}

// Whether sys.exit() means what it means to Python, or always an error.
enum class SysExit { python, error };
constexpr auto names_of(SysExit /*type*/) {
  return enum_names<SysExit>({{SysExit::python, "python"}, {SysExit::error, "error"}});
}

// What a script's errors say about its sandbox. Nothing in the sandbox enforces them.
struct KnownLimits {
  std::uint64_t memory_mb = 0;
  std::uint64_t pids_limit = 0;
  std::uint64_t scratch_size_mb = 0;
  bool operator==(const KnownLimits&) const = default;
};

struct RunRequest {
  std::string execution_id;
  std::string script;
  double timeout_seconds = 30;
  Mode mode = Mode::plan;
  std::map<std::string, std::string> env = {};
  std::vector<std::string> secrets = {};  // names that must be in env or the sandbox's environment
  std::uint64_t max_output_bytes = 1'048'576;
  OutputMode output = OutputMode::fail;
  SysExit sys_exit = SysExit::python;
  KnownLimits limits = {};
  bool network = false;   // whether the sandbox may have one
  std::string name = {};  // of the script's file; empty: script.py
  bool operator==(const RunRequest&) const = default;
};

struct CancelRequest {
  std::string execution_id;
  bool operator==(const CancelRequest&) const = default;
};

struct ResetRequest {
  bool operator==(const ResetRequest&) const = default;
};

struct PingRequest {
  bool operator==(const PingRequest&) const = default;
};

using Request =
    std::variant<RunRequest, CancelRequest, ResetRequest, PingRequest, FileRequest, Window, End,
                 Abandon, ExecRequest, SignalRequest, ResizeRequest, ListCommands, AttachCommand>;

// ---- sandbox to host ----

// Valid JSON without blanks, passed through as it was written.
struct JsonText {
  std::string text = "null";
  bool operator==(const JsonText&) const = default;
};

// Raised whenever a host and an init of two releases would misunderstand each other.
inline constexpr std::int64_t protocol_version = 2;

struct Ready {
  std::optional<std::int64_t> protocol = protocol_version;  // absent: from before it was sent
  std::string python;
  std::string harness;
  bool operator==(const Ready&) const = default;
};

struct Stdout {
  std::string text;
  bool operator==(const Stdout&) const = default;
};

struct Stderr {
  std::string text;
  bool operator==(const Stderr&) const = default;
};

struct Log {
  std::string level;
  std::string message;
  bool operator==(const Log&) const = default;
};

struct Intermediate {
  std::string label;
  JsonText data;
  bool operator==(const Intermediate&) const = default;
};

struct Display {
  JsonText data;          // an object: MIME type to representation
  bool is_value = false;  // of the script's trailing expression
  bool operator==(const Display&) const = default;
};

struct FinalResult {
  JsonText data;
  bool operator==(const FinalResult&) const = default;
};

// The name of an error that says which signal ended the script's process. The host, which may know
// why, says MemoryLimit instead.
inline constexpr const char* process_killed = "ProcessKilled";

struct ScriptError {
  std::string name;  // of the exception
  std::string message;
  std::string traceback;
  bool operator==(const ScriptError&) const = default;
};

// Why a turn is over, as init saw it.
enum class Ending {
  completed,       // the script ran to its end
  failed,          // an exception ended it
  timed_out,       // the deadline passed
  output_limit,    // it said more than it may
  cancelled,       // the host asked
  exited,          // its process ended by itself, without the harness (os._exit, exec)
  signalled,       // its process was killed by a signal that init did not send
  missing_secret,  // not run
  refused,         // not run: nothing in the sandbox could run it
};
constexpr auto names_of(Ending /*type*/) {
  return enum_names<Ending>({{Ending::completed, "completed"},
                             {Ending::failed, "failed"},
                             {Ending::timed_out, "timed_out"},
                             {Ending::output_limit, "output_limit"},
                             {Ending::cancelled, "cancelled"},
                             {Ending::exited, "exited"},
                             {Ending::signalled, "signalled"},
                             {Ending::missing_secret, "missing_secret"},
                             {Ending::refused, "refused"}});
}

struct Usage {
  double wall_seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t output_bytes = 0;
  bool operator==(const Usage&) const = default;
};

// Output that was left out, beyond the limit.
struct Truncated {
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::uint64_t displays = 0;  // shown by their text alone
  std::uint64_t events = 0;    // logs and intermediate results
  bool operator==(const Truncated&) const = default;
};

struct ScriptDone {
  Ending ending = Ending::completed;
  bool started = false;  // false only if not one instruction of the script can have run
  // The script's own: absent if a limit, a signal or the host ended it.
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};  // when one ended its process
  bool called_exit = false;                 // by sys.exit()
  bool state_lost = false;                  // interactive: the next step finds an empty namespace
  // The kernel killed something in the sandbox for want of memory, during this turn. False where
  // init cannot see that: then it is the host's to know.
  bool out_of_memory = false;
  Usage usage = {};
  std::optional<Truncated> truncated = {};
  bool operator==(const ScriptDone&) const = default;
};

struct ResetDone {
  bool clean = true;
  std::string message = {};  // what could not be cleaned
  bool operator==(const ResetDone&) const = default;
};

struct Pong {
  bool operator==(const Pong&) const = default;
};

using EventBody = std::variant<Ready, Stdout, Stderr, Log, Intermediate, Display, FinalResult,
                               ScriptError, ScriptDone, ResetDone, Pong, FileAnswer, Window,
                               Started, End, CommandList, Position>;

struct Event {
  std::string execution_id;  // empty where an event belongs to no turn
  EventBody body;
  bool operator==(const Event&) const = default;
};

std::string_view type_of(const EventBody& body);

}  // namespace hearth::wire
