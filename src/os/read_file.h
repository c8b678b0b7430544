// os/read_file.h: a whole file in memory, if it is not larger than its reader expects.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace hearth::os {

// OsError when it cannot be read, Error when it is larger than `max_bytes`; both name the file.
// Pipes and devices are fine; the limit holds for them too.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

// The same of an open file from where it stands; `name` is for the message.
std::string read_rest(int fd, const std::string& name, std::size_t max_bytes);

}  // namespace hearth::os
