// What one use of a sandbox leaves for the next, on every backend: nothing.
#include "channel/sandbox_files.h"
#include "tests/support/any_backend.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

constexpr std::chrono::seconds reset_limit(10);

}  // namespace

TEST_CASE_TEMPLATE("a reset leaves neither files nor processes nor variables", Backend,
                   ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  CHECK(backend
            .run_in(*sandbox, R"(
import os
left = 1
for place in ("/workspace/a", "/tmp/b", "/dev/shm/c"):
    open(place, "w").write("left")
os.makedirs("/workspace/deep/er", 0o000)
child = os.fork()
if child == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "600"])
while open(f"/proc/{child}/comm").read() != "sleep\n":
    pass
)",
                    20, wire::Mode::interactive)
            .verdict == Verdict::ok);
  CHECK(run_task(backend.loop(), sandbox->channel().reset(reset_limit)).clean);
  const auto after = backend.run_in(*sandbox, R"(
import os
print([os.listdir(place) for place in ("/workspace", "/tmp", "/dev/shm")])
print("left" in globals())
def name_of(process):
    try:
        return open(f"/proc/{process}/comm").read().strip()
    except OSError:  # it ended meanwhile
        return None
print("sleep" in [name_of(process) for process in os.listdir("/proc") if process.isdigit()])
)",
                                    20, wire::Mode::interactive);
  CHECK(after.stdout_text == "[[], [], []]\nFalse\nFalse\n");
}

TEST_CASE_TEMPLATE(
    "tools may write to the temporary directory and the home while they load, and no "
    "script sees it",
    Backend, ON_EVERY_BACKEND) {
  const registry::Tool tool{.config = {.name = "loader", .blueprints = {Backend::config().name}},
                            .source = R"(
import os, pathlib, tempfile
kept = tempfile.NamedTemporaryFile(prefix="kept")
directory = tempfile.mkdtemp()
open(os.path.join(directory, "left"), "w").write("left")
os.makedirs(os.path.expanduser("~/.cache/deep"), 0o700)
pathlib.Path.home().joinpath("settings").write_text("left")
os.chdir(directory)
)"};
  Backend backend(Backend::config(), {tool});
  const std::string look = R"(
import os, tempfile
print([os.listdir(place) for place in ("/workspace", "/tmp")], os.getcwd(), tempfile.gettempdir())
open("/tmp/mine", "w").write("mine")
open("/workspace/mine", "w").write("mine")
)";
  const std::string nothing = "[[], []] /workspace /tmp\n";
  const std::unique_ptr<backend::Sandbox> one = backend.spawn();
  const auto first = backend.run_in(*one, look);
  INFO("why: ", first.error ? first.error->traceback : first.detail);
  CHECK(first.stdout_text == nothing);
  const std::unique_ptr<backend::Sandbox> other = backend.spawn();
  CHECK(backend.run_in(*other, look).stdout_text == nothing);
  CHECK(run_task(backend.loop(), one->channel().reset(reset_limit)).clean);
  CHECK(backend.run_in(*one, look).stdout_text == nothing);
}

TEST_CASE_TEMPLATE("files are put into the workspace and read there", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const std::string content = std::string("\0\xff", 2) + std::string(700'000, 'z');
  SandboxFiles files(sandbox->channel());
  run_task(backend.loop(), files.write("in/put.bin", content, 0640));
  CHECK(run_task(backend.loop(), files.read("/workspace/in/put.bin", 1 << 20)) == content);
  const auto result = backend.run_in(*sandbox, R"(
import os
data = open("in/put.bin", "rb").read()
print(len(data), data[:3], oct(os.stat("in/put.bin").st_mode & 0o777))
)");
  CHECK(result.stdout_text == "700002 b'\\x00\\xffz' 0o640\n");
}

TEST_CASE_TEMPLATE("a plan's turn leaves no process behind it", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> sandbox = backend.spawn();
  const std::string count = R"(
import os, time
def count():
    return sum(name.isdigit() for name in os.listdir('/proc'))
)";
  const std::string before = backend.run_in(*sandbox, count + "print(count())").stdout_text;
  backend.run_in(*sandbox, R"(
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
)");
  // What held that turn's memory has been killed and may still be giving it back.
  const auto after = backend.run_in(
      *sandbox, count + "most = " + before + "while count() > most: time.sleep(0.01)");
  CHECK(after.verdict == Verdict::ok);
}

TEST_CASE_TEMPLATE("two sandboxes share nothing that can be written", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  const std::unique_ptr<backend::Sandbox> one = backend.spawn();
  const std::unique_ptr<backend::Sandbox> two = backend.spawn();
  backend.run_in(*one, R"(
for place in ("/workspace/x", "/tmp/x", "/dev/shm/x"):
    open(place, "w").write("x")
)");
  CHECK(backend
            .run_in(*two,
                    "import os; print([os.listdir(p) for p in ('/workspace', '/tmp', '/dev/shm')])")
            .stdout_text == "[[], [], []]\n");
}
