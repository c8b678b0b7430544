// What a script can put in the way of the host's requests about files, before them and meanwhile:
// nothing behind a link is reached, nothing special is opened, and no request is out of bounds.
#include "blueprint/derived_limits.h"
#include "tests/support/files_place.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <boost/asio/co_spawn.hpp>

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::test;
using wire::FileKind;
namespace fs = std::filesystem;

namespace {

// Links in every place, each to what no request may reach through it.
constexpr const char* put_links = R"py(
import os
os.makedirs('/tmp/outside/sub')
open('/tmp/outside/kept', 'w').write('precious')
os.makedirs('a/b')
links = {
    'absolute': '/tmp/outside', 'a/absolute': '/tmp/outside', 'a/b/up': '../../../tmp/outside',
    'inside': 'a', 'root': '/', 'top': '.', 'above': '..', 'fds': '/proc/self/fd',
    'init': '/proc/1/root', 'loop': 'loop', 'to': 'fro', 'fro': 'to', 'kept': '/tmp/outside/kept',
    'dangling': '/tmp/outside/new', 'zero': '/dev/zero', 'terminal': '/dev/tty',
    'long': 'a/../' * 800 + 'a'}
for name, target in links.items(): os.symlink(target, name)
)py";

// What is where the links lead, as the script sees it.
constexpr const char* look_outside = R"py(
print(sorted(os.listdir('/tmp')), sorted(os.listdir('/tmp/outside')), os.listdir('/tmp/outside/sub'),
      open('/tmp/outside/kept').read(), oct(os.stat('/tmp/outside').st_mode & 0o777),
      oct(os.stat('/tmp/outside/kept').st_mode & 0o777))
)py";

const std::vector<std::string> links = {"absolute", "a/absolute", "a/b/up", "inside", "root",
                                        "top",      "above",      "fds",    "init",   "loop",
                                        "to",       "kept",       "zero",   "long",   "dangling"};
const std::vector<std::string> through_links = {
    "absolute/kept", "a/absolute/kept", "a/b/up/kept", "inside/b", "root/tmp/outside/kept",
    "top/a",         "above/tmp",       "fds/0",       "init/tmp", "loop/x",
    "to/x",          "kept/x",          "dangling/x",  "long/b",   "root/proc/self/mem",
    "absolute/sub/x"};

}  // namespace

TEST_CASE_TEMPLATE("no request follows a link, wherever one stands and wherever it leads", Backend,
                   ON_EVERY_BACKEND) {
  FilesPlace<Backend> place;
  SandboxFiles& files = place.files;
  place.run(put_links);
  const std::string before = place.run(look_outside);
  const TemporaryDirectory host;
  host.write("new", "new");
  const auto refuses = [&](Task<> task) {
    CHECK(place.problem(std::move(task)) == "invalid_path");
  };
  const auto discarded = [](auto task) -> Task<> { co_await std::move(task); };
  for (const std::string& path : through_links) {
    CAPTURE(path);
    refuses(discarded(files.stat(path)));
    refuses(files.make_directory(path));
    refuses(files.move(path, "moved"));
    refuses(files.move("a", path));
    refuses(files.remove(path, true));
  }
  std::vector<std::string> all = links;
  all.insert(all.end(), through_links.begin(), through_links.end());
  for (const std::string& path : all) {
    CAPTURE(path);
    refuses(discarded(files.read(path, any_size)));
    refuses(discarded(files.write(path, "hostile")));
    refuses(discarded(files.list({path})));
    refuses(files.set_mode(path, 0));
    refuses(discarded(tree_at(files, path)));
    refuses(place.put(host.path(), path));
  }
  // Of a link itself a request may speak.
  CHECK(place.wait(files.stat("fds")).target == "/proc/self/fd");
  CHECK(place.problem(files.make_directory("loop")) == "exists");
  CHECK(place.problem(files.move("a/b", "absolute")) == "exists");
  place.wait(files.move("absolute", "a/moved"));
  for (const std::string path : {"a/moved", "root", "above", "init", "loop", "kept"})
    place.wait(files.remove(path, true));
  CHECK(place.run(look_outside) == before);
}

