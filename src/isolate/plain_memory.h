// isolate/plain_memory.h: finds the private memory of this process in /proc/self/smaps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::isolate {

using Address = std::uintptr_t;

// Private, without a file, readable and writable, and without any special advice to the kernel.
struct PlainMemory {
  Address begin;
  Address end;
  std::size_t resident;
  std::size_t in_large_pages;

  std::size_t size() const { return end - begin; }
};

// Writes at most `capacity` regions and returns their number. Leaves out small ones and the stack.
std::size_t find_plain_memory(PlainMemory* found, std::size_t capacity);
// The same for another file of this format.
std::size_t find_plain_memory_in(const char* smaps, PlainMemory* found, std::size_t capacity);

}  // namespace hearth::isolate
