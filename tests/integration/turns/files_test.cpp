// Files that the host puts into the workspace, and its pings: what the channel asks of the real
// hearth-init between turns and during one.
#include "channel/data_stream.h"
#include "channel/sandbox_files.h"
#include "tests/support/clean_turn.h"
#include "tests/support/run_task.h"
#include "tests/support/sandbox_process.h"
#include "wire/encode.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth;
using namespace hearth::test;
using namespace std::chrono_literals;
using execution::Verdict;

namespace {

void put(Sandbox& sandbox, const std::string& path, const std::string& content,
         unsigned mode = 0644) {
  run_task(sandbox.loop(), SandboxFiles(sandbox.process().channel()).write(path, content, mode));
}

std::string get(Sandbox& sandbox, const std::string& path) {
  return run_task(sandbox.loop(),
                  SandboxFiles(sandbox.process().channel()).read(path, std::uint64_t{1} << 30));
}

// Why the sandbox did not take it.
std::string refusal(Sandbox& sandbox, const std::string& path, const std::string& content = "x") {
  try {
    put(sandbox, path, content);
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

void ping(Sandbox& sandbox) { run_task(sandbox.loop(), sandbox.process().channel().ping(60s)); }

std::string printed(Sandbox& sandbox, const std::string& script) {
  const auto result = sandbox.run(script);
  INFO("error: ", result.error ? result.error->traceback : "none");
  CHECK(result.verdict == Verdict::ok);
  return result.stdout_text;
}

std::string line_of(const wire::Request& request) { return wire::encode(request); }

}  // namespace

TEST_CASE("a file from the host arrives byte by byte and is the script's own") {
  // The same numbers on both sides: no piece lost, doubled or in another's place.
  std::string content;
  for (std::uint32_t n = 0; n < 1'250'000; ++n)
    for (int shift = 0; shift < 32; shift += 8)
      content += static_cast<char>(n * 2654435761U >> shift);
  Sandbox sandbox;
  put(sandbox, "data.bin", content, 0640);
  CHECK(printed(sandbox, R"py(
import array, os
content = array.array('I', (n * 2654435761 & 0xffffffff for n in range(1_250_000))).tobytes()
status = os.stat('/workspace/data.bin')
print(len(content), open('data.bin', 'rb').read() == content)
print(status.st_uid == os.getuid(), status.st_gid == os.getgid(), oct(status.st_mode))
with open('data.bin', 'r+b') as file:
    file.write(b'changed')
    file.truncate(7)
print(open('data.bin').read())
os.chmod('data.bin', 0o600)
os.remove('data.bin')
)py") == "5000000 True\nTrue True 0o100640\nchanged\n");
}

TEST_CASE("files from the host get directories, modes and content as asked, if only none") {
  Sandbox sandbox;
  put(sandbox, "a/b/ä ö.txt", "nested");
  put(sandbox, "a/run.sh", "#!/bin/sh\necho ran\n", 0755);
  put(sandbox, "empty", "");
  put(sandbox, "bits", "x", 06777);
  CHECK(printed(sandbox, R"py(
import os, subprocess
print(open('a/b/ä ö.txt').read(), os.path.getsize('empty'), oct(os.stat('bits').st_mode))
print(oct(os.stat('a').st_mode), oct(os.stat('a/b').st_mode), os.stat('a').st_uid == os.getuid())
print(subprocess.run(['a/run.sh'], capture_output=True, text=True).stdout, end='')
open('a/b/more', 'w')
)py") == "nested 0 0o100777\n0o40755 0o40755 True\nran\n");
}

TEST_CASE("a file from the host replaces what a script or the host left there") {
  Sandbox sandbox;
  printed(sandbox,
          "open('f', 'w').write('x' * 1_000_000)\nopen('closed', 'w').write('x' * 100)\n"
          "import os\nos.chmod('closed', 0)");
  put(sandbox, "f", "short");
  put(sandbox, "closed", "opened", 0400);
  put(sandbox, "closed", "opened again", 0400);
  put(sandbox, "read_only", std::string(2'000'000, 'r'), 0444);
  CHECK(printed(sandbox, R"py(
import os
print(open('f').read(), open('closed').read(), oct(os.stat('closed').st_mode))
print(open('read_only').read() == 'r' * 2_000_000, oct(os.stat('read_only').st_mode))
)py") == "short opened again 0o100400\nTrue 0o100444\n");
}

TEST_CASE("a file larger than the workspace is refused, leaves nothing and no harm") {
  Sandbox sandbox({.workspace_bytes = 2 << 20});
  const std::string too_large(3 << 20, 'x');
  const std::string reason = "cannot write a/big: No space left on device";
  CHECK(refusal(sandbox, "a/big", too_large) == reason);
  put(sandbox, "a/big", "what was there");
  CHECK(refusal(sandbox, "a/big", too_large) == reason);
  check_clean_turn(sandbox);
  const std::string fits(1 << 20, 'f');
  put(sandbox, "fits", fits);
  CHECK(printed(sandbox, "import os\nprint(os.listdir('a'), os.path.getsize('fits'))") ==
        "['big'] 1048576\n");
  CHECK(get(sandbox, "a/big") == "what was there");
}

TEST_CASE("a link that a script left is not followed, nor a pipe waited for") {
  Sandbox sandbox;
  printed(sandbox, R"py(
import os
os.makedirs('/tmp/target/sub')
open('/tmp/target/kept', 'w').write('kept')
os.symlink('/tmp/target', 'directory')
os.symlink('/tmp/target/kept', 'file')
os.symlink('/tmp/target/new', 'dangling')
os.makedirs('real')
os.symlink('../directory', 'real/up')
os.mkfifo('pipe')
)py");
  CHECK(refusal(sandbox, "directory/new") ==
        "cannot write directory/new: directory: it is a symbolic link");
  CHECK(refusal(sandbox, "directory/sub/new") ==
        "cannot write directory/sub/new: directory: it is a symbolic link");
  CHECK(refusal(sandbox, "real/up/new") ==
        "cannot write real/up/new: real/up: it is a symbolic link");
  CHECK(refusal(sandbox, "file") == "cannot write file: it is a symbolic link");
  CHECK(refusal(sandbox, "dangling") == "cannot write dangling: it is a symbolic link");
  CHECK(refusal(sandbox, "pipe") == "cannot write pipe: it is not a regular file");
  CHECK(refusal(sandbox, "real") == "cannot write real: Is a directory");
  CHECK(printed(sandbox, R"py(
import os
print(sorted(os.listdir('/tmp/target')), os.listdir('/tmp/target/sub'), open('file').read())
print(sorted(os.listdir()), os.listdir('real'))
)py") == "['kept', 'sub'] [] kept\n"
         "['dangling', 'directory', 'file', 'pipe', 'real'] ['up']\n");
}

namespace {

// Beside a turn that waits for the file "go": a file in, a file out, a ping; then lets it end.
Task<> use_files_beside(Sandbox& sandbox, std::string& read) {
  SandboxFiles files(sandbox.process().channel());
  co_await files.write("given", std::string(3'000'000, 'g'));
  co_await sandbox.process().channel().ping(60s);
  read = co_await files.read("made", 1 << 30);
  co_await files.write("go", "");
}

}  // namespace

TEST_CASE("while a turn runs, files go in and out and pings are answered") {
  Sandbox sandbox;
  std::string read;
  bool asked = false;
  const auto when_running = [&](const wire::Event& event) {
    if (asked || !std::holds_alternative<wire::Log>(event.body)) return;
    asked = true;
    asio::co_spawn(sandbox.loop(), use_files_beside(sandbox, read),
                   [](std::exception_ptr error) { CHECK(error == nullptr); });
  };
  const auto result = sandbox.run(request_for(R"py(
import os, sys, time
open('made', 'w').write('m' * 2_000_000)
emit_log('runs')
while not os.path.exists('go'):
    print('.' * 10_000, file=sys.stderr)
    time.sleep(0.001)
print(open('given').read() == 'g' * 3_000_000)
)py",
                                              60),
                                  when_running);
  CHECK(result.stdout_text == "True\n");
  CHECK(read == std::string(2'000'000, 'm'));
  check_clean_turn(sandbox);
}

TEST_CASE("a script that prints without end delays no file, and a file no cancel") {
  Sandbox sandbox;
  put(sandbox, "large", std::string(32 << 20, 'x'));
  std::uint64_t read = 0;
  const auto read_large = [](Sandbox& from, std::uint64_t& bytes) -> Task<> {
    FileReader reader = co_await SandboxFiles(from.process().channel()).open("large");
    for (std::string some = co_await reader.next(); !some.empty(); some = co_await reader.next())
      bytes += some.size();
    co_await from.executor().cancel();
  };
  wire::RunRequest request = request_for("emit_log('runs')\nwhile True: print('x' * 1000)", 60);
  request.max_output_bytes = std::uint64_t{1} << 40;
  bool asked = false;
  const auto result = sandbox.run(request, [&](const wire::Event& event) {
    if (asked || !std::holds_alternative<wire::Log>(event.body)) return;
    asked = true;
    asio::co_spawn(sandbox.loop(), read_large(sandbox, read),
                   [](std::exception_ptr error) { CHECK(error == nullptr); });
  });
  CHECK(result.verdict == Verdict::cancelled);
  CHECK(read == 32 << 20);
}

TEST_CASE("a file that nothing takes keeps no turn waiting, and is abandoned with its reader") {
  Sandbox sandbox;
  put(sandbox, "large", std::string(8 << 20, 'x'));
  {
    FileReader reader =
        run_task(sandbox.loop(), SandboxFiles(sandbox.process().channel()).open("large"));
    check_clean_turn(sandbox);
    ping(sandbox);
  }
  check_clean_turn(sandbox);
  CHECK(get(sandbox, "large").size() == 8 << 20);
}

TEST_CASE("a file that is given up half way leaves nothing, and the sandbox goes on") {
  Sandbox sandbox;
  {
    FileWriter writer =
        run_task(sandbox.loop(), SandboxFiles(sandbox.process().channel()).create("f"));
    const std::string half(1 << 20, 'x');
    run_task(sandbox.loop(), writer.append(half));
  }
  CHECK(printed(sandbox, "import os\nprint(os.listdir())") == "[]\n");
}

TEST_CASE("while a reset runs a file is refused, and the next is taken") {
  Sandbox sandbox;
  const auto answers = sandbox.raw_exchange(line_of(wire::FileRequest{1, wire::WriteFile{"g"}}) +
                                                line_of(wire::ResetRequest{}) +
                                                line_of(wire::FileRequest{2, wire::WriteFile{"f"}}),
                                            "\"reset_done\"");
  REQUIRE(answers.size() == 3);
  CHECK(
      answers[0] ==
      R"({"type":"file_failed","stream":1,"error":"busy","message":"cannot write g: the sandbox is reset"})");
  CHECK(
      answers[1] ==
      R"({"type":"file_failed","stream":2,"error":"busy","message":"cannot write f: the sandbox is busy"})");
  put(sandbox, "f", "taken");
  CHECK(printed(sandbox, "import os\nprint(open('f').read(), os.listdir())") == "taken ['f']\n");
}

TEST_CASE("a reset removes files from the host, and their directories") {
  Sandbox sandbox;
  put(sandbox, "a/b/c", "x", 0400);
  put(sandbox, "f", "x", 0);
  CHECK(printed(sandbox, "import os\nprint(sorted(os.listdir()))") == "['a', 'f']\n");
  CHECK(sandbox.reset().clean);
  CHECK(printed(sandbox, "import os\nprint(os.listdir())") == "[]\n");
  put(sandbox, "a/b/c", "again");
  CHECK(printed(sandbox, "print(open('a/b/c').read())") == "again\n");
}

TEST_CASE("between two steps a file can be given and the variables stay") {
  Sandbox sandbox;
  CHECK(sandbox.step("n = 41").verdict == Verdict::ok);
  put(sandbox, "f", "1");
  ping(sandbox);
  CHECK(sandbox.step("print(n + int(open('f').read()))").stdout_text == "42\n");
}

TEST_CASE("a file request that is none is refused and the loop survives") {
  Sandbox sandbox;
  for (const std::string path : {"../f", "a/./b", "a//b", "a/", ""}) {
    const wire::Event event =
        sandbox.exchange(line_of(wire::FileRequest{1, wire::WriteFile{path}}));
    const auto* error = std::get_if<wire::ScriptError>(&event.body);
    CAPTURE(path);
    REQUIRE(error != nullptr);
    CHECK(error->name == "ProtocolError");
    CHECK(error->message.starts_with("request refused: \"path\" must"));
  }
  ping(sandbox);
  check_clean_turn(sandbox);
}

// ThreadSanitizer's notes are part of it; that is still less than the file.
#if __has_feature(thread_sanitizer)
constexpr std::uint64_t init_memory_bytes = 40 << 20;
#else
constexpr std::uint64_t init_memory_bytes = 16 << 20;
#endif

TEST_CASE("init's memory does not grow with the size of a file") {
  Sandbox sandbox({.workspace_bytes = 128 << 20});
  put(sandbox, "f", std::string(64 << 20, 'x'));
  CHECK(sandbox.process().init_peak_memory_bytes() < init_memory_bytes);
  CHECK(printed(sandbox, "import os\nprint(os.path.getsize('f'))") == "67108864\n");
}
