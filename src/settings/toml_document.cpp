#include "settings/toml_document.h"

#include "blueprint/decode.h"
#include "settings/field_path.h"
#include "settings/syntax_error.h"
#include "settings/toml_guard.h"
#include "settings/toml_library.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hearth::settings {
namespace {

namespace json = boost::json;
using blueprint::Path;

bool trips_an_assertion(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
    return false;
  } catch (const TomlAssertion&) {
    return true;
  } catch (const toml::parse_error&) {
    return false;
  }
}

// toml++ does not say where it was; the shortest beginning of the text that trips it, does.
std::size_t line_of_assertion(std::string_view text) {
  std::vector<std::size_t> line_ends;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    line_ends.push_back(at + 1);
  const auto found = std::partition_point(line_ends.begin(), line_ends.end(), [&](std::size_t end) {
    return !trips_an_assertion(text.substr(0, end));
  });
  return static_cast<std::size_t>(found - line_ends.begin()) + 1;
}

toml::table parse(const SourceText& source, const std::string& file_name) {
  if (auto too_deep = find_excessive_nesting(source.text())) {
    throw SettingsError({{.file = file_name,
                          .line = too_deep->line,
                          .column = too_deep->column,
                          .message = std::move(too_deep->message),
                          .excerpt = source.excerpt(too_deep->line, too_deep->column)}});
  }
  try {
    return toml::parse(source.text(), file_name);
  } catch (const TomlAssertion&) {
    const std::size_t line = line_of_assertion(source.text());
    throw SettingsError({{.file = file_name,
                          .line = line,
                          .column = 1,
                          .message = "this line is not TOML",
                          .excerpt = source.excerpt(line, 1)}});
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    SyntaxError found = explained(source, {at.line, at.column, std::string(error.description())});
    throw SettingsError({{.file = file_name,
                          .line = found.line,
                          .column = found.column,
                          .message = std::move(found.message),
                          .excerpt = source.excerpt(found.line, found.column)}});
  }
}

class TreeBuilder {
 public:
  explicit TreeBuilder(blueprint::Problems& problems) : problems_(problems) {}

  json::value tree_of(const toml::node& node, const Path& path) {
    switch (node.type()) {
      case toml::node_type::table:
        return object_of(*node.as_table(), path);
      case toml::node_type::array:
        return array_of(*node.as_array(), path);
      case toml::node_type::string:
        return json::value(json::string(node.as_string()->get()));
      case toml::node_type::integer:
        return node.as_integer()->get();
      case toml::node_type::floating_point:
        return node.as_floating_point()->get();
      case toml::node_type::boolean:
        return node.as_boolean()->get();
      default:
        problems_.push_back({path.text(), "is a date or a time, which no key takes"});
        return nullptr;
    }
  }

 private:
  json::object object_of(const toml::table& table, const Path& path) {
    json::object object;
    object.reserve(table.size());
    for (const auto& [key, node] : table) {
      json::value value = tree_of(node, path.member(key.str()));
      // Left out, so that its default stands there and one problem is enough.
      if (!value.is_null()) object.emplace(key.str(), std::move(value));
    }
    return object;
  }

  json::array array_of(const toml::array& list, const Path& path) {
    json::array array;
    array.reserve(list.size());
    for (std::size_t index = 0; index < list.size(); ++index)
      array.push_back(tree_of(list[index], path.element(index)));
    return array;
  }

  blueprint::Problems& problems_;
};

Position position_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

}  // namespace

struct TomlDocument::Parsed {
  toml::table root;
};

TomlDocument::TomlDocument(std::string text, const std::string& file_name)
    : source_(std::move(text)),
      parsed_(std::make_unique<Parsed>(Parsed{parse(source_, file_name)})) {}
TomlDocument::TomlDocument(TomlDocument&&) noexcept = default;
TomlDocument::~TomlDocument() = default;

json::value TomlDocument::to_tree(blueprint::Problems& problems) const {
  return TreeBuilder(problems).tree_of(parsed_->root, Path{});
}

Position TomlDocument::locate(std::string_view field, bool of_key) const {
  const toml::node* node = &parsed_->root;
  Position found{1, 1};
  for (const FieldStep& step : steps_of(field)) {
    if (const toml::table* table = node->as_table(); table != nullptr && !step.is_index) {
      const auto member = table->find(step.key);
      if (member == table->end()) break;
      node = &member->second;
      found = position_of(of_key ? member->first.source() : node->source());
    } else if (const toml::array* array = node->as_array(); array != nullptr && step.is_index) {
      if (step.index >= array->size()) break;
      node = &(*array)[step.index];
      found = position_of(node->source());
    } else {
      break;
    }
  }
  return found;
}

}  // namespace hearth::settings
