#include "init/memory_kills.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>

namespace hearth::init {

MemoryKills::MemoryKills(const std::string& cgroup_directory) {
  for (const char* name : {"/memory.events", "/memory/memory.oom_control"}) {
    file_ = os::UniqueFd(::open((cgroup_directory + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (file_) return;
  }
}

std::uint64_t MemoryKills::of_kernel() const {
  if (!file_) return 0;
  std::array<char, 1024> text{};
  const ssize_t size = ::pread(file_.get(), text.data(), text.size(), 0);
  return size <= 0 ? 0 : oom_kills_in({text.data(), static_cast<std::size_t>(size)});
}

std::uint64_t oom_kills_in(std::string_view text) {
  constexpr std::string_view key = "oom_kill ";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key)) continue;
    std::uint64_t value = 0;
    std::from_chars(line.data() + key.size(), line.data() + line.size(), value);
    return value;
  }
  return 0;
}

}  // namespace hearth::init
