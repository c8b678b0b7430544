#include "os/trusted_path.h"

#include "os/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <deque>
#include <sstream>
#include <utility>

namespace hearth::os {
namespace {

namespace fs = std::filesystem;

constexpr mode_t others_open = S_IRWXG | S_IRWXO;

std::string name_of(uid_t uid) { return uid == 0 ? "root" : std::to_string(uid); }

struct stat facts_of(const UniqueFd& file, const std::string& step) {
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) throw OsError(step);
  return facts;
}

bool is_in_proc(const UniqueFd& file) {
  struct statfs facts{};
  return ::fstatfs(file.get(), &facts) == 0 && facts.f_type == PROC_SUPER_MAGIC;
}

bool is_own_group(const struct stat& facts, const User& user) {
  return user.uid != 0 && facts.st_gid == user.gid;
}

bool others_can_write(const struct stat& facts, const User& user) {
  return (facts.st_mode & (S_IWOTH | (is_own_group(facts, user) ? 0 : S_IWGRP))) != 0;
}

enum class Trusted {
  links,       // only the symbolic links that are followed
  way,         // also the directories that are passed: no other user can exchange a name
  everything,  // also the target
};

// From / to a path, one name after the other, with a look at the owner of everything that is
// passed.
class Walk {
 public:
  Walk(const fs::path& path, std::string step, Trusted trusted)
      : step_(std::move(step)), trusted_(trusted) {
    put_first(fs::absolute(path));
    enter(open_at(AT_FDCWD, "/", O_DIRECTORY), "/");
    while (!left_.empty() && !is_missing_) advance();
  }

  // Without symbolic links. From a name that is missing on, as it was written.
  fs::path path() const {
    fs::path whole = at_;
    for (const std::string& name : left_) whole /= name;
    return whole;
  }

  UniqueFd open(int flags) const {
    const bool is_directory = S_ISDIR(facts_.st_mode);
    const int links = follows_ || is_directory ? 0 : O_NOFOLLOW;
    // Without it, a FIFO is opened when a writer comes. Of a pipe that was given, one will.
    const int waiting = follows_ ? 0 : O_NONBLOCK;
    UniqueFd file(::openat(is_directory ? here_.get() : parent_.get(),
                           is_directory ? "." : name_.c_str(),
                           flags | links | waiting | O_CLOEXEC));
    if (!file) throw OsError(step_);
    if (!follows_) require_content(file);
    return file;
  }

  UniqueFd open_directory(int flags) const {
    if (is_missing_) throw OsError(step_, ENOENT);
    return open(flags | O_DIRECTORY);
  }

 private:
  void require_content(const UniqueFd& file) const {
    const mode_t mode = facts_of(file, step_).st_mode;
    if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISCHR(mode))
      throw Error(step_ + ": it is no regular file");
  }

  UniqueFd open_at(int directory, const char* name, int flags) const {
    UniqueFd file(::openat(directory, name, O_PATH | O_CLOEXEC | flags));
    if (!file) throw OsError(step_);
    return file;
  }

  void put_first(const fs::path& path) {
    std::deque<std::string> names;
    for (const fs::path& name : path.relative_path())
      if (!name.empty() && name != ".") names.push_back(name.string());
    left_.insert(left_.begin(), names.begin(), names.end());
  }

