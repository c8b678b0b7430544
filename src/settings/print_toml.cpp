#include "settings/print_toml.h"

#include "base/json_escape.h"
#include "blueprint/encode.h"
#include "blueprint/json_text.h"
#include "settings/settings_fields.h"

#include <string_view>

namespace hearth::settings {
namespace {

namespace json = boost::json;
using blueprint::element_of;
using blueprint::member_of;

std::string toml_string(std::string_view text) {
  std::string escaped;
  append_json_string(escaped, text);
  // What JSON escapes, TOML understands; the delete character it wants escaped too.
  std::string quoted_text;
  for (const char letter : escaped) {
    if (letter == '\x7f') {
      quoted_text += "\\u007f";
    } else {
      quoted_text += letter;
    }
  }
  return quoted_text;
}

std::string toml_key(std::string_view key) {
  const std::string path = member_of("", key);
  return path.starts_with('"') ? toml_string(key) : path;
}

bool is_list_of_tables(const json::value& value) {
  const json::array* array = value.if_array();
  return array != nullptr && !array->empty() && array->front().is_object();
}

std::string inline_value(const json::value& value);

std::string inline_list(const json::array& array) {
  std::string text = "[";
  for (std::size_t index = 0; index < array.size(); ++index)
    text += (index > 0 ? ", " : "") + inline_value(array[index]);
  return text + ']';
}

std::string inline_table(const json::object& object) {
  std::string text = "{";
  for (const auto& member : object) {
    text += text.size() > 1 ? ", " : " ";
    text += toml_key(member.key()) + " = " + inline_value(member.value());
  }
  return text + (object.empty() ? "}" : " }");
}

std::string inline_value(const json::value& value) {
  if (const auto* object = value.if_object()) return inline_table(*object);
  if (const auto* array = value.if_array()) return inline_list(*array);
  if (const auto* text = value.if_string()) return toml_string(*text);
  if (const auto* boolean = value.if_bool()) return *boolean ? "true" : "false";
  if (const auto* integer = value.if_int64()) return std::to_string(*integer);
  return blueprint::print_number(value.as_double());
}

class TomlPrinter {
 public:
  explicit TomlPrinter(const std::map<std::string, std::string>& comments) : comments_(comments) {}

  std::string take() { return std::move(out_); }

  // `path` finds comments, `header` is what TOML calls the table: sandbox[0] is [[blueprint]].
  void print_table(const json::object& table, const std::string& path, const std::string& header) {
    for (const auto& member : table) {
      if (!has_header(member.key(), member.value(), path))
        print_key(member.key(), member.value(), path);
    }
    for (const auto& member : table) {
      if (has_header(member.key(), member.value(), path))
        print_children(member.key(), member.value(), path, header);
    }
  }

 private:
  // Small things stay on one line: ports of a host, the source of a secret.
  static bool has_header(std::string_view key, const json::value& value, std::string_view path) {
    if (is_list_of_tables(value)) return true;
    return value.is_object() && key != "allowed_ports" && path != "secrets";
  }

  void print_key(std::string_view key, const json::value& value, const std::string& path) {
    // An empty list of tables would read as a list of anything, which is fine where none is needed.
    out_ += toml_key(key) + " = " + inline_value(value);
    if (const auto comment = comments_.find(member_of(path, key)); comment != comments_.end())
      out_ += "  # " + comment->second;
    out_ += '\n';
  }

  void print_children(std::string_view key, const json::value& value, const std::string& path,
                      const std::string& header) {
    const std::string child = member_of(path, key);
    const std::string name = header.empty() ? toml_key(key) : header + '.' + toml_key(key);
    if (const json::object* table = value.if_object()) {
      open('[' + name + ']', child);
      return print_table(*table, child, name);
    }
    const json::array& list = value.as_array();
    for (std::size_t index = 0; index < list.size(); ++index) {
      open("[[" + name + "]]", element_of(child, index));
      print_table(list[index].as_object(), element_of(child, index), name);
    }
  }

  void open(const std::string& header, const std::string& path) {
    if (!out_.empty()) out_ += '\n';
    if (const auto comment = comments_.find(path); comment != comments_.end())
      out_ += "# " + comment->second + '\n';
    out_ += header + '\n';
  }

  const std::map<std::string, std::string>& comments_;
  std::string out_;
};

}  // namespace

json::value to_tree(const Settings& settings) { return blueprint::encode(settings); }

std::string print_toml(const Settings& settings,
                       const std::map<std::string, std::string>& comments) {
  json::value tree = to_tree(settings);
  json::object& root = tree.as_object();
  // Keys outside any table would have to stand first; nothing is nothing.
  for (const char* list : {"blueprint", "tool"}) {
    if (root.at(list).as_array().empty()) root.erase(list);
  }
  TomlPrinter printer(comments);
  printer.print_table(root, "", "");
  return printer.take();
}

}  // namespace hearth::settings
