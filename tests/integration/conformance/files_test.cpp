// Files in and out of a sandbox, on every backend: what a script leaves, hostile things included.
#include "tests/support/files_place.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace hearth;
using namespace hearth::test;

namespace {

template <typename Backend>
using Place = FilesPlace<Backend>;

}  // namespace

TEST_CASE_TEMPLATE("every request about files fails with its kind", Backend, ON_EVERY_BACKEND) {
  Place<Backend> place;
  SandboxFiles& files = place.files;
  place.run(R"py(
import os, socket
os.makedirs('full/er')
open('file', 'w').write('kept')
open('closed', 'w').close()
os.chmod('closed', 0)
os.symlink('/tmp', 'link')
os.symlink('loop', 'loop')
os.mkfifo('pipe')
listener = socket.socket(socket.AF_UNIX)
listener.bind('socket')
os.mkdir('/tmp/behind')
)py");
  CHECK(place.problem(files.read("absent", any_size)) == "not_found");
  CHECK(place.problem(files.read("full", any_size)) == "is_directory");
  CHECK(place.problem(files.read("file/x", any_size)) == "not_directory");
  CHECK(place.problem(files.read("closed", any_size)) == "permission");
  CHECK(place.problem(files.read("file", 3)) == "too_large");
  for (const std::string path : {"link/behind", "link", "loop", "pipe", "socket", "/proc/self/mem",
                                 "/dev/zero", "/sys/kernel"}) {
    CAPTURE(path);
    CHECK(place.problem(files.read(path, any_size)) == "invalid_path");
    CHECK(place.problem(files.write(path, "x")) == "invalid_path");
    CHECK(place.problem(files.list({path})) ==
          (path == "pipe" || path == "socket" ? "not_directory" : "invalid_path"));
  }
  CHECK(place.problem(files.write("full", "x")) == "is_directory");
  CHECK(place.problem(files.write("/usr/x", "x")) == "permission");
  CHECK(place.problem(files.make_directory("full/er")) == "exists");
  CHECK(place.problem(files.move("file", "full/er")) == "exists");
  CHECK(place.problem(files.move("file", "/tmp/other-file-system")) == "failed");
  CHECK(place.problem(files.set_mode("link", 0)) == "invalid_path");
  CHECK(place.problem(files.remove("full")) == "not_empty");
  CHECK(place.problem(files.remove("/workspace", true)) != "none");
  CHECK(place.wait(files.read("file", any_size)) == "kept");
  CHECK(place.wait(files.stat("pipe")).kind == wire::FileKind::other);
  CHECK(place.wait(files.stat("link")).target == "/tmp");
  CHECK(place.all({"/tmp"}) == std::vector<std::string>{"behind"});
}

TEST_CASE_TEMPLATE("files and directories that only their script may use are the host's, too",
                   Backend, ON_EVERY_BACKEND) {
  Place<Backend> place;
  SandboxFiles& files = place.files;
  place.run(R"py(
import os
os.makedirs('private/in', 0o700)
open('private/in/f', 'w').write('secret')
os.chmod('private/in/f', 0o600)
os.chmod('private', 0o700)
name = b'n' * 200 + b'\xff' * 55
open(name, 'w').write('bytes')
os.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 1 << 20)
)py");
  CHECK(place.wait(files.read("private/in/f", any_size)) == "secret");
  const std::string name = std::string(200, 'n') + std::string(55, '\xff');
  CHECK(place.wait(files.read(name, any_size)) == "bytes");
  CHECK(place.wait(files.read("sparse", any_size)) == std::string(1 << 20, '\0'));
  CHECK(place.all({".", 9}) ==
        std::vector<std::string>{name, "private", "private/in", "private/in/f", "sparse"});
  place.wait(files.write("private/in/g", "host's", 0600));
  place.wait(files.move(name, "moved/f"));
  place.wait(files.make_directory("made/it"));
  place.wait(files.set_mode("moved/f", 0640));
  place.wait(files.remove("private/in/f"));
  place.wait(files.remove("sparse"));
  place.run(R"py(
import os
assert open('private/in/g').read() == "host's"
assert oct(os.stat('moved/f').st_mode) == '0o100640' and open('moved/f').read() == 'bytes'
assert sorted(os.listdir()) == ['made', 'moved', 'private'] and os.listdir('made') == ['it']
)py");
}

TEST_CASE_TEMPLATE("a deep tree and many names are listed and removed while turns go on", Backend,
                   ON_EVERY_BACKEND) {
  Place<Backend> place;
  SandboxFiles& files = place.files;
  place.run(R"py(
import os
os.mkdir('many')
for n in range(5000): open(f'many/{n:0200}', 'w').close()
os.mkdir('d')
# From the top: Landlock looks at every directory above the one that is changed.
for level in range(1, 10_000):
    os.mkdir('above')
    os.rename('d', 'above/d')
    os.rename('above', 'd')
)py");
  CHECK(place.all({"many", 1, "", 999}).size() == 5000);
  CHECK(place.all({"d", 100'000}).size() == 2048);
  place.finish_beside_a_turn(files.remove("d", true));
  place.wait(files.remove("many", true));
  CHECK(place.all({".", 9}).empty());
}
