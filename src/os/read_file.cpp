#include "os/read_file.h"

#include "base/error.h"
#include "os/unique_fd.h"

#include <fcntl.h>

#include <array>

namespace hearth::os {

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) throw OsError("read " + path.string());
  return read_rest(file.get(), path.string(), max_bytes);
}

std::string read_rest(int fd, const std::string& name, std::size_t max_bytes) {
  const std::string step = "read " + name;
  std::string content;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw OsError(step);
    if (size == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(size));
    if (content.size() > max_bytes)
      throw Error(step + ": larger than " + std::to_string(max_bytes) + " bytes");
  }
}

}  // namespace hearth::os
