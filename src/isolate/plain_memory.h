// isolate/plain_memory.h: what a process keeps in memory of its own, as the kernel tells it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::isolate {

using Address = std::uintptr_t;

// Private, of no file, can be read and written, and nobody has asked for anything special.
struct PlainMemory {
  Address begin;
  Address end;
  std::size_t resident;
  std::size_t in_large_pages;

  std::size_t size() const { return end - begin; }
};

// How many there are, but for small ones and the stack; at most so many are told.
std::size_t find_plain_memory(PlainMemory* found, std::size_t most);

}  // namespace hearth::isolate
