// A blueprint can limit what its sandboxes read from the host's disks.
#include "async/within.h"
#include "os/disks.h"
#include "os/read_file.h"
#include "tests/support/host_view.h"
#include "tests/support/in_sandbox.h"
#include "tests/support/uncached_file.h"

#include <sys/sysmacros.h>

#include <chrono>

using namespace hearth;
using namespace hearth::test;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;

std::string why_unlimited() {
  const auto host = native_host();
  return host->cgroups ? host->cgroups->disk_limit_problem() : "there are no cgroups";
}

blueprint::SandboxConfig with_limit(std::int64_t mb_per_sec) {
  blueprint::SandboxConfig config;
  config.resource_limits.disk_read_mb_per_sec = mb_per_sec;
  return config;
}

native::ZygoteContent with_file(const UncachedFile& file) {
  native::ZygoteContent environment = plain_environment();
  environment.mounts = {{file.path().parent_path(), "/data", true}};
  return environment;
}

// Not the directory for temporary files, which may be memory.
fs::path own_directory() { return fs::read_symlink("/proc/self/exe").parent_path(); }

bool is_on_disk(const fs::path& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 &&
         fs::exists("/sys/dev/block/" + std::to_string(major(found.st_dev)) + ":" +
                    std::to_string(minor(found.st_dev)));
}

// Why a limit cannot be seen to work here; empty: it can.
std::string why_unseen() {
  if (const std::string problem = why_unlimited(); !problem.empty()) return problem;
  return is_on_disk(own_directory()) ? "" : own_directory().string() + " is on no disk";
}

std::string limits_of(const backend::Sandbox& sandbox) {
  const auto* const group = dynamic_cast<const native::NativeSandbox&>(sandbox).cgroup();
  for (const char* name : {os::disk_limit_file_v1, os::disk_limit_file_v2})
    if (const fs::path file = group->directories().back() / name; fs::exists(file))
      return os::read_file(file, most_bytes);
  return {};
}

std::string group_for_disks(const std::string& process) {
  const std::string text = os::read_file("/proc/" + process + "/cgroup", most_bytes);
  const std::size_t line = text.find(":blkio:");
  return line == std::string::npos ? "" : text.substr(line, text.find('\n', line) - line);
}

// Past the page cache, into one megabyte of memory again and again.
std::string reading(int megabytes) {
  return "import mmap, os, time\n"
         "buffer = mmap.mmap(-1, 1 << 20)\n"
         "file = os.open('/data/data', os.O_RDONLY | os.O_DIRECT)\n"
         "begun = time.monotonic()\n"
         "got = os.preadv(file, [buffer] * " +
         std::to_string(megabytes) +
         ", 0)\n"
         "print(time.monotonic() - begun)\n"
         "assert got == " +
         std::to_string(megabytes) + " << 20, got\n";
}

double seconds_to_read(int megabytes, const UncachedFile& file, std::int64_t mb_per_sec) {
  NativeSandboxes sandboxes(with_limit(mb_per_sec), with_file(file));
  return std::stod(printed(sandboxes, reading(megabytes)));
}

}  // namespace

TEST_CASE("a limit of disk reads holds for each disk there is") {
  if (const std::string problem = why_unlimited(); !problem.empty()) {
    MESSAGE("not tested: ", problem);
    return;
  }
  NativeSandboxes sandboxes(with_limit(3));
  const auto sandbox = sandboxes.spawn();
  const std::string limits = limits_of(*sandbox);
  const bool is_v2 = native::own_cgroup_mounts().version == native::CgroupMounts::Version::v2;
  for (const os::Disk& disk : os::disks())
    CHECK_MESSAGE(
        limits.find(disk.number + (is_v2 ? " rbps=" : " ") + "3145728") != std::string::npos,
        disk.device, " in ", limits);
  if (os::disks().empty()) CHECK(limits == "");
  CHECK(printed(sandboxes, *sandbox, "print('runs')") == "runs\n");
}

TEST_CASE("a sandbox whose disk reads are not limited is in no group for that") {
  NativeSandboxes limited(with_limit(why_unlimited().empty() ? 1 : 0));
  const auto neighbour = limited.spawn();
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  CHECK(group_for_disks(std::to_string(init_of(*sandbox))) == group_for_disks("self"));
  CHECK(limits_of(*sandbox) == "");
}

TEST_CASE("a script reads from the host's disk no faster than its blueprint says") {
  if (const std::string problem = why_unseen(); !problem.empty()) {
    MESSAGE("not tested: ", problem);
    return;
  }
  constexpr int megabytes = 4;
  const UncachedFile file(megabytes << 20, own_directory());
  const double unlimited = seconds_to_read(megabytes, file, 0);
  const double limited = seconds_to_read(megabytes, file, 1);
  // Without a limit it takes milliseconds.
  CHECK_MESSAGE(limited > 3 * unlimited, limited, " s against ", unlimited, " s");
}

TEST_CASE("a sandbox that waits for a limited disk ends with its time limit") {
  if (const std::string problem = why_unseen(); !problem.empty()) {
    MESSAGE("not tested: ", problem);
    return;
  }
  // Far more than it takes, far less than the read takes, in which no signal reaches the process.
  constexpr std::chrono::seconds patience{10};
  constexpr int megabytes = 60;
  const UncachedFile file(megabytes << 20, own_directory());
  NativeSandboxes sandboxes(with_limit(1), with_file(file));
  const auto sandbox = sandboxes.spawn();
  const auto result = sandboxes.run_in(*sandbox, reading(megabytes), 1);
  CHECK(execution::name_of(result.verdict) == "timeout");
  CHECK_FALSE(result.sandbox_usable);
  CHECK_NOTHROW(run_task(sandboxes.loop(), within(patience, sandbox->exited())));
}

TEST_CASE("a limit of disk reads that cannot be kept is refused by its name") {
  asio::io_context loop;
  const auto refusal_of = [&](std::shared_ptr<const native::NativeMachine> host) -> std::string {
    try {
      native::NativeSource(loop.get_executor(), std::move(host), with_limit(1),
                           plain_environment());
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const std::string words = "resource_limits.disk_read_mb_per_sec cannot be kept here: ";
  CHECK(refusal_of(std::make_shared<native::NativeMachine>()) == words + "there are no cgroups");
  const std::string problem = why_unlimited();
  CHECK(refusal_of(native_host()) == (problem.empty() ? "" : words + problem));
}
