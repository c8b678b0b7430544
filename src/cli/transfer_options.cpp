#include "cli/transfer_options.h"

#include "base/error.h"
#include "cli/destination.h"
#include "wire/file_path.h"

#include <CLI/CLI.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

struct Pair {
  std::string first;
  std::string second;  // empty: there is none
};
Pair pair_in(const std::string& text, const char* option, const char* form) {
  const std::size_t colon = text.find(':');
  if (text.empty() || colon == 0 || colon + 1 == text.size())
    throw CLI::ValidationError(option, std::string("expects ") + form + ", got \"" + text + '"');
  if (colon == std::string::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Without what says nothing: doubled slashes, a last slash, dots.
std::string plain_path(const std::string& text) {
  std::string path = fs::path(text).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// Empty of "/", "." and "..".
std::string last_name(const std::string& path) {
  const std::string name = fs::path(plain_path(path)).filename().string();
  return name == "." || name == ".." ? std::string() : name;
}

std::string below(const std::string& directory, const std::string& name) {
  return plain_path((fs::path(directory) / name).string());
}

std::string checked_path(const std::string& path, const char* option) {
  std::string plain = plain_path(path);
  if (const std::string problem = wire::problem_of_file_path(plain); !problem.empty())
    throw CLI::ValidationError(option, "the path " + path + " " + problem);
  return plain;
}

bool is_workspace(const std::string& path) {
  const std::string plain = plain_path(path);
  return plain == "." || plain == "/workspace";
}

bool is_directory(const std::string& local) {
  std::error_code failed;
  return fs::is_directory(local, failed);
}

// A link to one may have come with files of others.
bool is_real_directory(const std::string& local) {
  std::error_code failed;
  return fs::is_directory(fs::symlink_status(local, failed));
}

// A last slash means: into that directory.
Put put_in(const std::string& text) {
  auto [local, path] = pair_in(text, "--put", "LOCAL[:PATH]");
  const std::string name = last_name(local);
  if (path.empty()) {
    path = name.empty() ? "." : name;
  } else if (path.ends_with('/') || (is_workspace(path) && !is_directory(local))) {
    path = below(path, name);
  }
  return {std::move(local), checked_path(path, "--put")};
}

Get get_in(const std::string& text) {
  auto [path, local] = pair_in(text, "--get", "PATH[:LOCAL]");
  const std::string name = last_name(path);
  if (local.empty() && name.empty())
    throw CLI::ValidationError("--get",
                               text + " has no name of its own; say where to: " + text + ":LOCAL");
  if (local.empty()) local = name;
  if (local.ends_with('/') || (!name.empty() && is_real_directory(local)))
    local = below(local, name);
  return {checked_path(path, "--get"), std::move(local)};
}

void require_readable(const Put& put) {
  const std::string option = "--put " + put.local;
  struct stat status{};
  if (::stat(put.local.c_str(), &status) != 0) throw OsError(option);
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    throw Error(option + ": it is neither a file nor a directory");
  if (::access(put.local.c_str(), S_ISDIR(status.st_mode) ? R_OK | X_OK : R_OK) != 0)
    throw OsError(option);
}

void require_writable(const std::string& option, const std::string& directory) {
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return;
  const int failure = errno;
  if (failure == ENOENT)
    throw Error(option + ": there is no directory " + directory + "; make it first");
  throw OsError(option + ": " + directory, failure);
}

void require_place(const Get& get, bool force) {
  const std::string option = "--get " + get.path;
  const fs::path parent = fs::path(get.local).parent_path();
  require_writable(option, parent.empty() ? "." : parent.string());
  try {
    open_directory_of(get.local);
  } catch (const Error& error) {
    throw Error(option + ": " + error.what());
  }
  struct stat status{};
  if (::lstat(get.local.c_str(), &status) != 0) {
    if (errno != ENOENT) throw OsError(option + ": " + get.local);
    return;
  }
  if (S_ISLNK(status.st_mode))
    throw Error(option + ": " + get.local + " is a link; " + get.local +
                "/ would be the directory that it leads to");
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    throw Error(option + ": " + get.local + " is neither a file nor a directory");
  if (!force)
    throw Error(option + ": " + get.local + " is there already; name another with --get " +
                get.path + ":LOCAL, or --force to replace it");
}

void make_place(const TransferOptions& options) {
  const std::string option = "--save " + options.save;
  try {
    make_directories(options.save);
  } catch (const Error& error) {
    throw Error(option + ": " + error.what());
  }
  std::error_code failure;
  require_writable(option, options.save);
  const bool is_empty = fs::is_empty(options.save, failure);
  if (failure) throw OsError(option, failure.value());
  if (!is_empty && !options.force)
    throw Error(option +
                ": there are files in it already; name another directory, or --force to "
                "add to them and replace those of the same names");
}

}  // namespace

void add_transfer_options(CLI::App& command, RawTransferOptions& raw) {
  command
      .add_option("--put", raw.puts,
                  "A file or directory to copy into the sandbox before the start; PATH is in "
                  "/workspace, by default its name")
      ->type_name("LOCAL[:PATH]")
      ->allow_extra_args(false);
  command
      .add_option(
          "--get", raw.gets,
          "A file or directory to copy out of the sandbox afterwards, also after a failure; "
          "LOCAL is by default its name")
      ->type_name("PATH[:LOCAL]")
      ->allow_extra_args(false);
  command
      .add_option("--save", raw.save,
                  "A new or empty directory that gets all that is left in /workspace, and figures")
      ->type_name("DIR");
  command.add_flag("--force", raw.force, "Let --get and --save replace files");
}

TransferOptions checked(const RawTransferOptions& raw) {
  TransferOptions options{.save = raw.save, .force = raw.force};
  std::set<std::string> places;
  for (const std::string& text : raw.puts) options.puts.push_back(put_in(text));
  for (const std::string& text : raw.gets) {
    options.gets.push_back(get_in(text));
    const std::string& local = options.gets.back().local;
    if (!places.insert(plain_path(local)).second)
      throw CLI::ValidationError("--get", "two of them write " + local);
  }
  return options;
}

void require_places(const TransferOptions& options) {
  for (const Put& put : options.puts) require_readable(put);
  for (const Get& get : options.gets) require_place(get, options.force);
  if (!options.save.empty()) make_place(options);
}

}  // namespace hearth::cli
