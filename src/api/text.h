// api/text.h: `text` of a result: what a language model should read of it, bounded and never empty.
// A script can print the bracketed notes too: programs read the verdict.
#pragma once

#include "api/execution.h"
#include "execution/execution_result.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace hearth::api {

inline constexpr std::size_t usual_max_text_bytes = 20'000;

struct Text {
  std::string text;
  std::uint64_t left_out_bytes = 0;
};

Text text_of(const execution::ExecutionResult& result, const Execution& execution,
             std::size_t max_bytes = usual_max_text_bytes);

// "34 kB", as people read sizes.
std::string size_in_words(std::uint64_t bytes);

}  // namespace hearth::api
