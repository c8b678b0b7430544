#include "init/file_reading.h"

#include "files/file_status.h"
#include "init/file_place.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace hearth::init {

using wire::FileProblem;

FileReading::FileReading(StreamPort& port, const std::string& root, const wire::ReadFile& call)
    : FileWork(port, "cannot read " + call.path) {
  const FilePlace place = find_place(root, call.path, MissingDirectories::are_errors);
  file_ = files::open_regular(place.directory.get(), place.name.c_str());
  if (::fstat(file_.get(), &as_opened_) != 0) throw failure_of(errno);
  const auto size = static_cast<std::uint64_t>(as_opened_.st_size);
  at_ = std::min(call.offset, size);
  end_ = at_ + std::min(call.length.value_or(size), size - at_);
  answer(port, files::entry_of(call.path, as_opened_, place.directory.get(), place.name.c_str()));
}

void FileReading::work() {
  if (at_ == end_) return finish_unchanged();
  std::array<char, wire::max_frame_bytes> buffer;  // NOLINT: filled by pread
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(port().room(), end_ - at_));
  const ssize_t got = ::pread(file_.get(), buffer.data(), wanted, static_cast<off_t>(at_));
  if (got < 0) throw failure_of(errno);
  if (got == 0) throw FileFailure(FileProblem::changed, "it was changed meanwhile");
  port().send_data({buffer.data(), static_cast<std::size_t>(got)});
  at_ += static_cast<std::uint64_t>(got);
  if (at_ == end_) finish_unchanged();
}

void FileReading::finish_unchanged() {
  struct stat now{};
  if (::fstat(file_.get(), &now) != 0) throw failure_of(errno);
  if (files::is_changed(as_opened_, now))
    throw FileFailure(FileProblem::changed, "it was changed meanwhile");
  done(port());
}

}  // namespace hearth::init
