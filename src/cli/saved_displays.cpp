#include "cli/saved_displays.h"

#include "api/media_type.h"
#include "base/base64.h"
#include "wire/json_object.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace hearth::cli {
namespace {

bool is_text(std::string_view type) {
  return type.starts_with("text/") || type.ends_with("+xml") || type.ends_with("json") ||
         type.ends_with("xml") || type.ends_with("javascript");
}

std::string ending_for(std::string_view type) {
  if (const std::string_view known = api::ending_of(type); !known.empty())
    return std::string(known);
  if (type.ends_with("json")) return ".json";
  if (type.ends_with("xml")) return ".xml";
  return is_text(type) ? ".txt" : ".bin";
}

// In displays, bytes are in base64, often in lines. What is not is saved as it came.
std::string bytes_in(std::string text) {
  std::string packed = text;
  std::erase(packed, '\n');
  return decode_base64(packed).value_or(std::move(text));
}

}  // namespace

std::vector<SavedDisplay> files_of(const wire::Display& display) {
  std::vector<SavedDisplay> files;
  for (wire::JsonMember& form : wire::parse_object(display.data.text, wire::any_number)) {
    if (form.key == "text/plain" || form.kind == wire::JsonKind::null) continue;
    files.push_back(
        {.name = form.key.starts_with("image/") ? "figure" : "display",
         .ending = ending_for(form.key),
         .bytes = is_text(form.key) ? std::move(form.text) : bytes_in(std::move(form.text))});
  }
  return files;
}

}  // namespace hearth::cli
