// Trees of version 2, in the kernel's own. Where there is none, or we are not root, these tests say
// so and pass; `make test-vm` runs them in a machine that has one, and there they must run.
#include "base/error.h"
#include "native/cgroup_tree.h"
#include "os/read_file.h"

#include <doctest/doctest.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>

using namespace hearth;
using namespace hearth::native;
namespace fs = std::filesystem;

namespace {

constexpr uid_t nobody = 65534;
constexpr std::size_t max_bytes = std::size_t{1} << 20;

CgroupMounts own_mounts() {
  return find_cgroup_mounts(os::read_file("/proc/self/mountinfo", max_bytes),
                            os::read_file("/proc/self/cgroup", max_bytes));
}

std::string value_in(const fs::path& file) {
  std::string value = os::read_file(file, max_bytes);
  while (value.ends_with('\n')) value.pop_back();
  return value;
}

void join(const fs::path& group) { std::ofstream(group / "cgroup.procs") << "0" << std::flush; }

fs::path group_of(pid_t pid) {
  return find_cgroup_mounts(os::read_file("/proc/self/mountinfo", max_bytes),
                            os::read_file("/proc/" + std::to_string(pid) + "/cgroup", max_bytes))
      .unified;
}

fs::path directory_of(const Cgroup& group) {
  const std::vector<os::UniqueFd> files = group.open_for_joining();
  return fs::read_symlink("/proc/self/fd/" + std::to_string(files.front().get())).parent_path();
}

void become(uid_t uid) {
  if (uid == 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 ||
      ::setresuid(uid, uid, uid) != 0)
    throw OsError("become another user");
}

// What `action` says in a process of its own in `group`, or what it throws.
std::string said_in(const fs::path& group, uid_t uid, const std::function<std::string()>& action) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::string text;
    try {
      join(group);
      become(uid);
      text = action();
    } catch (const std::exception& error) {
      text = std::string("error: ") + error.what();
    }
    ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string text(std::size_t{1} << 16, '\0');
  std::size_t size = 0;
  for (ssize_t got = 0; (got = ::read(ends[0], text.data() + size, text.size() - size)) > 0;)
    size += static_cast<std::size_t>(got);
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  text.resize(size);
  return text;
}

// A process that only lives in its group.
class Neighbour {
 public:
  explicit Neighbour(const fs::path& group) : pid_(::fork()) {
    if (pid_ == 0)
      while (true) ::pause();
    std::ofstream(group / "cgroup.procs") << pid_ << std::flush;
    REQUIRE(group_of(pid_) == group);
  }
  ~Neighbour() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// Groups to play in, all of which end with the tree they are in.
class Playground {
 public:
  Playground() : tree_(own_mounts()) {
    root_ = directory_of(*tree_.take(cgroup_limits({}))).parent_path();
    // An instance's group is closed to other users, which are to be in groups below this one.
    fs::permissions(root_, fs::perms::others_exec, fs::perm_options::add);
  }
  fs::path make(const std::string& name, uid_t owner = 0) const {
    const fs::path group = root_ / name;
    fs::create_directory(group);
    for (const fs::path& file : {group, group / "cgroup.procs", group / "cgroup.threads",
                                 group / "cgroup.subtree_control"})
      REQUIRE(::chown(file.c_str(), owner, owner) == 0);
    return group;
  }
  const fs::path& root() const { return root_; }

