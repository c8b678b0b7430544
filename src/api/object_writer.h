// api/object_writer.h: one JSON object, member after member. What a script sent as JSON is passed
// through as it was written: its numbers keep all their digits.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::api {

class ObjectWriter {
 public:
  // Appends to `out`, which must outlive it; the object ends with close().
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }

  void text(std::string_view key, std::string_view value);  // any bytes
  void json(std::string_view key, std::string_view value);
  void boolean(std::string_view key, bool value) { json(key, value ? "true" : "false"); }
  void integer(std::string_view key, std::integral auto value) { json(key, std::to_string(value)); }
  void seconds(std::string_view key, double value);  // to the microsecond
  void null(std::string_view key) { json(key, "null"); }
  void close() { out_ += '}'; }

 private:
  void begin(std::string_view key);

  std::string& out_;
  bool is_first_ = true;
};

// `write(out, item)` appends one element.
template <typename Items, typename Write>
std::string json_array(const Items& items, Write write) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    write(out, item);
  }
  return out + ']';
}

}  // namespace hearth::api
