// wire/encode.h: messages as lines, newline included.
#pragma once

#include "wire/messages.h"

#include <string>

namespace hearth::wire {

std::string encode(const Request& request);
std::string encode(const Event& event);

// What init writes for every event: the opening up to where the body's members follow.
void append_event_head(std::string& out, std::string_view type, std::string_view execution_id);

}  // namespace hearth::wire
