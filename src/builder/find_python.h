// builder/find_python.h: the interpreter of the version a blueprint asks for, among those that this
// machine has. What a program is called proves nothing (it may be a version manager's shim), so
// each is run and asked. As root, only programs that no other user could have written or exchanged
// are run (os/trusted_path.h), with the trusted part of $PATH: that may hold anything.
#pragma once

#include "backend/errors.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::builder {

struct Python {
  std::filesystem::path executable;  // canonical; in a virtual environment its name there
  std::string version;               // 3.11.2, 3.13.0rc1
  std::string abi;                   // what its extension modules end with: .cpython-311-….so
  bool operator==(const Python&) const = default;
};

struct PythonNotFound : backend::BuildError {
  // `passed_over`: what was not run, each with the reason.
  PythonNotFound(std::string_view version, std::vector<std::string> found,
                 const std::vector<std::string>& passed_over = {});
  // A certain one was meant.
  explicit PythonNotFound(const std::filesystem::path& program)
      : BuildError(program.string() + " is no Python 3 that can be run", {}) {}
  std::string wanted;
  std::vector<std::string> existing;  // `3.11.2 (/usr/bin/python3.11)`, sorted
};

// The absolute directories of $PATH, then the usual ones: /usr/bin, /usr/local/bin,
// ~/.pyenv/versions/*/bin, /opt/python*/bin.
std::vector<std::filesystem::path> usual_python_directories();

// Nothing when it is no Python 3, cannot be run, does not answer or is not trusted.
std::optional<Python> ask_python(const std::filesystem::path& program);

// The same for a program that was meant: one of a virtual environment stays that, with its
// packages. As root, no other user may have written those either: UntrustedPath.
std::optional<Python> ask_meant_python(const std::filesystem::path& program);

// False in directories of which every sandbox has its own.
bool is_visible(const std::filesystem::path& executable);
inline constexpr const char* invisible_words =
    "is not visible in a sandbox, which has a /tmp and a /workspace of its own";

// What a shell would start: the `python3` of the virtual environment that $VIRTUAL_ENV names, else
// the first in $PATH, else /usr/bin/python3.
struct UsualPython {
  std::optional<Python> python{};
  std::vector<std::string> passed_over{};  // what is not used, each with the reason
};
UsualPython find_usual_python();

// `3.11` is any 3.11.x, `3.11.4` only that.
bool is_version(std::string_view version, std::string_view wanted);

// The first of that version; one that is no release, or not the usual build (free-threaded,
// debug, not CPython), only when there is no other. Null when there is none.
const Python* choose_python(const std::vector<Python>& found, std::string_view wanted);

// Programs called `python3.11` count before `python3` and `python`, then earlier directories before
// later ones. Throws PythonNotFound.
Python find_python(std::string_view wanted, const std::vector<std::filesystem::path>& directories);

}  // namespace hearth::builder
