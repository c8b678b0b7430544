// wire/file_path.h: which names of a file in a sandbox a request may carry. Both sides ask: the
// sandbox because it is strict, the host because it can say so before the first byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::wire {

inline constexpr std::size_t max_path_bytes = 4096;

// What is wrong with `path`, as the end of a sentence about it; empty if it is ".", "/", or
// proper components of at most 255 bytes, relative or absolute. Any bytes but NUL.
std::string problem_of_file_path(std::string_view path);

// The same for the path of an entry of a tree, which is relative and not "." itself.
std::string problem_of_tree_path(std::string_view path);

}  // namespace hearth::wire
