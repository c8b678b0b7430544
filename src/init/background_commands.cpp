#include "init/background_commands.h"

#include "wire/protocol_error.h"

#include <utility>

namespace hearth::init {

std::shared_ptr<KeptOutput> BackgroundCommands::begin(const std::string& execution_id) {
  forget(execution_id);
  return outputs_[execution_id] = std::make_shared<KeptOutput>();
}

void BackgroundCommands::note_end(wire::CommandInfo ended) { ended_.push_back(std::move(ended)); }

void BackgroundCommands::forget(const std::string& execution_id) {
  outputs_.erase(execution_id);
  std::erase_if(ended_,
                [&](const wire::CommandInfo& one) { return one.execution_id == execution_id; });
}

void BackgroundCommands::forget_all() {
  outputs_.clear();
  ended_.clear();
}

void BackgroundCommands::keep_at_most(std::size_t most) {
  while (ended_.size() > most) forget(std::string(ended_.front().execution_id));
}

void BackgroundCommands::add_to(std::vector<wire::CommandInfo>& list) const {
  list.insert(list.end(), ended_.begin(), ended_.end());
}

void BackgroundCommands::attach(const wire::AttachCommand& request) {
  if (streams_.is_open(request.stream)) throw wire::ProtocolError("the stream is open already");
  const auto found = outputs_.find(request.execution_id);
  if (found == outputs_.end() || streams_.is_full())
    return streams_.refused(request.stream).send(wire::End{request.stream});
  streams_.open(request.stream, [&](StreamPort& port) {
    return KeptOutput::reader_of(found->second, request.from, port);
  });
}

}  // namespace hearth::init
