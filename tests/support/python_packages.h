// tests/support/python_packages.h: Python packages made on the spot, so that tests need no network.
#pragma once

#include "os/run_program.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace hearth::test {

inline void run_python(const std::string& script, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"-I", "-c", script});
  const os::ProgramResult result =
      os::run_program({.program = "python3", .arguments = std::move(arguments)});
  INFO(result.errors);
  REQUIRE(result.succeeded());
}

// A wheel of one module that has the package's name.
// `metadata`: further lines of it.
inline void write_wheel(const std::filesystem::path& directory, const std::string& name,
                        const std::string& source, const std::string& metadata = "") {
  run_python(R"(
import sys, zipfile
directory, name, source, metadata = sys.argv[1:]
info = f"{name}-1.0.dist-info"
with zipfile.ZipFile(f"{directory}/{name}-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr(f"{name}.py", source)
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{metadata}")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", "")
)",
             {directory, name, source, metadata});
}

// A source archive that builds itself, without setuptools. `code` runs while it is built; what it
// puts into the dictionary `facts` becomes the JSON text of the package's only module.
inline void write_source_archive(const std::filesystem::path& directory, const std::string& name,
                                 const std::string& code) {
  run_python(R"(
import io, sys, tarfile
directory, name, code = sys.argv[1:]
backend = f'''
import json, os, zipfile
info = "{name}-1.0.dist-info"
metadata = "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n"
def prepare_metadata_for_build_wheel(directory, config=None):
    os.mkdir(directory + "/" + info)
    open(directory + "/" + info + "/METADATA", "w").write(metadata)
    return info
def build_wheel(directory, config=None, metadata_directory=None):
    facts = dict()
    exec({code!r}, dict(facts=facts))
    file = "{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(directory + "/" + file, "w") as wheel:
        wheel.writestr("{name}.py", json.dumps(facts))
        wheel.writestr(info + "/METADATA", metadata)
        wheel.writestr(info + "/WHEEL",
                       "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "/RECORD", "")
    return file
'''
project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
with tarfile.open(f"{directory}/{name}-1.0.tar.gz", "w:gz") as archive:
    for file, text in {"backend.py": backend, "pyproject.toml": project,
                       "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}.items():
        member = tarfile.TarInfo(f"{name}-1.0/{file}")
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))
)",
             {directory, name, code});
}

// A source archive whose module is written in C. It builds itself with `cc`, without setuptools.
inline void write_c_archive(const std::filesystem::path& directory, const std::string& name,
                            const std::string& c_source) {
  run_python(R"(
import io, sys, tarfile
directory, name, source = sys.argv[1:]
backend = f'''
import subprocess, sysconfig, zipfile
info = "{name}-1.0.dist-info"
def build_wheel(directory, config=None, metadata_directory=None):
    include = "-I" + sysconfig.get_path("include")
    subprocess.run(["cc", "-shared", "-fPIC", include, "{name}.c", "-o", "{name}.so"], check=True)
    file = "{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(directory + "/" + file, "w") as wheel:
        wheel.write("{name}.so")
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
        wheel.writestr(info + "/WHEEL",
                       "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "/RECORD", "")
    return file
'''
project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
with tarfile.open(f"{directory}/{name}-1.0.tar.gz", "w:gz") as archive:
    for file, text in {"backend.py": backend, "pyproject.toml": project, f"{name}.c": source,
                       "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}.items():
        member = tarfile.TarInfo(f"{name}-1.0/{file}")
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))
)",
             {directory, name, c_source});
}

}  // namespace hearth::test
