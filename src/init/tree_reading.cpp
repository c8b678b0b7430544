#include "init/tree_reading.h"

#include "files/file_status.h"
#include "init/file_place.h"
#include "init/limits.h"
#include "wire/tree_stream.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hearth::init {
namespace {

os::UniqueFd top_of(StreamPort& port, const std::string& root, const std::string& path) {
  const FilePlace place = find_place(root, path, MissingDirectories::are_errors);
  const struct stat status = status_of(place);
  if (S_ISLNK(status.st_mode)) throw failure_of(ELOOP);
  os::UniqueFd top = files::open_directory(place.directory.get(), place.name.c_str());
  if (!top) throw failure_of(errno);
  FileWork::answer(port, files::entry_of(path, status, -1, nullptr));
  return top;
}

}  // namespace

TreeReading::TreeReading(StreamPort& port, const std::string& root, const wire::ReadTree& call)
    : FileWork(port, "cannot read the tree " + call.path),
      call_(call),
      tree_(top_of(port, root, call.path), files::ClosedFiles::are_opened) {}

void TreeReading::work() {
  if (sent_ == gathered_.size() && !is_over_) gather();
  const std::size_t size = std::min(port().room(), gathered_.size() - sent_);
  if (size > 0) port().send_data(std::string_view(gathered_).substr(sent_, size));
  sent_ += size;
  if (is_over_ && sent_ == gathered_.size()) done(port());
}

void TreeReading::gather() {
  gathered_.clear();
  sent_ = 0;
  for (std::size_t entries = 0; entries < entries_per_slice;) {
    if (gathered_.size() >= wire::max_frame_bytes) return;
    if (file_left_ > 0) {
      read_more();
      continue;
    }
    std::optional<wire::FileEntry> entry = tree_.next();
    is_over_ = !entry.has_value();
    if (is_over_) return;
    add(*std::move(entry));
    ++entries;
  }
}

void TreeReading::read_more() {
  const std::size_t before = gathered_.size();
  const std::uint64_t wanted = std::min<std::uint64_t>(file_left_, wire::max_frame_bytes - before);
  gathered_.resize(before + static_cast<std::size_t>(wanted));
  const std::size_t got = tree_.read({gathered_.data() + before, gathered_.size() - before});
  gathered_.resize(before + got);
  file_left_ -= got;
}

void TreeReading::add(wire::FileEntry entry) {
  if (call_.max_entries == 0)
    throw FileFailure(wire::FileProblem::too_large, "it has more entries than were asked for");
  --call_.max_entries;
  file_left_ = entry.kind == wire::FileKind::file ? entry.size_bytes : 0;
  if (file_left_ > call_.max_bytes)
    throw FileFailure(wire::FileProblem::too_large,
                      entry.path + ": the files have more bytes than were asked for");
  call_.max_bytes -= file_left_;
  wire::append_tree_line(gathered_, entry);
}

}  // namespace hearth::init
