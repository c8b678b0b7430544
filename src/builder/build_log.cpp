#include "builder/build_log.h"

#include <utility>

namespace hearth::builder {
namespace {

constexpr std::string_view error_mark = "ERROR: ";
constexpr std::size_t most_line_bytes = 65'536;

// pip says of each package which line of which file asked for it: a file of ours.
void remove_origin(std::string& line) {
  constexpr std::string_view begin_mark = " (from -r ";
  constexpr std::string_view file_mark = "requirements.txt (line ";
  const std::size_t begin = line.find(begin_mark);
  if (begin == std::string::npos) return;
  const std::size_t file = line.find(file_mark, begin);
  const std::size_t end = line.find("))", begin);
  if (file == std::string::npos || end == std::string::npos || end < file) return;
  line.erase(begin, end + 2 - begin);
}

}  // namespace

void BuildLog::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    unfinished_ += bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (end != std::string_view::npos || unfinished_.size() > most_line_bytes)
      keep(std::exchange(unfinished_, {}));
  }
}

void BuildLog::finish_line() {
  if (!unfinished_.empty()) keep(std::exchange(unfinished_, {}));
}

void BuildLog::add_line(const std::string& line) {
  finish_line();
  keep(line);
}

void BuildLog::keep(std::string line) {
  remove_origin(line);
  if (text_.size() + line.size() < max_bytes_) {
    text_ += line + '\n';
  } else {
    dropped_bytes_ += line.size() + 1;
  }
  if (line.starts_with(error_mark)) last_error_ = line.substr(error_mark.size());
  if (!line.empty()) last_line_ = line;
  if (on_line_) on_line_(std::move(line));
}

std::string BuildLog::text() const {
  if (dropped_bytes_ == 0) return text_;
  return text_ + "(" + std::to_string(dropped_bytes_) + " more bytes were not kept)\n";
}

std::string BuildLog::reason() const { return last_error_.empty() ? last_line_ : last_error_; }

}  // namespace hearth::builder
