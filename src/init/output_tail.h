// init/output_tail.h: the last part of an output that is too long, until the end of its turn. What
// is older is dropped and counted.
#pragma once

#include "init/ordered_output.h"
#include "wire/messages.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace hearth::init {

class OutputTail {
 public:
  enum class Kind {
    out,
    err,
    event,  // a line, dropped like text
    result  // a line, never dropped
  };
  struct Item {
    Kind kind;
    std::string bytes;
  };
  // How long the event line of a text is.
  using LineBytes = std::function<std::size_t(Kind kind, std::string_view text)>;

  // `room`: what all lines of the tail may have together.
  explicit OutputTail(std::size_t room) : room_(room) {}

  void add_text(Stream stream, std::string_view bytes);
  void add_event(std::string line);
  bool add_result(std::string line);  // false if there is no room for it

  // The items that fit, in their order. A text begins at the start of a line if it can.
  std::deque<Item> take(const LineBytes& line_bytes);
  // Complete after take().
  const wire::Truncated& dropped() const { return dropped_; }

 private:
  void make_room();
  void drop(const Item& item, std::size_t bytes);
  bool shorten(Item& item, std::size_t room, const LineBytes& line_bytes);
  void begin_with_a_line(std::deque<Item>& items);

  std::size_t room_;
  std::size_t result_bytes_ = 0;
  std::size_t size_ = 0;  // of what can be dropped
  std::deque<Item> items_;
  wire::Truncated dropped_;
};

}  // namespace hearth::init
