// settings/toml_document.h: a parsed TOML text as a tree of values, and where each of them stands.
// The only place that knows toml++.
#pragma once

#include "blueprint/problem.h"
#include "settings/diagnostic.h"
#include "settings/source_text.h"

#include <boost/json/value.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace hearth::settings {

struct Position {
  std::size_t line = 0;
  std::size_t column = 0;
};

class TomlDocument {
 public:
  // SettingsError with the place of the first syntax error.
  TomlDocument(std::string text, const std::string& file_name);
  TomlDocument(TomlDocument&&) noexcept;
  ~TomlDocument();

  const SourceText& source() const { return source_; }

  // Dates have no counterpart and no key that takes them: they become problems.
  boost::json::value to_tree(blueprint::Problems& problems) const;

  // Where `field` (like `sandbox[2].resources[0].host_path`) stands, or the deepest part of it that
  // is there. Of the key when `of_key`, else of the value.
  Position locate(std::string_view field, bool of_key) const;

 private:
  struct Parsed;
  SourceText source_;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace hearth::settings
