// builder/build_log.h: what the programs of a build said, line by line: told at once, kept for the
// error and for the file beside the environment.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace hearth::builder {

class BuildLog {
 public:
  using OnLine = std::function<void(std::string)>;
  explicit BuildLog(OnLine on_line, std::size_t max_bytes = 16'777'216)
      : on_line_(std::move(on_line)), max_bytes_(max_bytes) {}

  void add(std::string_view bytes);  // lines may come in pieces
  void finish_line();                // a last one without its end
  void add_line(const std::string& line);

  // If it became too long, a note stands for what was dropped.
  std::string text() const;
  // Of the last line that pip calls an error, without that word; else the last line.
  std::string reason() const;

 private:
  void keep(std::string line);

  OnLine on_line_;
  std::size_t max_bytes_;
  std::string text_;
  std::string unfinished_;
  std::string last_line_;
  std::string last_error_;
  std::size_t dropped_bytes_ = 0;
};

}  // namespace hearth::builder
