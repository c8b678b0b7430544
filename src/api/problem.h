// api/problem.h: what went wrong for Hearth, not for a script, as every front end says it.
#pragma once

#include "base/enum_names.h"
#include "base/error.h"
#include "blueprint/problem.h"

#include <exception>
#include <string>

namespace hearth::api {

enum class ProblemCode {
  invalid_request,  // or configuration, on the command line
  not_found,        // a session
  conflict,         // a session is busy, or a store has another owner
  snapshot_damaged,
  gone,  // a session that was deleted or evicted
  too_large,
  unprocessable,  // a blueprint cannot be built, or its tools do not load
  internal,
  not_implemented,
  capacity,
  no_space,  // in the sandbox
  backend_unavailable,
};
constexpr auto names_of(ProblemCode /*type*/) {
  return enum_names<ProblemCode>({{ProblemCode::invalid_request, "invalid_request"},
                                  {ProblemCode::not_found, "not_found"},
                                  {ProblemCode::conflict, "conflict"},
                                  {ProblemCode::snapshot_damaged, "snapshot_damaged"},
                                  {ProblemCode::gone, "gone"},
                                  {ProblemCode::too_large, "too_large"},
                                  {ProblemCode::unprocessable, "unprocessable"},
                                  {ProblemCode::internal, "internal"},
                                  {ProblemCode::not_implemented, "not_implemented"},
                                  {ProblemCode::capacity, "capacity"},
                                  {ProblemCode::no_space, "no_space"},
                                  {ProblemCode::backend_unavailable, "backend_unavailable"}});
}

struct Problem {
  ProblemCode code = ProblemCode::internal;
  std::string detail{};
  std::string log{};             // of a build, or a traceback
  blueprint::Problems errors{};  // of a request's or a configuration's fields
};

// A request that is refused as a whole.
struct RequestRefused : Error {
  explicit RequestRefused(Problem found) : Error(found.detail), problem(std::move(found)) {}
  Problem problem;
};

Problem problem_of(const std::exception_ptr& failure);

// {"type":"error","code":"invalid_request","detail":"…","errors":[{"field":"…","message":"…"}]}
std::string error_line(const Problem& problem);

}  // namespace hearth::api
