#include "builder/adopt_tree.h"

#include "os/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;

constexpr int open_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

// In a package's path, every byte but this is allowed by the kernel; the terminal's are not ours to
// pass on.
std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return text;
}

class Adoption {
 public:
  explicit Adoption(const AdoptLimits& limits) : limits_(limits) {}

  // Both are descriptors of directories.
  void copy_directory(int from, int to, const std::string& path, std::size_t depth) {
    if (depth > limits_.depth) refuse(path, "is nested too deeply");
    for (const std::string& name : names_in(from, path)) {
      const std::string inner = path.empty() ? name : path + '/' + name;
      struct stat facts{};
      if (::fstatat(from, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
        throw OsError("look at " + printable(inner));
      if (S_ISDIR(facts.st_mode)) {
        enter(from, to, name, inner, depth);
      } else if (S_ISREG(facts.st_mode)) {
        copy_file(from, to, name, inner);
      } else {
        refuse(inner, S_ISLNK(facts.st_mode) ? "is a link" : "is neither a file nor a directory");
      }
    }
  }

 private:
  using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

  std::vector<std::string> names_in(int directory, const std::string& path) {
    const int own = ::openat(directory, ".", open_flags | O_DIRECTORY);
    const Directory stream(own < 0 ? nullptr : ::fdopendir(own), ::closedir);
    if (!stream) throw OsError("read the directory " + printable(path));
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++entries_ > limits_.entries) throw CannotAdopt("there are too many files");
      names.emplace_back(name);
    }
    return names;
  }

  void enter(int from, int to, const std::string& name, const std::string& path,
             std::size_t depth) {
    const os::UniqueFd source(::openat(from, name.c_str(), open_flags | O_DIRECTORY));
    if (!source) throw OsError("open " + printable(path));
    if (::mkdirat(to, name.c_str(), 0755) != 0) throw OsError("create " + printable(path));
    const os::UniqueFd target(::openat(to, name.c_str(), open_flags | O_DIRECTORY));
    if (!target || ::fchmod(target.get(), 0755) != 0) throw OsError("open " + printable(path));
    copy_directory(source.get(), target.get(), path, depth + 1);
  }

  void copy_file(int from, int to, const std::string& name, const std::string& path) {
    const os::UniqueFd source(::openat(from, name.c_str(), open_flags));
    struct stat facts{};
    if (!source || ::fstat(source.get(), &facts) != 0) throw OsError("open " + printable(path));
    if (!S_ISREG(facts.st_mode)) refuse(path, "is no file any more");
    const mode_t mode = (facts.st_mode & 0111) != 0 ? 0755 : 0644;
    const os::UniqueFd target(
        ::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!target || ::fchmod(target.get(), mode) != 0) throw OsError("create " + printable(path));
    copy_content(source.get(), target.get(), path);
  }

  void copy_content(int source, int target, const std::string& path) {
    while (true) {
      const ssize_t size = ::read(source, buffer_.data(), buffer_.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) throw OsError("read " + printable(path));
      if (size == 0) return;
      bytes_ += static_cast<std::uint64_t>(size);
      if (bytes_ > limits_.bytes) throw CannotAdopt("the files are too large together");
      if (std::chrono::steady_clock::now() > limits_.deadline)
        throw CannotAdopt("the time of the build is over");
      for (ssize_t at = 0; at < size;) {
        const ssize_t written =
            ::write(target, buffer_.data() + at, static_cast<std::size_t>(size - at));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw OsError("write " + printable(path));
        at += written;
      }
    }
  }

  [[noreturn]] static void refuse(const std::string& path, const char* why) {
    throw CannotAdopt(printable(path) + ' ' + why + ", which no package may hold");
  }

  AdoptLimits limits_;
  std::uint64_t bytes_ = 0;
  std::size_t entries_ = 0;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 18);
};

}  // namespace

void adopt_tree(const fs::path& from, const fs::path& to, const AdoptLimits& limits) {
  const os::UniqueFd source(::open(from.c_str(), open_flags | O_DIRECTORY));
  if (!source) throw OsError("open " + from.string());
  if (::mkdir(to.c_str(), 0755) != 0) throw OsError("create " + to.string());
  const os::UniqueFd target(::open(to.c_str(), open_flags | O_DIRECTORY));
  if (!target || ::fchmod(target.get(), 0755) != 0) throw OsError("open " + to.string());
  Adoption(limits).copy_directory(source.get(), target.get(), {}, 1);
}

}  // namespace hearth::builder
