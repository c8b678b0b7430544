// wire/protocol_error.h: the other side broke the protocol.
#pragma once

#include "base/error.h"

namespace hearth::wire {

struct ProtocolError : Error {
  using Error::Error;
};

}  // namespace hearth::wire
