#include "init/user_list.h"

#include "base/error.h"
#include "os/durable_files.h"
#include "os/read_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hearth::init {
namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 10;

// name:password:uid:rest
std::string numbered(std::string_view line, uid_t uid) {
  const std::size_t number = line.find(':', line.find(':') + 1) + 1;
  const std::size_t end = std::min(line.find(':', number), line.size());
  return std::string(line.substr(0, number)) + std::to_string(uid) + std::string(line.substr(end));
}

}  // namespace

std::string with_sandbox_uid(std::string_view passwd, uid_t uid) {
  std::string result;
  while (!passwd.empty()) {
    const std::string_view line = passwd.substr(0, passwd.find('\n'));
    passwd.remove_prefix(std::min(line.size() + 1, passwd.size()));
    result += line.starts_with("sandbox:x:") ? numbered(line, uid) : std::string(line);
    result += '\n';
  }
  return result;
}

void write_user_list(const Options::Passwd& passwd) {
  const std::string to = passwd.directory + "/passwd";
  const std::string text = with_sandbox_uid(os::read_file(passwd.source, most_bytes), ::geteuid());
  if (::unlink(to.c_str()) != 0 && errno != ENOENT) throw OsError("remove " + to);
  os::write_new_file(to, text, 0644);
}

}  // namespace hearth::init
