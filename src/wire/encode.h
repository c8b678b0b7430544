// wire/encode.h: messages as lines, newline included.
#pragma once

#include "wire/messages.h"

#include <string>

namespace hearth::wire {

std::string encode(const Request& request);
std::string encode(const Event& event);

// What a worker is told, see docs/protocol.md: a line with mode, time limit and sizes, then the
// environment as JSON (nothing if it is empty), then the script as it is.
std::string encode_for_worker(const RunRequest& request, std::string_view mark);

// What init writes for every event: the opening up to where the body's members follow.
void append_event_head(std::string& out, std::string_view type, std::string_view execution_id);

}  // namespace hearth::wire
