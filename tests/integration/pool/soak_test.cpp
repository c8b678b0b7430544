// Many clients at once, some of whose scripts crash, hang or want too much: every turn has its
// verdict, and nothing is left. HEARTH_SOAK_TURNS and HEARTH_SOAK_CLIENTS make it longer.
#include "os/read_file.h"
#include "tests/support/host_view.h"
#include "tests/support/native_pool.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <sstream>

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

std::size_t number_from(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// AddressSanitizer keeps 256 MB of what was freed, and its notes on that, to recognise a late use.
#if __has_feature(address_sanitizer)
constexpr std::size_t growth_allowed_kilobytes = std::size_t{320} << 10;
#else
constexpr std::size_t growth_allowed_kilobytes = std::size_t{8} << 10;
#endif

// What ends after its time limit has timed out, whatever ended it, and a loaded machine can be slow
// to fill a sandbox's memory: only a script that is to meet that limit gets a short one.
struct Kind {
  const char* script;
  Verdict verdict;
  std::int64_t time_limit_seconds = 30;
};
constexpr Kind well{"print(sum(range(100)))", Verdict::ok};
constexpr Kind ill[] = {
    {"import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", Verdict::crashed},
    {"while True: pass", Verdict::timeout, 1},
    {"x = b'x' * (1 << 30)", Verdict::memory_limit},
};

const Kind& kind_of(std::size_t turn) {
  constexpr std::size_t one_in = 100;
  return turn % one_in == one_in - 1 ? ill[turn / one_in % std::size(ill)] : well;
}

std::string in_words(const Kind& kind, const execution::ExecutionResult& result) {
  std::ostringstream words;
  words << "not " << execution::name_of(kind.verdict) << " but "
        << execution::name_of(result.verdict) << ", after " << result.usage.wall_seconds << " s ("
        << result.usage.cpu_seconds << " s of them running) with "
        << (result.usage.peak_memory_bytes >> 20) << " MB: " << result.detail << ' '
        << (result.error ? result.error->traceback : "");
  return words.str();
}

std::size_t descendants() {
  std::size_t count = 0;
  for (pid_t pid : all_processes()) {
    while (pid > 1 && pid != ::getpid()) pid = parent_of(pid);
    if (pid == ::getpid()) ++count;
  }
  return count;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(
      std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

std::size_t mounts() { return os::read_file("/proc/self/mountinfo", std::size_t{16} << 20).size(); }

std::size_t own_memory_kilobytes() { return std::stoul(status_line(::getpid(), "VmRSS")); }

}  // namespace

TEST_CASE("P40: hundreds of clients at once, one turn in a hundred gone wrong") {
  const std::size_t turns = number_from("HEARTH_SOAK_TURNS", 2000);
  const std::size_t clients = number_from("HEARTH_SOAK_CLIENTS", 500);
  native_host();
  const std::size_t processes_before = descendants();
  const std::size_t descriptors_before = open_descriptors();
  const std::size_t mounts_before = mounts();
  std::map<Verdict, std::size_t> wanted;
  std::map<Verdict, std::size_t> seen;
  std::vector<std::string> surprises;
  std::size_t memory_early = 0;
  std::size_t memory_late = 0;
  {
    NativePool pool({pool_config("default", 4)}, pool_options(1, 8));
    pool.startup();
    std::size_t begun = 0;
    std::size_t clients_done = 0;
    std::exception_ptr failure;
    const auto client = [&]() -> Task<> {
      pool::CheckoutOptions options;
      options.patience = std::chrono::hours(1);
      while (begun < turns) {
        const Kind& kind = kind_of(begun++);
        ++wanted[kind.verdict];
        if (begun == turns / 4) memory_early = own_memory_kilobytes();
        options.execution_timeout_sec = kind.time_limit_seconds;
        pool::Lease lease = co_await pool.pool->checkout("default", options);
        const auto result = co_await execution::run_turn(lease, {.script = kind.script});
        ++seen[result.verdict];
        if (result.verdict != kind.verdict) surprises.push_back(in_words(kind, result));
      }
    };
    const auto client_ended = [&](const std::exception_ptr& thrown) {
      ++clients_done;
      if (thrown) failure = thrown;
    };
    for (std::size_t i = 0; i < clients; ++i) asio::co_spawn(pool.loop, client, client_ended);
    pool.run_until([&] { return clients_done == clients; });
    if (failure) std::rethrow_exception(failure);
    memory_late = own_memory_kilobytes();
    pool.run_until([&] { return pool.stats().live == 4 && pool.stats().idle == 4; });
    CHECK(pool.stats().leased == 0);
    CHECK(pool.stats().waiting == 0);
    CHECK(pool.stats().spawn_failures == 0);
  }
  for (const auto& [verdict, count] : seen) MESSAGE(execution::name_of(verdict) << ": " << count);
  for (const std::string& surprise : surprises) MESSAGE(surprise);
  CHECK(seen == wanted);
  CHECK(descendants() == processes_before);
  CHECK(open_descriptors() == descriptors_before);
  CHECK(mounts() == mounts_before);
  MESSAGE("memory after a quarter " << memory_early << " KB, at the end " << memory_late << " KB");
  CHECK(memory_late < memory_early + growth_allowed_kilobytes);
}
