#include "init/socket_watch.h"

#include "base/error.h"
#include "os/read_file.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace hearth::init {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 10;

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t size = text.find(end);
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
  return taken;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return take_until(line, ' ');
}

std::uint64_t number_in(std::string_view word) {
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

// "sockets: used 12"
std::uint64_t all_sockets_in(std::string_view sockstat) {
  std::string_view line = take_until(sockstat, '\n');
  if (take_word(line) != "sockets:" || take_word(line) != "used") return 0;
  return number_in(take_word(line));
}

// "UNIX 1088 12 ...": name, size of one, number. Those of streams may have a line of their own.
std::uint64_t unix_sockets_in(std::string_view protocols) {
  std::uint64_t found = 0;
  while (!protocols.empty()) {
    std::string_view line = take_until(protocols, '\n');
    if (!take_word(line).starts_with("UNIX")) continue;
    take_word(line);
    found += number_in(take_word(line));
  }
  return found;
}

}  // namespace

std::uint64_t internet_sockets_in(std::string_view sockstat, std::string_view protocols) {
  const std::uint64_t all = all_sockets_in(sockstat);
  return all - std::min(all, unix_sockets_in(protocols));
}

bool SocketWatch::finds_too_many(Clock::time_point now, bool is_anything_running) try {
  if (!is_anything_running) {
    next_look_ = Clock::time_point::max();
    return false;
  }
  const bool is_first = next_look_ == Clock::time_point::max();
  if (!is_first && now < next_look_) return false;
  next_look_ = now + socket_check_interval;
  if (is_first) return false;
  const std::string sockstat = os::read_file("/proc/self/net/sockstat", most_bytes);
  if (all_sockets_in(sockstat) <= max_internet_sockets) return false;
  const std::string protocols = os::read_file("/proc/self/net/protocols", most_bytes);
  if (internet_sockets_in(sockstat, protocols) <= max_internet_sockets) return false;
  next_look_ = now + socket_kill_patience;
  return true;
} catch (const OsError&) {
  return false;  // a kernel of its own shows no such files, and counts what it has
}

}  // namespace hearth::init
