// init/background_commands.h: what is kept of background commands: their last output while they
// run, and how they ended. For as long as there is room, and until the sandbox is reset.
#pragma once

#include "init/kept_output.h"
#include "init/open_streams.h"
#include "wire/messages.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hearth::init {

class BackgroundCommands {
 public:
  // `streams` must outlive it.
  explicit BackgroundCommands(OpenStreams& streams) : streams_(streams) {}

  // Where the output of a new one goes. An ended one of the same id is forgotten.
  std::shared_ptr<KeptOutput> begin(const std::string& execution_id);
  void note_end(wire::CommandInfo ended);
  void forget(const std::string& execution_id);
  void forget_all();
  // So that no more than `most` that have ended are kept: the oldest go.
  void keep_at_most(std::size_t most);

  void add_to(std::vector<wire::CommandInfo>& list) const;
  void attach(const wire::AttachCommand& request);

 private:
  OpenStreams& streams_;
  std::map<std::string, std::shared_ptr<KeptOutput>> outputs_;
  std::deque<wire::CommandInfo> ended_;  // the oldest first
};

}  // namespace hearth::init
