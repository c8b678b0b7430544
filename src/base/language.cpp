#include "base/language.h"

#include <array>

namespace hearth {
namespace {

// Runs the script as Node runs a file of that name in the working directory, where relative
// modules are looked for, although there is none.
constexpr const char* run_in_node = R"js(
const fs = require("fs"), path = require("path"), { Module } = require("module");
const source = fs.readFileSync(3, "utf8");
fs.closeSync(3);
const file = path.join(process.cwd(), "script.js"), main = new Module(file, null);
process.argv.splice(1, 0, file);
process.mainModule = main;
main.id = ".";
main.filename = file;
main.paths = Module._nodeModulePaths(process.cwd());
main._compile(source, file);
main.loaded = true;
)js";

constexpr std::array bash = {"bash", "/dev/fd/3"};
constexpr std::array node = {"node", "-e", run_in_node, "--"};

constexpr std::array<Language, 3> table{{
    {"python", ".py", {}, "python3"},
    {"bash", ".sh", bash, "bash"},
    {"javascript", ".js", node, "nodejs"},
}};

}  // namespace

std::span<const Language> languages() { return table; }

const Language* find_language(std::string_view name) {
  for (const Language& language : table)
    if (language.name == name) return &language;
  return nullptr;
}

const Language* language_of_file(std::string_view name) {
  for (const Language& language : table)
    if (name.ends_with(language.file_ending)) return &language;
  return nullptr;
}

std::string language_names() {
  std::string names;
  for (const Language& language : table) {
    if (!names.empty()) names += ", ";
    names += language.name;
  }
  return names;
}

}  // namespace hearth
