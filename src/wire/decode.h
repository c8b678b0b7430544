// wire/decode.h: lines as messages. Strict: an unknown type or member, a missing one, a wrong kind,
// a number out of range, invalid UTF-8 or too deep a nesting is a ProtocolError, never a guess.
#pragma once

#include "wire/member_reader.h"
#include "wire/messages.h"

#include <string_view>

namespace hearth::wire {

// `line` without its newline.
Request decode_request(std::string_view line);
Event decode_event(std::string_view line);

// The part of an event that depends on its type, from members whose `type` was taken. Leaves
// `finish` to the caller.
EventBody decode_body(std::string_view type, MemberReader& members);

}  // namespace hearth::wire
