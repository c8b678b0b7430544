#include "cli/copy_progress.h"

#include "api/text.h"

#include <ostream>
#include <utility>

namespace hearth::cli {

namespace {

constexpr std::chrono::milliseconds between{200};
constexpr const char* empty_line = "\r\033[K";

}  // namespace

void CopyProgress::clear() {
  if (std::exchange(is_shown_, false)) terminal_ << empty_line << std::flush;
}

void CopyProgress::add_bytes(std::uint64_t bytes, Clock::time_point now) {
  bytes_ += bytes;
  if (!on_terminal_ || now < next_) return;
  next_ = now + between;
  is_shown_ = true;
  terminal_ << empty_line << what_ << ": " << api::size_in_words(bytes_) << " in " << files_
            << (files_ == 1 ? " file" : " files") << std::flush;
}

}  // namespace hearth::cli
