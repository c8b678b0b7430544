#include "docker/json_path.h"

#include "base/id.h"

namespace hearth::docker {

namespace json = boost::json;

constexpr std::size_t id_digits = 64;
constexpr std::string_view image_id_prefix = "sha256:";

const json::value& at(const json::value& value, JsonPath path) {
  static const json::value null;
  const json::value* here = &value;
  for (const std::string_view name : path) {
    const json::object* object = here->if_object();
    here = object == nullptr ? nullptr : object->if_contains(name);
    if (here == nullptr) return null;
  }
  return *here;
}

std::string text_at(const json::value& value, JsonPath path) {
  const json::string* text = at(value, path).if_string();
  return text == nullptr ? std::string() : std::string(*text);
}

std::uint64_t number_at(const json::value& value, JsonPath path) {
  const json::value& found = at(value, path);
  boost::system::error_code out_of_range;
  const auto number = found.is_number() ? found.to_number<std::uint64_t>(out_of_range) : 0;
  return out_of_range ? 0 : number;
}

std::string id_at(const json::value& value, JsonPath path) {
  std::string id = text_at(value, path);
  return is_hexadecimal(id, id_digits) ? id : std::string();
}

std::string image_id_at(const json::value& value, JsonPath path) {
  std::string id = text_at(value, path);
  const bool is_id = id.starts_with(image_id_prefix) &&
                     is_hexadecimal(id.substr(image_id_prefix.size()), id_digits);
  return is_id ? id : std::string();
}

}  // namespace hearth::docker
