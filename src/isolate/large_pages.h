// isolate/large_pages.h: moves Python's code and data into pages of two megabytes. `[native]
// large_pages = "off"` switches it off.
//
// A worker maps the pages of a file one by one as it needs them, about sixty times in a short
// script. Pages of the moved code are mapped from the start. And fork and exit handle hundreds of
// small pages of data at once if these are parts of a large one.
#pragma once

namespace hearth::isolate {

// Both are called once, in the zygote. They change nothing if the kernel has no such pages.

// The program or library that contains this function, as far as it fills large pages.
void put_code_into_large_pages(const void* code);
// Private memory. The process must have no other thread.
void put_data_into_large_pages();

}  // namespace hearth::isolate
