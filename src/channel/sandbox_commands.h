// channel/sandbox_commands.h: the commands of a sandbox: which there are, and what those in the
// background print. A background command outlives turns, and ends with its lease at the latest.
//
// All throw IncompleteRead or ProtocolError when the sandbox is gone. A cancelled request leaves
// the sandbox usable.
#pragma once

#include "async/task.h"
#include "channel/sandbox_channel.h"
#include "wire/messages.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hearth {

class DataStream;

struct NoSuchCommand : Error {
  using Error::Error;
};

// What a background command prints: what is kept of it, then what comes. The command never waits
// for a reader; of what a slow one misses, it learns the size.
class CommandReader {
 public:
  CommandReader();  // of nothing
  CommandReader(std::unique_ptr<DataStream> stream, std::uint64_t position);
  CommandReader(CommandReader&& other) noexcept;
  CommandReader& operator=(CommandReader&& other) noexcept;
  ~CommandReader();

  // Of the next bytes, in all that the command has printed. Beyond the end of the last ones, bytes
  // are missing.
  std::uint64_t position() const { return position_; }
  struct Piece {
    std::uint64_t position = 0;
    std::string bytes = {};  // empty when the command is over
  };
  Task<Piece> next();

 private:
  std::unique_ptr<DataStream> stream_;
  std::uint64_t position_ = 0;
  bool is_over_ = false;
};

class SandboxCommands {
 public:
  // `channel` must outlive this, its readers and tasks.
  explicit SandboxCommands(SandboxChannel& channel) : channel_(&channel) {}

  // Those that run, in the foreground too, and background commands that have ended. At most 64:
  // of the ended ones, the oldest make room.
  Task<std::vector<wire::CommandInfo>> list();
  // Its output from that byte on, or from the first one that is kept: the last 128 KiB.
  // NoSuchCommand if no background command has this id.
  Task<CommandReader> attach(std::string execution_id, std::uint64_t from = 0);
  // Returns when it is over; as list() has it then. NoSuchCommand.
  Task<wire::CommandInfo> ended(std::string execution_id);

  // No effect if no such command runs. `name` as in `kill -l`: INT, TERM, KILL; to its process
  // group, or to all its processes.
  void signal(std::string execution_id, std::string name, bool all_processes = false);
  // A SIGINT, and half a second later the end of all its processes.
  void cancel(std::string execution_id);

 private:
  SandboxChannel* channel_;
};

}  // namespace hearth
