// Whole trees out of a sandbox and into it, on every backend, and onto the host: what a script
// leaves, hostile things included.
#include "tests/support/files_place.h"

#include <sys/stat.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;
using wire::FileKind;
namespace fs = std::filesystem;

namespace {

template <typename Backend>
using Place = FilesPlace<Backend>;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

// Links in every place, loops, pipes, sockets, closed directories, names of any bytes.
constexpr const char* hostile_tree = R"py(
import os, socket
os.makedirs('plain/in')
open('plain/in/f', 'w').write('content')
os.symlink('/', 'plain/root')
os.symlink('..', 'plain/in/up')
os.symlink('../../../../../etc/passwd', 'passwd')
os.symlink('loop', 'loop')
os.symlink('plain/in/f', 'inside')
os.mkfifo('pipe')
socket.socket(socket.AF_UNIX).bind('plain/socket')
name = b'n' * 200 + b'\xff' * 55
open(name, 'w').write('bytes')
os.makedirs('shut/in')
open('shut/in/f', 'w').write('closed')
for path in ('shut/in/f', 'shut/in', 'shut'): os.chmod(path, 0)
os.close(os.open('sparse', os.O_CREAT | os.O_RDWR, 0o640))
os.truncate('sparse', 1 << 20)
os.utime('sparse', ns=(0, 1500000000))
)py";

}  // namespace

