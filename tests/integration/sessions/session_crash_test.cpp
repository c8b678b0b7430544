// What is left of a session when a system call fails, or when its process is killed: its old or its
// new workspace, whole. This file becomes two programs, one for each store.
#include "tests/support/faulty_calls.h"
#include "tests/support/open_sessions.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <thread>

using namespace hearth;
using namespace std::chrono_literals;
using test::Disk;
using test::Fault;
using test::FaultyCalls;
using test::OpenSessions;

namespace {

constexpr std::array<const char*, 3> file_names{"a", "b", "c"};

// Its files differ in size from one version to the next, and do not compress.
std::string content(std::uint64_t version, const std::string& file) {
  std::mt19937_64 random(version * 31 + static_cast<std::uint64_t>(file[0]));
  std::string text = std::to_string(version) + ":";
  const std::size_t size = random() % 60'000;
  while (text.size() < size) text += std::to_string(random());
  return text;
}

void write_version(OpenSessions& sessions, const std::string& id, std::uint64_t version) {
  for (const char* file : file_names)
    sessions.turn(id, std::string("write ") + file + " " + content(version, file));
}

// The version of its workspace; a mix of two, or a workspace that is not whole, is a failure.
std::uint64_t version_of(OpenSessions& sessions, const std::string& id, bool& work_lost) {
  const session::RunAnswer answer = sessions.turn(id, "read a");
  work_lost = answer.resumed && answer.resumed->work_lost;
  const std::uint64_t version = std::strtoull(answer.result.stdout_text.c_str(), nullptr, 10);
  for (const char* file : file_names) {
    const bool is_whole =
        sessions.turn(id, std::string("read ") + file).result.stdout_text == content(version, file);
    CHECK_MESSAGE(is_whole, file << " is not that of version " << version);
  }
  return version;
}

// What a process tells although it is killed.
struct Told {
  std::atomic<int> step{0};
  std::array<std::atomic<std::uint64_t>, 8> written{};  // by the last turn that has ended
  std::array<std::atomic<std::uint64_t>, 8> kept{};     // by the last pause that has succeeded
  std::array<std::array<char, 40>, 8> ids{};
};

class SharedTold {
 public:
  SharedTold()
      : told_(new(::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0)) Told) {}
  ~SharedTold() { ::munmap(told_, sizeof(Told)); }
  SharedTold(const SharedTold&) = delete;
  SharedTold& operator=(const SharedTold&) = delete;
  Told& operator*() const { return *told_; }
  Told* operator->() const { return told_; }
  std::string id(std::size_t number) const { return told_->ids.at(number).data(); }
  void set_id(std::size_t number, const std::string& id) const {
    id.copy(told_->ids.at(number).data(), id.size());
  }

 private:
  Told* told_;
};

// ---- kill -9 at random moments

enum class Phase { pause, sweep, evict, resume };
constexpr std::size_t phases = 4;
constexpr std::size_t session_count = 6;

session::SessionOptions killed_options() {
  return {.max_sandboxes = 100, .max_live = session_count, .idle_timeout = 1000ms};
}

// What is to be killed: step 1 begins after the preparation.
[[noreturn]] void work_until_killed(const Disk& disk, const SharedTold& told, Phase phase) {
  session::SessionOptions options = killed_options();
  if (phase == Phase::evict) options.max_live = 2;
  auto* sessions = new OpenSessions(disk, std::move(options));
  for (std::size_t number = 0; true; number = (number + 1) % session_count) {
    const std::string id = told.id(number);
    const std::uint64_t version = told->written.at(number) + 1;
    told->written.at(number) = version;  // it is, from here on, or is lost
    write_version(*sessions, id, version);
    told->step = 1;
    switch (phase) {
      case Phase::pause:
        sessions->run((*sessions)->pause(id, "ann"));
        break;
      case Phase::sweep:
        sessions->pass(2s);
        sessions->run((*sessions)->sweep());
        break;
      case Phase::evict:  // the next version needs the place of an idle session
        break;
      case Phase::resume:
        sessions->run((*sessions)->pause(id, "ann"));
        sessions->run((*sessions)->resume(id, "ann"));
        break;
    }
    if (phase != Phase::evict) told->kept.at(number) = version;
  }
}

// Returns how many sessions had lost something.
std::size_t check_all(const Disk& disk, const SharedTold& told) {
  std::size_t behind = 0;
  OpenSessions sessions(disk, killed_options());
  for (std::size_t number = 0; number < session_count; ++number) {
    CAPTURE(number);
    bool work_lost = false;
    const std::uint64_t version = version_of(sessions, told.id(number), work_lost);
    CHECK(version >= told->kept.at(number));
    CHECK(version <= told->written.at(number));
    if (version < told->written.at(number) && !work_lost)
      // The turn that was to write it may not have begun.
      CHECK(version + 1 == told->written.at(number));
    if (work_lost) ++behind;
    told->kept.at(number) = told->written.at(number) = version;
    sessions.run(sessions->pause(told.id(number), "ann"));
  }
  return behind;
}

std::size_t kill_during(const Disk& disk, const SharedTold& told, Phase phase,
                        std::chrono::microseconds delay) {
  told->step = 0;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) work_until_killed(disk, told, phase);
  while (told->step == 0) std::this_thread::yield();
  std::this_thread::sleep_for(delay);
  ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  return check_all(disk, told);
}

// ---- a fault at each system call

