#include "cli/missing_module.h"

#include "base/printable.h"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

// As Python says it; nothing if it is no plain name, which is all that becomes part of a path.
std::string missing_module(const wire::ScriptError& error) {
  constexpr std::string_view begin = "No module named '";
  if (error.name != "ModuleNotFoundError" || !error.message.starts_with(begin)) return {};
  const std::string rest = error.message.substr(begin.size());
  const std::string module = rest.substr(0, rest.find_first_of(".'"));
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return module.find_first_not_of(letters) == std::string::npos ? module : std::string();
}

}  // namespace

std::string advice_on_missing_module(const execution::ExecutionResult& result,
                                     const std::string& file) {
  const std::string module = result.error ? missing_module(*result.error) : std::string();
  if (module.empty()) return {};
  const fs::path package = fs::path(file).parent_path() / module;
  const fs::path source = package.string() + ".py";
  std::error_code failed;
  const bool is_file = fs::is_regular_file(source, failed);
  if (!is_file && !fs::is_directory(package, failed)) return {};
  const std::string found = printable_line((is_file ? source : package).string());
  return found + " is not in the sandbox; --put " + found + " copies it there";
}

}  // namespace hearth::cli
