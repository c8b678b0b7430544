// builder/find_python.h: the interpreter of the version a blueprint asks for, among those that this
// machine has. What a program is called proves nothing (it may be a version manager's shim), so
// each is run and asked.
#pragma once

#include "base/error.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {

struct Python {
  std::filesystem::path executable;  // canonical
  std::string version;               // 3.11.2, 3.13.0rc1
  std::string abi;                   // what its extension modules end with: .cpython-311-….so
  bool operator==(const Python&) const = default;
};

struct PythonNotFound : Error {
  PythonNotFound(std::string_view version, std::vector<std::string> found);
  std::string wanted;
  std::vector<std::string> existing;  // `3.11.2 (/usr/bin/python3.11)`, sorted
};

// The absolute directories of $PATH, then the usual ones: /usr/bin, /usr/local/bin,
// ~/.pyenv/versions/*/bin, /opt/python*/bin.
std::vector<std::filesystem::path> usual_python_directories();

// Nothing when it is no Python 3, cannot be run or does not answer.
std::optional<Python> ask_python(const std::filesystem::path& program);

// `3.11` is any 3.11.x, `3.11.4` only that.
bool is_version(std::string_view version, std::string_view wanted);

// The first of that version; one that is no release, or not the usual build (free-threaded,
// debug, not CPython), only when there is no other. Null when there is none.
const Python* choose_python(const std::vector<Python>& found, std::string_view wanted);

// Programs called `python3.11` count before `python3` and `python`, then earlier directories before
// later ones. Throws PythonNotFound.
Python find_python(std::string_view wanted, const std::vector<std::filesystem::path>& directories);

}  // namespace hearth::builder
