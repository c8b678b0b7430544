#include "init/clean_up.h"

#include "base/error.h"
#include "init/user_list.h"
#include "init/wipe.h"

#include <sys/stat.h>

namespace hearth::init {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0700;
}

}  // namespace

CleanUp::CleanUp(const Options& options) : passwd_(options.passwd) {
  for (const std::string& path : options.wiped_directories) wiped_.push_back({path, mode_of(path)});
  if (passwd_) wiped_.push_back({passwd_->directory, mode_of(passwd_->directory)});
}

std::string CleanUp::run() const try {
  std::string problems;
  const auto note = [&problems](const std::string& problem) {
    if (!problem.empty()) problems += (problems.empty() ? "" : "; ") + problem;
  };
  for (const WipedDirectory& directory : wiped_)
    for (const std::string& failure : wipe_directory(directory.path, directory.mode)) note(failure);
  if (passwd_) write_user_list(*passwd_);
  remove_ipc_objects();
  if (network_) note(network_->found());
  return problems;
} catch (const OsError& error) {
  return error.what();
}

}  // namespace hearth::init
