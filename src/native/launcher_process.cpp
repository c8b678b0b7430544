#include "native/launcher_process.h"

#include "base/error.h"
#include "os/unique_fd.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

namespace hearth::native {
namespace {

// dup2 onto itself would leave the close-on-exec mark, so everything first moves out of the way.
os::UniqueFd moved_up(int fd) {
  os::UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 16));
  if (!copy) throw OsError("duplicate a descriptor");
  return copy;
}

class FileActions {
 public:
  explicit FileActions(const std::vector<PlacedFd>& fds) {
    for (const PlacedFd& one : fds) copies_.push_back(moved_up(one.fd));
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDWR, 0);
    for (std::size_t i = 0; i < fds.size(); ++i)
      ::posix_spawn_file_actions_adddup2(&actions_, copies_[i].get(), fds[i].place);
  }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  std::vector<os::UniqueFd> copies_;
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

pid_t start_launcher(const std::filesystem::path& launcher, std::vector<std::string> arguments,
                     const std::vector<PlacedFd>& fds) {
  const FileActions actions(fds);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);

  std::string program = launcher.string();
  std::vector<char*> words{program.data()};
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  char* no_environment = nullptr;
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), actions.get(), &attributes, words.data(),
                                  &no_environment);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw OsError("start " + program, error);
  return pid;
}

}  // namespace hearth::native
