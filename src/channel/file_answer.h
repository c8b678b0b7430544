// channel/file_answer.h: what a sandbox answers to a request about files.
#pragma once

#include "async/task.h"
#include "channel/data_stream.h"
#include "channel/sandbox_files.h"
#include "wire/messages.h"
#include "wire/protocol_error.h"

#include <utility>
#include <variant>

namespace hearth {

// The answer that `part` must be. FileError if it says that the request failed.
wire::FileAnswerBody answer_in(DataStream::Part part);

template <typename Answer>
Task<Answer> receive_answer(DataStream& stream) {
  wire::FileAnswerBody answer = answer_in(co_await stream.receive());
  auto* wanted = std::get_if<Answer>(&answer);
  if (wanted == nullptr) throw wire::ProtocolError("an answer to another request");
  co_return std::move(*wanted);
}

}  // namespace hearth