  void advance() {
    if (!S_ISDIR(facts_.st_mode)) throw OsError(step_, ENOTDIR);
    name_ = std::move(left_.front());
    left_.pop_front();
    follows_ = false;
    if (name_ == "..") {
      enter(open_at(here_.get(), "..", O_DIRECTORY), at_.parent_path());
      return;
    }
    UniqueFd next(::openat(here_.get(), name_.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    if (!next && errno == ENOENT && trusted_ != Trusted::everything) return stop_at_missing();
    if (!next) throw OsError(step_);
    const struct stat facts = facts_of(next, step_);
    if (!S_ISLNK(facts.st_mode)) {
      enter(std::move(next), at_ / name_);
    } else {
      follow(next, facts);
    }
  }

  // Only the path is wanted. Where others can create what is missing, it would not stay true.
  void stop_at_missing() {
    left_.push_front(std::move(name_));
    is_missing_ = true;
    if (trusted_ == Trusted::way) check(at_, facts_, PathRole::target);
  }

  void follow(const UniqueFd& link, const struct stat& facts) {
    check(at_ / name_, facts, PathRole::on_the_way);
    // The links of processes lead to files without their names.
    if (is_in_proc(here_)) {
      if (trusted_ != Trusted::everything)
        throw UntrustedPath(at_ / name_, "it is a link of the kernel, which leads to no name",
                            "name what it leads to");
      follows_ = true;
      enter(open_at(here_.get(), name_.c_str(), 0), at_ / name_);
      return;
    }
    constexpr int most_links = 40;  // as the kernel
    if (++links_ > most_links) throw OsError(step_, ELOOP);
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (size < 0) throw OsError(step_);
    const fs::path to(std::string(target.data(), static_cast<std::size_t>(size)));
    put_first(to);
    if (to.is_absolute()) enter(open_at(AT_FDCWD, "/", O_DIRECTORY), "/");
  }

  void enter(UniqueFd next, fs::path at) {
    parent_ = std::exchange(here_, std::move(next));
    at_ = std::move(at);
    const struct stat above = std::exchange(facts_, facts_of(here_, step_));
    const bool is_target = left_.empty();
    if (trusted_ == Trusted::links) return;
    if (trusted_ == Trusted::way && is_target) return check_name(above);
    const bool is_given = follows_ && !S_ISDIR(facts_.st_mode) && !S_ISREG(facts_.st_mode);
    if (!is_given) check(at_, facts_, is_target ? PathRole::target : PathRole::on_the_way);
  }

  // A target may be any user's, unless that user can exchange it: a sticky directory lets the
  // owner.
  void check_name(const struct stat& above) const {
    struct stat owner = facts_;
    owner.st_mode &= S_IFMT;
    if (others_can_write(above, effective_user())) check(at_, owner, PathRole::target);
  }

  static void check(const fs::path& path, const struct stat& facts, PathRole role) {
    if (auto reason = distrust_of(path, facts, effective_user(), role))
      throw UntrustedPath(*reason);
  }

  std::string step_;
  Trusted trusted_;
  std::deque<std::string> left_;
  UniqueFd parent_;
  UniqueFd here_;
  fs::path at_;       // of `here_`
  std::string name_;  // of `here_` in `parent_`
  struct stat facts_{};
  bool follows_ = false;     // `name_` is a link to `here_`
  bool is_missing_ = false;  // the first of `left_`
  int links_ = 0;
};

UniqueFd open_for(const fs::path& path, int flags, const char* step) {
  return Walk(path, step + path.string(), Trusted::everything).open(flags);
}

bool is_there(const fs::path& directory) try {
  open_for(directory, O_PATH | O_DIRECTORY, "create ");
  return true;
} catch (const OsError& error) {
  if (error.code != ENOENT) throw;
  return false;
}

}  // namespace

UntrustedPath::UntrustedPath(fs::path where, const std::string& problem, const std::string& remedy)
    : Error(fmt::format("trust {}: {}. If what is there is good: {}", where.string(), problem,
                        remedy)),
      path(std::move(where)) {}

User effective_user() { return {::geteuid(), ::getegid()}; }

std::optional<UntrustedPath> distrust_of(const fs::path& path, const struct stat& facts,
                                         const User& user, PathRole role) {
  if (facts.st_uid != 0 && facts.st_uid != user.uid) {
    const std::string trusted = user.uid == 0 ? "root" : "root or user " + name_of(user.uid);
    const std::string problem =
        fmt::format("it belongs to user {}, not to {}", facts.st_uid, trusted);
    // A directory that is passed may be a person's home, and hold much more than what is meant.
    if (S_ISDIR(facts.st_mode) && role == PathRole::on_the_way)
      return UntrustedPath(path, problem, "copy what is needed to a directory of " + trusted);
    return UntrustedPath(path, problem,
                         fmt::format("chown {}{} {}", S_ISLNK(facts.st_mode) ? "-h " : "",
                                     name_of(user.uid), path.string()));
  }
  // What is written to a device does not come back as its content.
  if (S_ISLNK(facts.st_mode) || S_ISCHR(facts.st_mode)) return std::nullopt;
  if (!others_can_write(facts, user)) return std::nullopt;
  const bool is_sticky = S_ISDIR(facts.st_mode) && (facts.st_mode & S_ISVTX) != 0;
  if (is_sticky && role == PathRole::on_the_way) return std::nullopt;
  return UntrustedPath(
      path, fmt::format("other users can write it (mode {:04o})", facts.st_mode & 07777),
      fmt::format("chmod {}-w {}", is_own_group(facts, user) ? "o" : "go", path.string()));
}

UniqueFd open_trusted(const fs::path& path, int flags) { return open_for(path, flags, "open "); }

void require_trusted(const fs::path& path) {
  const Walk walk(path, "open " + path.string(), Trusted::everything);
}

fs::path resolve_trusted_links(const fs::path& path) {
  return Walk(path, "open " + path.string(), Trusted::links).path();
}

fs::path resolve_trusted_way(const fs::path& path) {
  return Walk(path, "open " + path.string(), Trusted::way).path();
}

UniqueFd open_named_directory(const fs::path& path) {
  const std::string step = "open " + path.string();
  const fs::path above = path.has_parent_path() ? path.parent_path() : ".";
  const Walk walk(above, step, Trusted::links);
  if (path.filename().empty()) return walk.open_directory(O_RDONLY);
  const UniqueFd parent = walk.open_directory(O_PATH);
  UniqueFd directory(::openat(parent.get(), path.filename().c_str(),
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory) return directory;
  const int failure = errno;
  struct stat facts{};
  if (::fstatat(parent.get(), path.filename().c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(facts.st_mode))
    throw Error(path.string() + " is a link; " + path.string() +
                "/ would be the directory that it leads to");
  throw OsError(step, failure);
}

void require_trusted_files(const fs::path& directory) {
  const UniqueFd opened = open_for(directory, O_PATH | O_DIRECTORY, "open ");
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed)) {
    struct stat facts{};
    const fs::path name = entry.path().filename();
    if (::fstatat(opened.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
      throw OsError("look at " + entry.path().string());
    const bool has_content =
        S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode) || S_ISLNK(facts.st_mode);
    if (!has_content) continue;
    if (auto reason = distrust_of(entry.path(), facts, effective_user(), PathRole::target))
      throw UntrustedPath(*reason);
    if (S_ISLNK(facts.st_mode)) require_trusted(entry.path());
  }
  if (failed) throw OsError("read " + directory.string(), failed.value());
}

std::string read_trusted_file(const fs::path& path, std::size_t max_bytes) {
  const UniqueFd file = open_for(path, O_RDONLY | O_NOCTTY, "read ");
  return read_rest(file.get(), path.string(), max_bytes);
}

void make_trusted_directory(const fs::path& path, mode_t mode) {
  const fs::path place = fs::absolute(path).lexically_normal();
  if (is_there(place)) return;
  const bool ends_in_slash = place.filename().empty();
  const fs::path parent = ends_in_slash ? place.parent_path().parent_path() : place.parent_path();
  const fs::path name = ends_in_slash ? place.parent_path().filename() : place.filename();
  make_trusted_directory(parent, 0755);
  const UniqueFd above = open_trusted(parent, O_PATH | O_DIRECTORY);
  const std::string step = "create " + path.string();
  if (::mkdirat(above.get(), name.c_str(), mode) == 0) {
    // Whatever the umask is.
    if (::fchmodat(above.get(), name.c_str(), mode, 0) != 0) throw OsError(step);
  } else if (errno != EEXIST) {
    throw OsError(step);
  }
  require_trusted(place);
}

void make_private_directory(const fs::path& path) {
  make_trusted_directory(path, 0700);
  const UniqueFd directory = open_trusted(path, O_RDONLY | O_DIRECTORY);
  const struct stat facts = facts_of(directory, "open " + path.string());
  if ((facts.st_mode & others_open) == 0) return;
  if (::fchmod(directory.get(), 0700) != 0)
    throw UntrustedPath(path, "other users can open what is in it", "chmod go= " + path.string());
}

std::optional<UntrustedPath> distrust_of(const fs::path& path) try {
  require_trusted(path);
  return std::nullopt;
} catch (const UntrustedPath& reason) {
  return reason;
} catch (const OsError& error) {
  // Gone for a moment is what another user makes of a path it exchanges.
  return UntrustedPath(path, std::string("it cannot be looked at: ") + error.what(), {});
}

std::optional<UntrustedPath> distrust_of_found_program(const fs::path& program) {
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed);
  if (failed) return std::nullopt;
  for (const fs::path& path : {program.parent_path(), real.parent_path(), real}) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IWOTH) != 0)
      return UntrustedPath(path, "every user can write it", "chmod o-w " + path.string());
  }
  return std::nullopt;
}

