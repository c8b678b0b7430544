#include "files/file_failure.h"

#include <cstring>

namespace hearth::files {
namespace {

using wire::FileProblem;

FileProblem problem_of(int code) {
  switch (code) {
    case ENOENT:
      return FileProblem::not_found;
    case EISDIR:
      return FileProblem::is_directory;
    case ENOTDIR:
      return FileProblem::not_directory;
    case ENOTEMPTY:
      return FileProblem::not_empty;
    case EEXIST:
      return FileProblem::exists;
    case EACCES:
    case EPERM:
    case EROFS:
      return FileProblem::permission;
    case EFBIG:
      return FileProblem::too_large;
    case ENOSPC:
    case EDQUOT:
      return FileProblem::no_space;
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG:
      return FileProblem::invalid_path;
    default:
      return FileProblem::failed;
  }
}

}  // namespace

FileFailure failure_of(int code, const std::string& place) {
  const std::string why = std::strerror(code);
  return {problem_of(code), place.empty() ? why : place + ": " + why};
}

}  // namespace hearth::files
