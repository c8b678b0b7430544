// api/result.h: the result object that all front ends share.
#pragma once

#include "api/execution.h"
#include "api/text.h"
#include "execution/execution_result.h"

#include <cstddef>
#include <string>

namespace hearth::api {

struct ResultOptions {
  bool with_streams = true;  // stdout, stderr and displays; false: they were sent as events
  std::size_t max_text_bytes = usual_max_text_bytes;
};

// One JSON object on one line, without a newline.
std::string result_json(const execution::ExecutionResult& result, const Execution& execution,
                        const ResultOptions& options = {});

}  // namespace hearth::api