namespace {

// Where the Python of a virtual environment has its library, if its program is a copy:
// `home = /usr/bin`. A relative one is meant from where that Python is asked.
fs::path home_of(const fs::path& settings) {
  constexpr std::size_t most_bytes = std::size_t{64} << 10;
  constexpr const char* blank = " \t\r";
  const auto trimmed = [](const std::string& text) {
    const std::size_t begin = text.find_first_not_of(blank);
    return begin == std::string::npos
               ? std::string()
               : text.substr(begin, text.find_last_not_of(blank) - begin + 1);
  };
  std::istringstream lines(read_trusted_file(settings, most_bytes));
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t equals = line.find('=');
        equals != std::string::npos && trimmed(line.substr(0, equals)) == "home")
      return fs::path("/") / trimmed(line.substr(equals + 1));
  return {};
}

// Python looks for its library from there upwards.
void require_trusted_library(const fs::path& home) {
  require_trusted(home);
  for (fs::path above = home; above.has_relative_path(); above = above.parent_path())
    for (const char* place : {"lib", "lib64"}) {
      std::error_code failed;
      for (const auto& entry : fs::directory_iterator(above.parent_path() / place, failed)) {
        if (!entry.path().filename().string().starts_with("python3")) continue;
        require_trusted(entry.path());
        if (entry.is_directory(failed)) require_trusted_files(entry.path());
      }
    }
}