 private:
  CgroupTree tree_;
  fs::path root_;
};

std::unique_ptr<Playground> playground() {
  if (own_mounts().version == CgroupMounts::Version::v2 && ::geteuid() == 0)
    return std::make_unique<Playground>();
  if (std::getenv("HEARTH_TEST_CGROUP_V2") != nullptr) FAIL("no root, or no cgroup v2");
  MESSAGE("not tested: needs root and cgroup v2");
  return nullptr;
}

// Where Hearth makes its groups when started here, and where it is itself afterwards.
std::string bases() {
  CgroupTree tree(own_mounts());
  const fs::path made = directory_of(*tree.take(cgroup_limits({})));
  return made.parent_path().parent_path().string() + " " + group_of(::getpid()).string();
}

std::string error_and_group() {
  try {
    const CgroupTree tree(own_mounts());
    return "no error";
  } catch (const Error& error) {
    return group_of(::getpid()).string() + "\n" + error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cgroup v2: in the tree's root, groups are made beside the processes that live there") {
  const auto ground = playground();
  const fs::path own = own_mounts().unified;
  if (!ground || fs::exists(own / "cgroup.type")) return;
  const Neighbour neighbour(own);
  CHECK(said_in(own, 0, bases) == own.string() + " " + own.string());
  CHECK(group_of(neighbour.pid()) == own);
}

TEST_CASE("cgroup v2: alone in its group, Hearth steps aside and makes its groups in it") {
  const auto ground = playground();
  if (!ground) return;
  for (const uid_t user : {uid_t{0}, nobody}) {
    const fs::path group = ground->make("of-" + std::to_string(user), user);
    CHECK(said_in(group, user, bases) == group.string() + " " + (group / "hearth.self").string());
  }
}

TEST_CASE("cgroup v2: Hearth moves no process out of a group it shares, and says what to do") {
  const auto ground = playground();
  if (!ground) return;
  const fs::path group = ground->make("shared", nobody);
  const Neighbour neighbour(group);
  const std::string said = said_in(group, nobody, error_and_group);
  CAPTURE(said);
  CHECK(said.starts_with(group.string() + "\n"));
  CHECK(contains(said, group.string() + " holds other processes"));
  CHECK(contains(said, "Delegate=yes"));
  CHECK(group_of(neighbour.pid()) == group);
  CHECK_FALSE(fs::exists(group / "hearth.self"));
}

TEST_CASE("cgroup v2: Hearth stays in its group when one above it cannot be used") {
  const auto ground = playground();
  if (!ground) return;
  const fs::path outer = ground->make("outer", nobody);
  const fs::path inner = ground->make("outer/inner", nobody);  // has no controllers
  const Neighbour neighbour(outer);
  const std::string said = said_in(inner, nobody, error_and_group);
  CAPTURE(said);
  CHECK(said.starts_with(inner.string() + "\n"));
  CHECK(contains(said, inner.string() + " lacks controllers"));
  CHECK(contains(said, outer.string() + " holds other processes"));
  CHECK(group_of(neighbour.pid()) == outer);
  CHECK_FALSE(fs::exists(outer / "hearth.self"));
}

TEST_CASE("cgroup v2: a group above without processes is used from where Hearth is") {
  const auto ground = playground();
  if (!ground) return;
  const fs::path outer = ground->make("above", nobody);
  const fs::path inner = ground->make("above/inner", nobody);
  CHECK(said_in(inner, nobody, bases) == outer.string() + " " + inner.string());
}

TEST_CASE("cgroup v2: a group of another user is not used, and the error says so") {
  const auto ground = playground();
  if (!ground) return;
  const fs::path group = ground->make("foreign");
  const std::string said = said_in(group, nobody, error_and_group);
  CAPTURE(said);
  CHECK(said.starts_with(group.string() + "\n"));
  CHECK(contains(said, group.string() + " may not be written"));
}

TEST_CASE("cgroup v2: the kernel kills a prepared sandbox as one") {
  const auto ground = playground();
  if (!ground) return;
  CgroupTree tree(own_mounts());
  const auto made = tree.take(cgroup_limits({}));
  const fs::path group = directory_of(*made);
  // While it is isolated, its first process is still the zygote's memory.
  CHECK(value_in(group / "memory.oom.group") == "0");
  made->enter(Cgroup::Phase::preparing);
  CHECK(value_in(group / "memory.oom.group") == "1");
}

TEST_CASE("cgroup v2: what an instance left that was killed is removed by the next") {
  const auto ground = playground();
  if (!ground) return;
  const fs::path group = ground->make("crowded");  // so they use the group above
  const Neighbour neighbour(group);
  const fs::path left = said_in(group, 0, [] {
    auto* tree = new CgroupTree(own_mounts());  // NOLINT: never destroyed, as after SIGKILL
    const fs::path directory = directory_of(*tree->take(cgroup_limits({})).release());
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close_range(0, ~0U, 0);  // a sandbox has none of our descriptors, nor the lock
      while (true) ::pause();
    }
    std::ofstream(directory / "cgroup.procs") << pid << std::flush;
    return directory.string();
  });
  REQUIRE(left.parent_path().parent_path() == ground->root());
  REQUIRE_FALSE(value_in(left / "cgroup.procs").empty());
  CHECK(said_in(group, 0, bases) == ground->root().string() + " " + group.string());
  CHECK_FALSE(fs::exists(left));
  CHECK(group_of(neighbour.pid()) == group);
}
