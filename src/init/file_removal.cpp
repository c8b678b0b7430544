#include "init/file_removal.h"

#include "init/limits.h"

#include <fcntl.h>
#include <unistd.h>

namespace hearth::init {

FileRemoval::FileRemoval(StreamPort& port, const std::string& root, const wire::RemoveFile& call)
    : FileWork(port, "cannot remove " + call.path),
      place_(find_place(root, call.path, MissingDirectories::are_errors)) {
  const int directory = place_.directory.get();
  const char* name = place_.name.c_str();
  if (place_.name == ".") throw failure_of(EINVAL);
  if (::unlinkat(directory, name, 0) == 0) {
    done(port);
    return;
  }
  if (errno != EISDIR) throw failure_of(errno);
  // Also refuses a mount, before anything in it is gone.
  if (::unlinkat(directory, name, AT_REMOVEDIR) == 0) {
    done(port);
    return;
  }
  if (errno != ENOTEMPTY || !call.recursive) throw failure_of(errno);
  tree_.emplace(directory, name);
}

void FileRemoval::work() {
  if (!tree_->advance(entries_per_slice)) return;
  if (!tree_->failures().empty())
    throw FileFailure(wire::FileProblem::permission, tree_->failures().front());
  if (::unlinkat(place_.directory.get(), place_.name.c_str(), AT_REMOVEDIR) != 0)
    throw failure_of(errno);
  done(port());
}

}  // namespace hearth::init