std::optional<UntrustedPath> distrust_of_settings(const fs::path& settings) try {
  if (const fs::path home = home_of(settings); !home.empty()) require_trusted_library(home);
  return std::nullopt;
} catch (const UntrustedPath& reason) {
  return reason;
} catch (const Error& error) {
  return UntrustedPath(settings, error.what(), "make the virtual environment again");
}

}  // namespace

std::optional<UntrustedPath> distrust_of_python(const fs::path& program) {
  if (::geteuid() != 0) return std::nullopt;
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed);
  for (const fs::path& executable : {fs::absolute(program), real}) {
    if (auto reason = distrust_of(executable)) return reason;
    const fs::path beside = executable.parent_path();
    for (const fs::path& directory : {beside, beside.parent_path()}) {
      if (auto reason = distrust_of(directory)) return reason;
      const fs::path settings = directory / "pyvenv.cfg";
      if (!fs::exists(fs::symlink_status(settings, failed))) continue;
      if (auto reason = distrust_of_settings(settings)) return reason;
    }
  }
  return std::nullopt;
}

std::optional<fs::path> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream entries(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string entry; std::getline(entries, entry, ':');) {
    fs::path program = fs::path(entry) / name;
    if (program.is_absolute() && ::access(program.c_str(), X_OK) == 0 &&
        !distrust_of_found_program(program) && !distrust_of_python(program))
      return program;
  }
  return std::nullopt;
}

}  // namespace hearth::os
