// Each request about files with each kind of error that it can have, from real sandboxes, on every
// backend.
#include "tests/support/files_place.h"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::test;
namespace fs = std::filesystem;

namespace {

// What the requests of these tests meet.
constexpr const char* furnish = R"py(
import os
os.makedirs('full/er')
open('file', 'w').write('kept')
open('closed', 'w').close()
os.chmod('closed', 0)
os.mkdir('shut')
open('shut/in', 'w').close()
os.chmod('shut', 0)
os.symlink('full', 'link')
)py";

// The requests with one path, by name.
template <typename Backend>
struct Requests : FilesPlace<Backend> {
  using Task = hearth::Task<>;
  using Request = std::function<Task(const std::string& path)>;
  const TemporaryDirectory given;
  std::map<std::string, Request> named;

  Requests() {
    std::ofstream(given.path() / "new") << "new";
    SandboxFiles& files = this->files;
    named["read"] = [&](std::string path) -> Task { co_await files.read(path, any_size); };
    named["write"] = [&](std::string path) -> Task { co_await files.write(path, "x"); };
    named["stat"] = [&](std::string path) -> Task { co_await files.stat(path); };
    named["list"] = [&](std::string path) -> Task { co_await files.list({path}); };
    named["mkdir"] = [&](std::string path) -> Task { co_await files.make_directory(path); };
    named["move"] = [&](std::string path) -> Task { co_await files.move(path, "moved"); };
    named["move to"] = [&](std::string path) -> Task { co_await files.move("file", path); };
    named["chmod"] = [&](std::string path) -> Task { co_await files.set_mode(path, 0700); };
    named["remove"] = [&](std::string path) -> Task { co_await files.remove(path); };
    named["tree out"] = [&](std::string path) -> Task { co_await tree_at(files, path); };
    named["tree in"] = [this](std::string path) -> Task { co_await this->put(given.path(), path); };
  }
  std::string problem_of(const std::string& request, const std::string& path) {
    return this->problem(named.at(request)(path));
  }
};

struct Expected {
  std::string path;
  std::string problem;
  std::vector<std::string> requests;
};

}  // namespace

TEST_CASE_TEMPLATE("each request about files fails with each of its kinds", Backend,
                   ON_EVERY_BACKEND) {
  Requests<Backend> place;
  place.run(furnish);
  const std::vector<std::string> all = {"read",  "write",   "stat",   "list",     "mkdir",  "move",
                                        "chmod", "move to", "remove", "tree out", "tree in"};
  const std::vector<Expected> cases = {
      {"absent", "not_found", {"read", "stat", "list", "move", "chmod", "remove", "tree out"}},
      {"absent/x", "not_found", {"read", "stat", "list", "move", "chmod", "remove", "tree out"}},
      {"full", "is_directory", {"read", "write"}},
      {"file", "not_directory", {"list", "tree out", "tree in"}},
      {"file/x", "not_directory", all},
      {"full", "not_empty", {"remove"}},
      {"full", "exists", {"mkdir", "move to"}},
      {"file", "exists", {"mkdir", "move to"}},
      {"closed", "permission", {"read"}},
      {"shut", "permission", {"list", "tree out", "tree in"}},
      {"shut/in", "permission", all},
      {"shut/absent", "permission", all},
      {"/usr/bin", "permission", {"chmod"}},
      {"/usr/bin/env", "permission", {"remove", "chmod"}},
      {"/usr/absent", "permission", {"write", "mkdir", "tree in"}},
      {"/usr/absent/x", "permission", {"write", "mkdir", "move to", "tree in"}},
      {"link", "invalid_path", {"read", "write", "list", "chmod", "tree out", "tree in"}},
      {"link/er", "invalid_path", all},
      {"/proc/1/environ", "invalid_path", all},
      {"/dev/null", "invalid_path", all},
      {"/sys", "invalid_path", all},
      {"../workspace/file", "invalid_path", all},
      {"full/../file", "invalid_path", all},
      {"", "invalid_path", all},
      {std::string("fi\0le", 5), "invalid_path", all},
      {std::string(256, 'n'), "invalid_path", all},
      {"/workspace/" + std::string(4096, '/') + "file", "invalid_path", all},
      {"/tmp/other-file-system", "failed", {"move to"}},
      {".", "invalid_path", {"remove", "move"}},
      {"/", "invalid_path", {"remove", "move"}},
  };
  for (const Expected& expected : cases)
    for (const std::string& request : expected.requests) {
      CAPTURE(expected.path);
      CAPTURE(request);
      CHECK(place.problem_of(request, expected.path) == expected.problem);
    }
  // None of them has done anything.
  CHECK(place.all({".", 9}) ==
        std::vector<std::string>{"closed", "file", "full", "full/er", "link", "shut"});
  CHECK(place.wait(place.files.read("file", any_size)) == "kept");
}