TEST_CASE_TEMPLATE("a hostile tree comes out of a sandbox as it is, and onto the host without harm",
                   Backend, ON_EVERY_BACKEND) {
  Place<Backend> place;
  place.run(hostile_tree);
  const std::string name = std::string(200, 'n') + std::string(55, '\xff');
  const FoundTree tree = place.tree();
  CHECK(tree.size() == 15);
  CHECK(tree.at("plain/in/f").content == "content");
  CHECK(tree.at("plain/root").entry.target == "/");
  CHECK(tree.at("loop").entry.kind == FileKind::symlink);
  CHECK(tree.at("pipe").entry.kind == FileKind::other);
  CHECK(tree.at("plain/socket").entry.kind == FileKind::other);
  CHECK(tree.at(name).content == "bytes");
  CHECK(tree.at("shut").entry.mode == 0);
  CHECK(tree.at("shut/in/f").content == "closed");
  CHECK(tree.at("sparse").content == std::string(1 << 20, '\0'));
  CHECK(tree.at("sparse").entry.mode == 0640);
  CHECK(tree.at("sparse").entry.modified_ns == 1'500'000'000);

  const TemporaryDirectory host;
  files::TreeWriter writer(files::open_directory(AT_FDCWD, host.path().c_str()),
                           files::TreeRules::onto_host);
  place.save(writer);
  std::set<std::string> left_out;
  for (const files::LeftOut& one : writer.left_out()) left_out.insert(one.path);
  CHECK(left_out == std::set<std::string>{"passwd", "pipe", "plain/root", "plain/socket"});
  CHECK(content_of(host.path() / "inside") == "content");
  CHECK(content_of(host.path() / name) == "bytes");
  CHECK(fs::file_size(host.path() / "sparse") == 1 << 20);
  CHECK(fs::read_symlink(host.path() / "plain/in/up") == "..");
}

TEST_CASE_TEMPLATE("a tree comes back into a sandbox as it left another", Backend,
                   ON_EVERY_BACKEND) {
  Place<Backend> place;
  place.run(hostile_tree);
  place.run("import os\nfor path in ('pipe', 'plain/socket'): os.remove(path)\n");
  const FoundTree before = place.tree();
  const std::unique_ptr<backend::Sandbox> other = place.backend.spawn();
  SandboxFiles others(other->channel());
  const auto move = [&]() -> Task<> {
    const std::unique_ptr<TreeReader> tree = co_await place.files.read_tree(".", any_tree);
    co_await others.write_tree(".", *tree);
  };
  place.wait(move());
  const FoundTree after = place.wait(tree_at(others, "."));
  REQUIRE(after.size() == before.size());
  for (const auto& [path, found] : before) {
    CAPTURE(path);
    CHECK(after.at(path).content == found.content);
    CHECK(after.at(path).entry == found.entry);
  }
  // They are those of the scripts' user there.
  const auto result = place.backend.run_in(*other, R"py(
import os
assert os.stat('shut').st_uid == os.getuid() and oct(os.stat('shut').st_mode) == '0o40000'
os.chmod('shut', 0o700); os.chmod('shut/in', 0o700); os.remove('shut/in/f')
)py");
  CHECK(result.verdict == Verdict::ok);
}

TEST_CASE_TEMPLATE("a tree of the host goes into a sandbox", Backend, ON_EVERY_BACKEND) {
  Place<Backend> place;
  const TemporaryDirectory host;
  fs::create_directories(host.path() / "a/b");
  host.write("a/b/f", "content");
  ::chmod((host.path() / "a/b/f").c_str(), 0755);
  fs::create_symlink("b/f", host.path() / "a/l");
  place.wait(place.put(host.path(), "data/in"));
  place.run(R"py(
import os
assert open('data/in/a/l').read() == 'content'
assert oct(os.stat('data/in/a/b/f').st_mode) == '0o100755'
)py");
}

TEST_CASE_TEMPLATE("requests about trees fail with their kind", Backend, ON_EVERY_BACKEND) {
  Place<Backend> place;
  place.run(R"py(
import os
os.mkdir('d')
open('d/f', 'w').write('12345')
os.symlink('d', 'link')
os.close(os.open('huge', os.O_CREAT | os.O_RDWR))
)py");
  SandboxFiles& files = place.files;
  CHECK(place.problem(tree_at(files, "absent")) == "not_found");
  CHECK(place.problem(tree_at(files, "d/f")) == "not_directory");
  CHECK(place.problem(tree_at(files, "/proc")) == "invalid_path");
  CHECK(place.problem(tree_at(files, "/dev")) == "invalid_path");
  CHECK(place.problem(tree_at(files, "link")) == "invalid_path");
  CHECK(place.problem(tree_at(files, "../..")) == "invalid_path");
  CHECK(place.problem(tree_at(files, "d", {0, 100})) == "too_large");
  CHECK(place.problem(tree_at(files, "d", {1, 4})) == "too_large");
  CHECK(place.problem(tree_at(files, "d", {1, 5})) == "none");

  const TemporaryDirectory host;
  host.write("f", "new");
  const auto put = [&](const std::string& path) {
    return place.problem(place.put(host.path(), path));
  };
  CHECK(put("d") == "exists");
  CHECK(put("d/f") == "not_directory");
  CHECK(put("link") == "invalid_path");
  CHECK(put("/usr/share") == "permission");
  CHECK(put("/proc/self") == "invalid_path");
  fs::resize_file(host.path() / "f", std::uint64_t{1} << 30);
  CHECK(put("large") == "no_space");
  CHECK(place.wait(files.list({"large"})).entries.empty());
  CHECK(place.tree().at("d/f").content == "12345");
}

TEST_CASE_TEMPLATE("a file that changes while a tree is read is an error, one in its place is not",
                   Backend, ON_EVERY_BACKEND) {
  Place<Backend> place;
  place.run("open('f', 'w').write('x' * (4 << 20))\n");
  // More than the window: most of it is read after the script has run.
  const auto begin = [&] {
    std::unique_ptr<TreeReader> tree = place.wait(place.files.read_tree(".", any_tree));
    REQUIRE(place.wait(tree->next())->path == "f");
    return tree;
  };
  const auto rest = [](TreeReader& tree) -> Task<std::string> {
    std::string content;
    for (std::string bytes = co_await tree.read(); !bytes.empty(); bytes = co_await tree.read())
      content += bytes;
    co_return content;
  };
  std::unique_ptr<TreeReader> tree = begin();
  place.run("import os\nopen('g', 'w').write('y' * (4 << 20))\nos.rename('g', 'f')\n");
  CHECK(place.wait(rest(*tree)) == std::string(4 << 20, 'x'));
  tree = begin();
  place.run("open('f', 'r+').write('changed')\n");
  CHECK(place.problem(rest(*tree)) == "changed");
  tree = begin();
  place.run("import os\nos.truncate('f', 1000)\n");
  CHECK(place.problem(rest(*tree)) == "changed");
}

TEST_CASE_TEMPLATE("a tree of any depth and any number of names is bounded, while turns go on",
                   Backend, ON_EVERY_BACKEND) {
  Place<Backend> place;
  // As deep as the requirement, and as many names as the scratch's inodes allow.
  place.run(R"py(
import os
os.makedirs('deep/d')
# From the top: Landlock looks at every directory above the one that is changed.
for level in range(1, 10_000):
    os.mkdir('above')
    os.rename('deep/d', 'above/d')
    os.rename('above', 'deep/d')
os.mkdir('many')
made = 0
try:
    while made < 1_000_000:
        os.link('many/0', f'many/{made}') if made % 500 else open(f'many/{made}', 'w').close()
        made += 1
except OSError:
    pass
os.mkdir('/tmp/count')
open('/tmp/made', 'w').write(str(made))
)py");
  CHECK(place.problem(tree_at(place.files, "deep")) == "too_large");
  const std::uint64_t made = std::stoull(place.wait(place.files.read("/tmp/made", 100)));
  CHECK(made > 1000);
  CHECK(place.problem(tree_at(place.files, "many", {made - 1, 1})) == "too_large");
  std::uint64_t names = 0;
  const auto count = [&]() -> Task<> {
    const std::unique_ptr<TreeReader> tree = co_await place.files.read_tree("many", {made, 1});
    while (co_await tree->next()) ++names;
  };
  place.finish_beside_a_turn(count());
  CHECK(names == made);
}

TEST_CASE_TEMPLATE("a mount in a tree is named, and not entered", Backend, ON_EVERY_BACKEND) {
  const TemporaryDirectory host;
  host.write("f", "the host's");
  blueprint::SandboxConfig config = Backend::config();
  blueprint::FileResource resource;
  resource.host_path = host.path();
  resource.container_path = "/data/set";
  config.resources = {resource};
  Place<Backend> place(config);
  const FoundTree tree = place.tree("/data");
  REQUIRE(tree.size() == 1);
  CHECK(tree.at("set").entry.kind == FileKind::other);
  CHECK(place.tree("/data/set").at("f").content == "the host's");
}
