#include "init/file_writing.h"

#include "base/id.h"
#include "files/file_status.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace hearth::init {

using wire::FileProblem;

FileWriting::FileWriting(StreamPort& port, const std::string& root, const wire::WriteFile& call)
    : FileWork(port, "cannot write " + call.path),
      path_(call.path),
      place_(find_place(root, call.path, MissingDirectories::are_made)) {
  struct stat there{};
  const int directory = place_.directory.get();
  if (::fstatat(directory, place_.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) {
    files::require_regular(there);
    mode_ = there.st_mode & 0777;
  } else if (errno != ENOENT) {
    throw failure_of(errno);
  }
  mode_ = call.mode.value_or(mode_);
  create();
}

void FileWriting::create() {
  temporary_name_ = ".hearth-" + random_id();
  file_ = os::UniqueFd(::openat(place_.directory.get(), temporary_name_.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file_) return;
  temporary_name_.clear();
  throw failure_of(errno);
}

FileWriting::~FileWriting() {
  if (!temporary_name_.empty()) ::unlinkat(place_.directory.get(), temporary_name_.c_str(), 0);
}

void FileWriting::write(std::string_view bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t put = ::write(file_.get(), rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw failure_of(errno);
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  port().note_taken(bytes.size());
}

void FileWriting::finish() {
  struct stat written{};
  struct stat named{};
  const int directory = place_.directory.get();
  if (::fchmod(file_.get(), mode_) != 0 || ::fstat(file_.get(), &written) != 0)
    throw failure_of(errno);
  // A script may have put another file in its place.
  if (::fstatat(directory, temporary_name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      named.st_ino != written.st_ino || named.st_dev != written.st_dev)
    throw FileFailure(FileProblem::changed, "it was changed meanwhile");
  if (::renameat(directory, temporary_name_.c_str(), directory, place_.name.c_str()) != 0)
    throw failure_of(errno);
  temporary_name_.clear();
  answer(port(), files::entry_of(path_, written, directory, place_.name.c_str()));
  done(port());
}

}  // namespace hearth::init
