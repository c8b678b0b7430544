// api/request_fields.h: the fields of the request object, each with what may stand in it.
#pragma once

#include "api/run_request.h"
#include "blueprint/problem.h"
#include "wire/json_object.h"

#include <span>
#include <string>
#include <string_view>

namespace hearth::api {

// One field of the object, and how it gets into the request.
struct FieldReading {
  const wire::JsonMember& member;
  RunRequest& request;
  blueprint::Problems& problems;

  void refuse(std::string message) const;
  bool is(wire::JsonKind kind, std::string_view in_words) const;  // else it is refused
};

struct RequestField {
  std::string_view name;
  void (*read)(const FieldReading&);
};
std::span<const RequestField> request_fields();

}  // namespace hearth::api
