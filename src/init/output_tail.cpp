#include "init/output_tail.h"

#include "base/json_escape.h"

#include <algorithm>
#include <utility>

namespace hearth::init {
namespace {

// Larger items would be dropped as a whole too soon, smaller ones cost more than they hold.
constexpr std::size_t usual_item_bytes = 8 << 10;
constexpr std::size_t item_overhead_bytes = 64;

bool is_text(OutputTail::Kind kind) {
  return kind == OutputTail::Kind::out || kind == OutputTail::Kind::err;
}

std::size_t size_of(const OutputTail::Item& item) {
  return item.bytes.size() + item_overhead_bytes;
}

}  // namespace

void OutputTail::add_text(Stream stream, std::string_view bytes) {
  const Kind kind = stream == Stream::out ? Kind::out : Kind::err;
  if (!items_.empty() && items_.back().kind == kind &&
      items_.back().bytes.size() + bytes.size() <= usual_item_bytes) {
    items_.back().bytes += bytes;
    size_ += bytes.size();
  } else {
    items_.push_back({kind, std::string(bytes)});
    size_ += size_of(items_.back());
  }
  make_room();
}

void OutputTail::add_event(std::string line) {
  if (line.size() > room_ - result_bytes_) {
    ++dropped_.events;
    return;
  }
  items_.push_back({Kind::event, std::move(line)});
  size_ += size_of(items_.back());
  make_room();
}

bool OutputTail::add_result(std::string line) {
  if (result_bytes_ + line.size() > room_) return false;
  result_bytes_ += line.size();
  items_.push_back({Kind::result, std::move(line)});
  make_room();
  return true;
}

// Keeps at least as much as take() may need: a text's line is longer than the text.
void OutputTail::make_room() {
  for (auto oldest = items_.begin(); oldest != items_.end() && size_ > room_;) {
    if (oldest->kind == Kind::result) {
      ++oldest;
      continue;
    }
    if (size_ - size_of(*oldest) < room_) return;
    size_ -= size_of(*oldest);
    drop(*oldest, oldest->bytes.size());
    oldest = items_.erase(oldest);
  }
}

void OutputTail::drop(const Item& item, std::size_t bytes) {
  if (item.kind == Kind::out) dropped_.stdout_bytes += bytes;
  if (item.kind == Kind::err) dropped_.stderr_bytes += bytes;
  if (item.kind == Kind::event) ++dropped_.events;
}

// From the newest to the oldest, until one does not fit.
std::deque<OutputTail::Item> OutputTail::take(const LineBytes& line_bytes) {
  std::deque<Item> kept;
  std::size_t room = room_ - result_bytes_;
  bool is_full = false;
  for (; !items_.empty(); items_.pop_back()) {
    Item& item = items_.back();
    if (item.kind != Kind::result) {
      const std::size_t whole = item.bytes.size();
      const auto needed = [&] {
        return is_text(item.kind) ? line_bytes(item.kind, item.bytes) : item.bytes.size();
      };
      if (is_full) {
        drop(item, whole);
        continue;
      }
      if (needed() > room) {
        is_full = true;
        if (!shorten(item, room, line_bytes)) continue;
      }
      room -= needed();
    }
    kept.push_front(std::move(item));
  }
  size_ = 0;
  begin_with_a_line(kept);
  return kept;
}

// To an end that fits. False if nothing is left.
bool OutputTail::shorten(Item& item, std::size_t room, const LineBytes& line_bytes) {
  const std::size_t whole = item.bytes.size();
  std::size_t size = is_text(item.kind) ? std::min(whole, room) : 0;
  while (size > 0 &&
         line_bytes(item.kind, std::string_view(item.bytes).substr(whole - size)) > room)
    size /= 2;
  // Not in the middle of a character.
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(item.bytes[at]) & 0xC0U) == 0x80U;
  };
  while (size > 0 && is_inside(whole - size)) --size;
  drop(item, whole - size);
  item.bytes.erase(0, whole - size);
  return size > 0;
}

// Where something before it was dropped.
void OutputTail::begin_with_a_line(std::deque<Item>& items) {
  for (const Kind kind : {Kind::out, Kind::err}) {
    if ((kind == Kind::out ? dropped_.stdout_bytes : dropped_.stderr_bytes) == 0) continue;
    const auto first = std::find_if(items.begin(), items.end(),
                                    [kind](const Item& item) { return item.kind == kind; });
    if (first == items.end()) continue;
    // Also where it begins a line: that is not known.
    const std::size_t end_of_line = first->bytes.find('\n');
    if (end_of_line == std::string::npos || end_of_line + 1 == first->bytes.size()) continue;
    drop(*first, end_of_line + 1);
    first->bytes.erase(0, end_of_line + 1);
  }
}

}  // namespace hearth::init