enum class Path { pause, resume, copy };

Task<> go(session::SessionManager& sessions, std::string id, Path path) {
  if (path == Path::pause) {
    co_await sessions.pause(id, "ann");
  } else if (path == Path::resume) {
    co_await sessions.resume(id, "ann");
  } else {
    session::CreateRequest copy{.owner = "ann", .blueprint = "default"};
    copy.from = session::SnapshotOrigin{.session_id = id};
    co_await sessions.create(std::move(copy));
  }
}

// In a process of its own, which is killed at the end: whatever it has in memory is not there for
// the next one. Returns whether there were so many calls.
bool is_hit(const Disk& disk, const SharedTold& told, Path path, Fault fault, long number) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto* sessions = new OpenSessions(disk);
    const std::string id = sessions->create();
    told.set_id(0, id);
    write_version(*sessions, id, 1);
    sessions->run((*sessions)->pause(id, "ann"));
    told->kept[0] = 1;
    if (path == Path::pause) {
      write_version(*sessions, id, 2);
      told->written[0] = 2;
    }
    sessions->run(sessions->store().marked());
    FaultyCalls::arm(fault, number);
    told->step = 1;
    bool has_succeeded = true;
    try {
      sessions->run(go(**sessions, id, path));
    } catch (const Error&) {
      has_succeeded = false;
    }
    const bool was_hit = FaultyCalls::disarm();
    if (has_succeeded && path == Path::pause) told->kept[0] = 2;
    told->step = was_hit ? 2 : 3;
    // The process that had the failure goes on with what it had.
    bool work_lost = false;
    const std::uint64_t version = version_of(*sessions, id, work_lost);
    if (version != (path == Path::pause ? 2 : 1) || work_lost) told->step = -1;
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(told->step != -1);
  REQUIRE(told->step != 0);
  return told->step != 3;
}

// Nothing refers to what is left without a record, and nothing would ever remove it.
void check_snapshots_have_records(const Disk& disk, OpenSessions& sessions) {
  for (const auto& place : std::filesystem::directory_iterator(disk.snapshots())) {
    const std::string id = place.path().filename();
    CHECK_MESSAGE(sessions.run(sessions.store().find(id)), "a snapshot without a record");
  }
}

// Returns how many calls there are on the way.
long try_each_call(Path path, Fault fault) {
  for (long number = 1;; ++number) {
    CAPTURE(number);
    const Disk disk("/dev/shm");
    const SharedTold told;
    const bool was_hit = is_hit(disk, told, path, fault, number);
    OpenSessions sessions(disk);
    bool work_lost = false;
    const std::uint64_t version = version_of(sessions, told.id(0), work_lost);
    CHECK(version >= told->kept[0]);
    const bool is_behind = version < told->written[0];
    if (is_behind) CHECK(work_lost);
    CHECK(sessions.run(sessions->pause(told.id(0), "ann")).generation >= 1);
    check_snapshots_have_records(disk, sessions);
    if (!was_hit || number > 500) return number - 1;
  }
}

}  // namespace

TEST_CASE(
    "A9: A15: A20: after 200 kills in pauses, sweeps, evictions and resumes nothing is torn") {
  const Disk disk("/dev/shm");
  const SharedTold told;
  {
    OpenSessions sessions(disk, killed_options());
    for (std::size_t number = 0; number < session_count; ++number) {
      const std::string id = sessions.create();
      told.set_id(number, id);
      write_version(sessions, id, 1);
      told->written.at(number) = told->kept.at(number) = 1;
    }
  }
  std::random_device random;
  const std::size_t kills = disk.store.is_postgres() ? 40 : 200;
  std::size_t behind = 0;
  for (std::size_t kill = 0; kill < kills; ++kill) {
    const auto phase = static_cast<Phase>(kill % phases);
    const std::chrono::microseconds delay(random() % 20'000);
    CAPTURE(kill);
    CAPTURE(delay.count());
    behind += kill_during(disk, told, phase, delay);
  }
  CHECK(behind > kills / 10);  // they did hit
}

TEST_CASE("A3: A9: a fault at any system call of a pause leaves the old or the new workspace") {
  Fault fault = Fault::none;
  SUBCASE("no space") { fault = Fault::no_space; }
  SUBCASE("an error of the disk") { fault = Fault::io_error; }
  SUBCASE("a short write") { fault = Fault::short_write; }
  SUBCASE("kill -9") { fault = Fault::kill; }
  const long calls = try_each_call(Path::pause, fault);
  // Directory, archive, manifest, their syncs and names, and, but for Postgres, the record.
  CHECK(calls > (fault == Fault::short_write ? 2 : 15));
  CHECK(calls < 500);
}

TEST_CASE("A20: a fault at any system call of a resume is an error, never another workspace") {
  Fault fault = Fault::none;
  SUBCASE("an error of the disk") { fault = Fault::io_error; }
  SUBCASE("kill -9") { fault = Fault::kill; }
  const long calls = try_each_call(Path::resume, fault);
  CHECK(calls > 5);
  CHECK(calls < 500);
}

TEST_CASE("A3: a fault at any system call of a create from a snapshot leaves no files behind") {
  Fault fault = Fault::none;
  SUBCASE("no space") { fault = Fault::no_space; }
  SUBCASE("kill -9") { fault = Fault::kill; }
  const long calls = try_each_call(Path::copy, fault);
  CHECK(calls > 10);
  CHECK(calls < 500);
}