TEST_CASE_TEMPLATE("a tree fails with the kind of what is in its way or in its order", Backend,
                   ON_EVERY_BACKEND) {
  Requests<Backend> place;
  place.run(furnish);
  place.run("os.mkdir('target'); os.symlink('/tmp', 'target/new')");
  CHECK(place.problem_of("tree in", "target") == "exists");
  place.run("os.remove('target/new'); os.makedirs('target/new/in')");
  CHECK(place.problem_of("tree in", "target") == "exists");
  CHECK(place.problem(tree_at(place.files, "full", {0, 0})) == "too_large");
  CHECK(place.problem(tree_at(place.files, "full", {1, 0})) == "none");
  place.run("os.truncate('file', 5000)");
  CHECK(place.problem(tree_at(place.files, ".", {100, 4999})) == "too_large");
  CHECK(place.problem(place.files.read("file", 4999)) == "too_large");
  CHECK(place.problem(place.files.read("file", 5000)) == "none");
}

TEST_CASE_TEMPLATE("what finds no room is no_space, leaves nothing, and the sandbox goes on",
                   Backend, ON_EVERY_BACKEND) {
  blueprint::SandboxConfig config = Backend::config();
  config.scratch_size_mb = 2;
  FilesPlace<Backend> place(config);
  SandboxFiles& files = place.files;
  const std::string too_much(3 << 20, 'x');
  CHECK(place.problem(files.write("new/big", too_much)) == "no_space");
  place.wait(files.write("kept", "what was there"));
  CHECK(place.problem(files.write("kept", too_much)) == "no_space");
  CHECK(place.wait(files.read("kept", any_size)) == "what was there");
  const TemporaryDirectory host;
  std::ofstream(host.path() / "big") << too_much;
  CHECK(place.problem(place.put(host.path(), "tree")) == "no_space");
  CHECK(place.all({".", 9}) == std::vector<std::string>{"kept", "new", "tree"});

  // No name finds a place either, when there are as many as the file system takes.
  place.run(R"py(
import os
os.mkdir('names')
made = 0
try:
    while True:
        open(f'names/{made}', 'w').close()
        made += 1
except OSError: pass
)py");
  CHECK(place.problem(files.write("other", "x")) == "no_space");
  CHECK(place.problem(files.make_directory("other")) == "no_space");
  CHECK(place.problem(files.move("kept", "made/for/it")) == "no_space");
  CHECK(place.problem(place.put(host.path(), "other")) == "no_space");
  place.wait(files.remove("names", true));
  place.wait(files.write("other", "x"));
}

TEST_CASE_TEMPLATE(
    "a file that changes while it is read or written is an error, and one that "
    "another replaced is read as it was",
    Backend, ON_EVERY_BACKEND) {
  FilesPlace<Backend> place;
  SandboxFiles& files = place.files;
  // More than the window: most of it is read after the script has run.
  constexpr std::size_t size = 4 << 20;
  place.run("import os\nopen('f', 'w').write('x' * (4 << 20))");
  const auto problem_after = [&](const std::string& change) {
    FileReader reader = place.wait(files.open("f"));
    place.run(change);
    return place.problem(rest_of(reader));
  };
  CHECK(problem_after("open('f', 'a').write('more')") == "changed");
  CHECK(problem_after("open('f', 'r+').write('other')") == "changed");
  CHECK(problem_after("os.truncate('f', 1000)") == "changed");
  place.run("open('f', 'w').write('x' * (4 << 20))");
  CHECK(problem_after("os.utime('f', (1, 1))") == "changed");

  FileReader reader = place.wait(files.open("f"));
  place.run("open('g', 'w').write('new'); os.rename('g', 'f')");
  CHECK(place.wait(rest_of(reader)) == std::string(size, 'x'));
  CHECK(place.wait(files.read("f", any_size)) == "new");

  // While a file is written, a script takes its name away and puts a link there.
  FileWriter writer = place.wait(files.create("f"));
  const std::string content(1 << 20, 'y');
  place.wait(writer.append(content));
  place.run(R"py(
[name] = [name for name in os.listdir() if name != 'f']
os.remove(name)
os.symlink('/tmp/elsewhere', name)
)py");
  CHECK(place.problem(writer.finish()) == "changed");
  CHECK(place.wait(files.read("f", any_size)) == "new");
  CHECK(place.all({"/tmp"}).empty());
}

TEST_CASE_TEMPLATE("more requests than may be open at once are busy, and the others go on", Backend,
                   ON_EVERY_BACKEND) {
  FilesPlace<Backend> place;
  SandboxFiles& files = place.files;
  constexpr std::size_t most = 256;
  std::vector<FileWriter> writers;
  for (std::size_t number = 0; number < most; ++number)
    writers.push_back(place.wait(files.create(std::to_string(number))));
  CHECK(place.problem(files.stat(".")) == "busy");
  CHECK(place.problem(files.write("more", "x")) == "busy");
  place.wait(writers.back().finish());
  CHECK(place.problem(files.stat(".")) == "none");
  writers.clear();
  CHECK(place.all({"."}) == std::vector<std::string>{"255"});
}
