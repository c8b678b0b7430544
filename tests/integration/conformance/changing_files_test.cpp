// Files and directories that a script exchanges while the host reads, writes and walks them.
#include "tests/support/files_place.h"

#include <doctest/doctest.h>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>

using namespace hearth;
using namespace hearth::test;
using wire::FileKind;

namespace {

// A tree that a slow host is in the middle of: the file `big` is more than a window.
template <typename Backend>
std::unique_ptr<TreeReader> begun_tree(FilesPlace<Backend>& place, const std::string& big,
                                       FoundTree& seen) {
  std::unique_ptr<TreeReader> tree = place.wait(place.files.read_tree(".", any_tree));
  while (true) {
    const std::optional<wire::FileEntry> entry = place.wait(tree->next());
    REQUIRE(entry.has_value());
    seen[entry->path].entry = *entry;
    if (entry->path == big) return tree;
  }
}

}  // namespace

TEST_CASE_TEMPLATE("directories that become links during a tree walk are links in it", Backend,
                   ON_EVERY_BACKEND) {
  FilesPlace<Backend> place;
  // Whichever order the file system has: some of them come after the file.
  place.run(R"py(
import os
os.mkdir('/tmp/outside')
open('/tmp/outside/secret', 'w').write('secret')
names = [f'{letter}{number}' for letter in 'az' for number in range(20)]
for name in names[:20]: os.mkdir(name); open(name + '/f', 'w').close()
open('big', 'w').write('x' * (4 << 20))
for name in names[20:]: os.mkdir(name); open(name + '/f', 'w').close()
)py");
  FoundTree before;
  const std::unique_ptr<TreeReader> tree = begun_tree(place, "big", before);
  place.run(R"py(
for name in names:
    os.rename(name, '/workspace/.' + name)
    os.symlink('/tmp/outside', name)
)py");
  const FoundTree after = place.wait(whole_tree(*tree));
  int links = 0;
  for (const auto& [path, found] : after) {
    CAPTURE(path);
    CHECK(path.find("secret") == std::string::npos);
    if (found.entry.kind == FileKind::symlink) ++links;
  }
  CHECK(links >= 10);
}

TEST_CASE_TEMPLATE(
    "a directory that is moved away under a tree walk is changed, and a link in its "
    "place is not taken for it",
    Backend, ON_EVERY_BACKEND) {
  FilesPlace<Backend> place;
  place.run(R"py(
import os
os.makedirs('/tmp/outside')
open('/tmp/outside/secret', 'w').write('secret')
os.makedirs('in/deep')
os.mkdir('elsewhere')
open('in/deep/big', 'w').write('x' * (4 << 20))
)py");
  FoundTree before;
  const std::unique_ptr<TreeReader> tree = begun_tree(place, "in/deep/big", before);
  place.run("os.rename('in/deep', 'elsewhere/deep'); os.symlink('/tmp/outside', 'in/deep')");
  CHECK(place.problem(whole_tree(*tree)) == "changed");
}

TEST_CASE_TEMPLATE(
    "while a script exchanges a directory and a link without end, no request gets "
    "behind the link",
    Backend, ON_EVERY_BACKEND) {
  FilesPlace<Backend> place;
  SandboxFiles& files = place.files;
  const TemporaryDirectory host;
  host.write("given", "new");
  place.run(R"py(
import os
os.makedirs('/tmp/outside')
open('/tmp/outside/f', 'w').write('secret')
os.makedirs('d/sub')
open('d/f', 'w').write('plain')
os.symlink('/tmp/outside', 'l')
)py");
  wire::RunRequest exchange;
  exchange.mode = wire::Mode::interactive;
  exchange.timeout_seconds = 300;
  exchange.script = R"py(
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here, exchange, rounds = -100, 2, 0
while not os.path.exists('stop'):
    assert libc.renameat2(here, b'd', here, b'l', exchange) == 0
    rounds += 1
print(rounds > 100, sorted(os.listdir('/tmp/outside')), open('/tmp/outside/f').read())
)py";
  execution::ScriptExecutor executor(*place.sandbox);
  std::optional<execution::ExecutionResult> ended;
  asio::co_spawn(place.backend.loop(), executor.run(exchange),
                 [&](std::exception_ptr failure, execution::ExecutionResult result) {
                   CHECK(failure == nullptr);
                   ended = std::move(result);
                 });
  int reached = 0;
  int refused = 0;
  const auto attempt = [&](auto task) {
    const std::string problem = place.problem(std::move(task));
    ++(problem == "none" ? reached : refused);
  };
  std::string content;
  const auto read = [&]() -> Task<> { content = co_await files.read("d/f", any_size); };
  FoundTree tree;
  const auto read_tree = [&]() -> Task<> { tree = co_await tree_at(files, "."); };
  for (int round = 0; round < 100; ++round) {
    attempt(files.write("d/f", "plain"));
    attempt(files.write("d/sub/" + std::to_string(round), "x"));
    attempt(read());
    CHECK((content.empty() || content == "plain"));
    attempt(files.list({"d"}));
    attempt(files.set_mode("d/f", 0644));
    attempt(files.make_directory("d/made"));
    attempt(files.remove("d/made", true));
    attempt(files.move("d/f", "moved"));
    attempt(files.move("moved", "d/f"));
    if (round % 10 != 0) continue;
    attempt(place.put(host.path(), "d/tree" + std::to_string(round)));
    attempt(read_tree());
    for (const auto& [path, found] : tree) CHECK(found.content != "secret");
  }
  place.wait(files.write("stop", ""));
  while (!ended.has_value()) place.wait(place.sandbox->channel().ping(std::chrono::seconds(60)));
  INFO("error: ", ended->error ? ended->error->traceback : "none");
  CHECK(ended->verdict == execution::Verdict::ok);
  CHECK(ended->stdout_text == "True ['f'] secret\n");
  INFO(reached, " reached, ", refused, " refused");
  CHECK(reached > 0);
  CHECK(refused > 0);
}
