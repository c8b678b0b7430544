// session/sandbox_variables.h: the variables of an interactive session, kept over a pause. They are
// pickled and unpickled in the sandbox only, within a time limit and a size; here a pickle is
// bytes, and what the sandbox says of it is bounded and believed for its own session only.
#pragma once

#include "async/task.h"
#include "pool/lease.h"
#include "session/kept_variables.h"

#include <string>
#include <vector>

namespace hearth::session {

// No turn may run. Whatever the script does, there is an answer: what is not kept is lost. `lease`
// must outlive the task.
Task<KeptVariables> keep_variables(pool::Lease& lease, VariableLimits limits);

// Into an interpreter that has run nothing. Returns the names of those that are not back. The
// sandbox may be of no use afterwards. What is referred to must outlive the task.
Task<std::vector<std::string>> restore_variables(pool::Lease& lease, const KeptVariables& variables,
                                                 VariableLimits limits);

}  // namespace hearth::session
