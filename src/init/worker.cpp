#include "init/worker.h"

#include "base/error.h"
#include "init/limits.h"
#include "init/nonblocking_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace hearth::init {
namespace {

// A script that floods its records must not keep init from its clock.
constexpr int max_emit_chunks_per_pump = 4;
constexpr int max_rounds_per_pump = 8;

void make_pipe(os::UniqueFd& read_end, os::UniqueFd& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw OsError("create a pipe");
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
}

}  // namespace

Worker Worker::create(FarEnds& far_ends) {
  Worker worker;
  make_pipe(worker.stdout_, far_ends.stdout_write);
  make_pipe(worker.stderr_, far_ends.stderr_write);
  make_pipe(worker.emit_, far_ends.emit_write);
  make_pipe(far_ends.run_read, worker.run_);
  worker.make_our_ends_nonblocking();
  return worker;
}

Worker Worker::adopt(const std::array<int, 4>& near_ends) {
  Worker worker;
  worker.stdout_.reset(near_ends[0]);
  worker.stderr_.reset(near_ends[1]);
  worker.emit_.reset(near_ends[2]);
  worker.run_.reset(near_ends[3]);
  worker.make_our_ends_nonblocking();
  return worker;
}

// Only ours: what the script sees of its pipes behaves like any other.
void Worker::make_our_ends_nonblocking() const {
  for (const int fd : {stdout_fd(), stderr_fd(), emit_fd(), run_fd()}) make_nonblocking(fd);
}

bool Worker::pump(OutputSink& sink, bool may_have_text) {
  bool progress = false;
  // Once is enough but for text that came while we looked. The last round takes no more, so that
  // none stays behind.
  for (int round = 1; round <= max_rounds_per_pump; ++round) {
    // Text first, marks after: see OrderedOutput::deliver.
    if (round > 1 || may_have_text) progress = read_texts() || progress;
    const bool emptied = read_records(progress);
    const bool is_last = round == max_rounds_per_pump;
    if (!output_.deliver(sink, emptied, [&] { return !is_last && read_texts(); })) break;
  }
  return progress;
}

bool Worker::read_texts() {
  const bool printed = read_text(stdout_, Stream::out);
  return read_text(stderr_, Stream::err) || printed;
}

// Whether the emit pipe was emptied.
bool Worker::read_records(bool& progress) {
  std::array<char, read_chunk_bytes> chunk;  // NOLINT: filled by read
  bool emptied = !emit_;
  for (int i = 0; i < max_emit_chunks_per_pump && !emptied; ++i) {
    const ReadResult result = read_available(emit_.get(), chunk);
    output_.add_records({chunk.data(), result.bytes});
    progress = progress || result.bytes > 0 || result.ended;
    if (result.ended) emit_.reset();
    emptied = result.emptied || result.bytes < chunk.size();
  }
  return emptied;
}

bool Worker::read_text(os::UniqueFd& fd, Stream stream) {
  if (!fd || output_.pending_text_bytes() > max_host_backlog_bytes) return false;
  std::array<char, read_chunk_bytes> chunk;  // NOLINT: filled by read
  const ReadResult result = read_available(fd.get(), chunk);
  output_.add_text(stream, {chunk.data(), result.bytes});
  if (result.ended) fd.reset();
  return result.bytes > 0 || result.ended;
}

void Worker::queue_request(std::string line) {
  request_ = std::move(line);
  flush_request();
}

void Worker::flush_request() {
  const WriteResult result = write_available(run_.get(), request_);
  request_.erase(0, result.broken ? request_.size() : result.bytes);
}

}  // namespace hearth::init
