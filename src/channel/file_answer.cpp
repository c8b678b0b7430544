#include "channel/file_answer.h"

namespace hearth {

wire::FileAnswerBody answer_in(DataStream::Part part) {
  auto* body = std::get_if<wire::EventBody>(&part);
  auto* answer = body == nullptr ? nullptr : std::get_if<wire::FileAnswer>(body);
  if (answer == nullptr) throw wire::ProtocolError("no answer where one must be");
  if (const auto* failed = std::get_if<wire::FileFailed>(&answer->body))
    throw FileError(failed->problem, failed->message);
  return std::move(answer->body);
}

}  // namespace hearth
