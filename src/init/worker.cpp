#include "init/worker.h"

#include "base/error.h"
#include "init/limits.h"
#include "init/nonblocking_io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace hearth::init {
namespace {

// A script that floods its emit pipe must not keep init from checking deadlines.
constexpr int max_emit_chunks_per_pump = 4;
constexpr int max_rounds_per_pump = 8;

// A script can make a pipe as large as this. Anything after that was written during the next step.
constexpr int max_dropped_chunks = 16;

class DroppingSink : public OutputSink {
 public:
  Worker::Dropped dropped;
  void on_text(Stream /*stream*/, std::string_view bytes) override {
    dropped.text_bytes += bytes.size();
  }
  void on_record(std::string_view /*record*/) override { ++dropped.records; }
  void on_malformed_record() override { ++dropped.records; }
};

void make_pipe(os::UniqueFd& read_end, os::UniqueFd& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw OsError("create a pipe");
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
}

}  // namespace

void MemoryHolder::kill() const {
  if (pid > 0) ::kill(pid, SIGKILL);
}

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
  // One round is enough unless text arrives meanwhile. The last round reads no more, so that no
  // text stays undelivered.
  for (int round = 1; round <= max_rounds_per_pump; ++round) {
    // Text before marks: see OrderedOutput::deliver.
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

// True if the emit pipe was emptied.
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

Worker::Dropped Worker::drop_output() {
  DroppingSink sink;
  for (int chunk = 0; chunk < max_dropped_chunks && pump(sink); ++chunk) {
  }
  sink.dropped.text_bytes += output_.drop();
  return sink.dropped;
}

void Worker::queue_request(std::string line) {
  request_ = std::move(line);
  flush_request();
}

void Worker::flush_request() {
  const WriteResult result = write_available(run_.get(), request_);
  sent_bytes_ += result.bytes;
  request_.erase(0, result.broken ? request_.size() : result.bytes);
}

void Worker::expect_back(Clock::time_point check_at, Clock::time_point back_by) {
  check_at_ = check_at;
  back_by_ = back_by;
  sent_bytes_ = 0;
}

void Worker::send_check(Clock::time_point now) {
  check_at_ = never;
  back_by_ = std::max(back_by_, now + return_patience);  // the sandbox may have been paused
  if (sent_bytes_ == 0) sent_bytes_ += write_available(run_.get(), "\n").bytes;
}

bool Worker::has_come_back() const {
  int unread_bytes = 0;
  return ::ioctl(run_.get(), FIONREAD, &unread_bytes) == 0 &&
         static_cast<std::uint64_t>(unread_bytes) < sent_bytes_;
}

}  // namespace hearth::init