TEST_CASE_TEMPLATE("pipes, sockets and devices are reported and moved, and never opened", Backend,
                   ON_EVERY_BACKEND) {
  const TemporaryDirectory host;
  ::chmod(host.path().c_str(), 0755);
  REQUIRE(::mkfifo((host.path() / "fifo").c_str(), 0666) == 0);
  std::vector<std::string> special = {"pipe", "socket", "/data/fifo"};
  // Only root can make one, and a sandbox never.
  if (::mknod((host.path() / "device").c_str(), S_IFCHR | 0666, makedev(1, 5)) == 0)
    special.emplace_back("/data/device");
  blueprint::SandboxConfig config = Backend::config();
  blueprint::FileResource resource;
  resource.host_path = host.path();
  resource.container_path = "/data";
  config.resources = {resource};
  FilesPlace<Backend> place(config);
  SandboxFiles& files = place.files;
  CHECK(place.run(R"py(
import errno, os, socket, stat
os.mkfifo('pipe')
reader = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)
listener = socket.socket(socket.AF_UNIX)
listener.bind('socket')
listener.listen()
listener.setblocking(False)
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    try: os.mknod('device', kind | 0o666, os.makedev(1, 5))
    except OSError as error: print(errno.errorcode[error.errno])
)py") == "EPERM\nEPERM\n");
  for (const std::string& path : special) {
    CAPTURE(path);
    CHECK(place.wait(files.stat(path)).kind == FileKind::other);
    CHECK(place.problem(files.read(path, any_size)) == "invalid_path");
    CHECK(place.problem(files.write(path, "x")) == "invalid_path");
    CHECK(place.problem(files.list({path})) == "not_directory");
    CHECK(place.problem(tree_at(files, path)) == "not_directory");
  }
  const FoundTree data = place.tree("/data");
  CHECK(data.size() == special.size() - 2);
  for (const auto& [path, found] : data) CHECK(found.entry.kind == FileKind::other);
  // The host was never at the other end of either.
  CHECK(place.run(R"py(
try: print(os.read(reader, 1), end=' ')
except OSError as error: print(errno.errorcode[error.errno], end=' ')
try: print(listener.accept())
except OSError as error: print(errno.errorcode[error.errno])
)py") == "b'' EAGAIN\n");
  place.wait(files.move("pipe", "moved"));
  place.wait(files.remove("moved"));
  place.wait(files.remove("socket"));
  CHECK(place.all({"."}).empty());
}

TEST_CASE_TEMPLATE("a sparse file as large as a script can make one costs what is asked for of it",
                   Backend, ON_EVERY_BACKEND) {
  const std::uint64_t largest = blueprint::largest_file_bytes(Backend::config());
  FilesPlace<Backend> place;
  SandboxFiles& files = place.files;
  place.run(R"py(
import os
file = os.open('sparse', os.O_CREAT | os.O_RDWR)
size, step = 0, 1 << 50
while step:
    try:
        os.ftruncate(file, size + step)
        size += step
    except OSError: pass
    step >>= 1
os.pwrite(file, b'the end', size - 7)
)py");
  CHECK(place.wait(files.stat("sparse")).size_bytes == largest);
  FileReader end = place.wait(files.open("sparse", largest - 10, 100));
  CHECK(place.wait(rest_of(end)) == std::string(3, '\0') + "the end");
  CHECK(place.problem(files.read("sparse", 1 << 20)) == "too_large");
  CHECK(place.problem(tree_at(files, ".", {10, largest - 1})) == "too_large");
  // All of it, and none of it is ever in memory.
  const auto count = [&]() -> Task<std::uint64_t> {
    const std::unique_ptr<TreeReader> tree = co_await files.read_tree(".", {10, largest});
    std::uint64_t bytes = 0;
    while (co_await tree->next())
      for (std::string some = co_await tree->read(); !some.empty(); some = co_await tree->read())
        bytes += some.size();
    co_return bytes;
  };
  CHECK(place.wait(count()) == largest);
}

TEST_CASE_TEMPLATE("a name of 255 bytes that are not UTF-8 goes through every request", Backend,
                   ON_EVERY_BACKEND) {
  FilesPlace<Backend> place;
  SandboxFiles& files = place.files;
  std::string name;
  for (int byte = 255; byte > 0; --byte) name += byte == '/' ? '\xfe' : static_cast<char>(byte);
  const std::string other = std::string(255, '\xff');
  place.wait(files.make_directory(name));
  place.wait(files.write(name + '/' + other, "content"));
  CHECK(place.wait(files.read(name + '/' + other, any_size)) == "content");
  CHECK(place.wait(files.stat(name)).path == name);
  place.wait(files.set_mode(name + '/' + other, 0640));
  CHECK(place.all({name}) == std::vector<std::string>{other});
  CHECK(place.all({".", 2, "*\xff\xff"}) == std::vector<std::string>{name + '/' + other});
  CHECK(place.tree().at(name + '/' + other).entry.mode == 0640);
  place.wait(files.move(name, other));
  CHECK(place.run("import os\nprint(os.listdir(b'.') == [b'\\xff' * 255])") == "True\n");
  const TemporaryDirectory host;
  files::TreeWriter writer(files::open_directory(AT_FDCWD, host.path().c_str()),
                           files::TreeRules::onto_host);
  place.save(writer);
  CHECK(fs::exists(host.path() / other / other));
  place.wait(place.put(host.path(), name));
  CHECK(place.tree(name).at(other + '/' + other).content == "content");
  place.wait(files.remove(name, true));
  place.wait(files.remove(other, true));
  CHECK(place.all({"."}).empty());
}

TEST_CASE_TEMPLATE("a million names are listed, read as a tree and removed, and init stays small",
                   Backend, ON_EVERY_BACKEND) {
  // Each name takes one of the scratch's inodes, of which there is one for 4 KiB. Links to one file
  // spare the kernel's memory.
  constexpr std::uint64_t names = 1'000'000;
  blueprint::SandboxConfig config = Backend::config();
  config.scratch_size_mb = 4096;
  config.resource_limits.memory_mb = 1024;
  config.resource_limits.cpu_quota = 4;
  FilesPlace<Backend> place(config);
  SandboxFiles& files = place.files;
  place.run(R"py(
import os
os.mkdir('many')
os.chdir('many')
open('0', 'w').close()
for name in range(1, 1_000_000): os.link('0', str(name))
os.chdir('..')
)py",
            600);
  const auto count_listed = [&]() -> Task<std::uint64_t> {
    wire::ListFiles call{"many"};
    std::uint64_t listed = 0;
    do {
      const wire::FileEntries page = co_await files.list(call);
      listed += page.entries.size();
      call.cursor = page.cursor;
    } while (!call.cursor.empty());
    co_return listed;
  };
  CHECK(place.wait(count_listed()) == names);
  const auto count_read = [&](std::uint64_t most) -> Task<std::uint64_t> {
    const std::unique_ptr<TreeReader> tree = co_await files.read_tree("many", {most, 0});
    std::uint64_t read = 0;
    while (co_await tree->next()) ++read;
    co_return read;
  };
  CHECK(place.problem(count_read(names - 1)) == "too_large");
  CHECK(place.wait(count_read(names)) == names);
  CHECK(std::stoul(place.run(R"py(
print(next(line.split()[1] for line in open('/proc/1/status') if line.startswith('VmHWM:')))
)py")) < 32'000);
  place.wait(files.remove("many", true));
  CHECK(place.all({"."}).empty());
}
