#include "init/tree_writing.h"

#include "files/directory_walk.h"
#include "init/file_place.h"
#include "init/limits.h"
#include "wire/protocol_error.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace hearth::init {
namespace {

os::UniqueFd made_top(const std::string& root, const std::string& path) {
  const FilePlace place = find_place(root, path, MissingDirectories::are_made);
  const int directory = place.directory.get();
  const char* name = place.name.c_str();
  make_missing(directory, place.name);
  if (S_ISLNK(status_of(place).st_mode)) throw failure_of(ELOOP);
  os::UniqueFd top = files::open_directory(directory, name);
  if (!top) throw failure_of(errno);
  return top;
}

}  // namespace

TreeWriting::TreeWriting(StreamPort& port, const std::string& root, const wire::WriteTree& call)
    : FileWork(port, "cannot write the tree " + call.path),
      tree_(made_top(root, call.path), files::TreeRules::into_sandbox) {}

void TreeWriting::write(std::string_view bytes) {
  stream_.append(bytes);
  waiting_ += bytes.size();
  has_more_ = true;
}

void TreeWriting::work() try {
  for (std::size_t pieces = 0; pieces < entries_per_slice; ++pieces) {
    const std::optional<wire::TreeStreamReader::Piece> piece = stream_.next();
    if (!piece) {
      has_more_ = false;
      port().note_taken(std::exchange(waiting_, 0));
      break;
    }
    if (piece->entry) {
      tree_.begin(*piece->entry);
    } else {
      tree_.data(piece->bytes);
    }
  }
  if (has_more_ || !has_ended_) return;
  if (!stream_.is_whole())
    throw FileFailure(wire::FileProblem::failed, "the data end inside of an entry");
  tree_.finish();
  done(port());
} catch (const wire::ProtocolError& error) {
  throw FileFailure(wire::FileProblem::invalid_path, error.what());
}

}  // namespace hearth::init
