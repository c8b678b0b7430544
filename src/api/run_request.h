// api/run_request.h: the request object that all front ends share: what is to be run, and how. A
// request is checked as a whole before anything of it happens.
#pragma once

#include "api/problem.h"
#include "api/request_files.h"
#include "execution/turn_request.h"
#include "pool/binding.h"
#include "wire/json_object.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::api {

struct RunRequest {
  // One of the three: a script, a program with its arguments, or a line for a shell.
  std::string code{};
  std::vector<std::string> command{};
  std::string shell{};
  std::string language{};                   // of the code; empty: the blueprint's
  std::vector<std::string> args{};          // of code in another language, or of the shell line
  std::string directory{};                  // where a command starts; empty: /workspace
  NewFiles files{};                         // written before the start
  std::vector<std::string> return_files{};  // patterns of those whose contents the result has
  std::optional<double> timeout_seconds{};
  std::map<std::string, std::string> env{};
  std::optional<blueprint::OutputMode> output{};
};

// RequestRefused with everything that is wrong: not JSON, an unknown field (the nearest known one
// is suggested), a value of the wrong kind, a field that Hearth cannot act on yet.
RunRequest parse_run_request(std::string_view json);
RunRequest parse_run_request(std::vector<wire::JsonMember> members);
// The members of the object `json`; RequestRefused.
std::vector<wire::JsonMember> parse_members(std::string_view json);

// The turn it asks for. RequestRefused if it wants more time than the lease allows, or what code in
// the blueprint's language has not.
execution::TurnRequest turn_request_of(RunRequest request, const pool::Binding& binding);

}  // namespace hearth::api
