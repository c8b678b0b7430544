// Ten thousand random calls of several clients at once, with delays and failures wherever a session
// waits for something. This file becomes two programs, one for each store.
#include "base/scope_exit.h"
#include "store/errors.h"
#include "tests/support/faulty_database.h"
#include "tests/support/open_sessions.h"

#include <doctest/doctest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdlib>
#include <map>
#include <random>
#include <set>

using namespace hearth;
using namespace std::chrono_literals;
using session::EndAction;
using store::SessionState;
using test::Files;
using test::Labels;
using test::OpenSessions;

namespace {

constexpr std::size_t clients = 12;
constexpr std::size_t most_sessions = 14;
constexpr std::size_t most_live = 5;

std::uint64_t seed() {
  const char* given = std::getenv("HEARTH_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

class Model {
 public:
  Model(const test::Disk& disk, std::uint64_t seed) : disk_(disk), random_(seed) { open(); }

  // All calls, then everything at rest.
  void round(std::size_t calls) {
    calls_left_ = calls;
    has_trouble_ = true;
    TaskGroup group(sessions_->loop().get_executor());
    for (std::size_t number = 0; number < clients; ++number) group.start("client", client());
    step_until([&] { return group.size() == 0; });
    has_trouble_ = false;
    check_at_rest();
  }
  void open() {
    sessions_.reset();
    sessions_.emplace(
        disk_,
        session::SessionOptions{
            .max_sandboxes = most_sessions, .max_live = most_live, .idle_timeout = 2000ms},
        [this](auto database) {
          return std::make_unique<test::FaultyDatabase>(
              std::move(database), [this](test::When when, store::Durability mode) {
                return store_trouble(when, mode);
              });
        });
    sessions_->world.trouble = [this](const std::string& step) { return trouble(step); };
    sessions_->world.on_begin = [this](const std::string& sandbox, const Labels& labels,
                                       const Files& files) { begun(sandbox, labels, files); };
    sessions_->world.on_end = [this](const Labels& labels, const Files& files) {
      last_files_[labels.at("key")] = files;
    };
  }
  std::map<std::string, std::size_t> seen{};

 private:
  // ---- chance

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  bool happens(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }

  // Most often short, sometimes as long as many other calls.
  Task<> delay() {
    if (!has_trouble_) co_return;
    const std::size_t turns_of_the_loop =
        happens(0.03) ? below(3000) : (happens(0.5) ? below(8) : 0);
    for (std::size_t turn = 0; turn < turns_of_the_loop; ++turn)
      co_await asio::post(asio::use_awaitable);
  }
  Task<> trouble(const std::string& step) {
    co_await delay();
    // The end of a sandbox is awaited until it comes.
    if (!has_trouble_ || step == "end" || !happens(0.02)) co_return;
    ++seen["failures of sandboxes"];
    throw Error("no luck: " + step);
  }
  Task<> store_trouble(test::When when, store::Durability durability) {
    co_await delay();
    // A mark that fails is tried again after a pause in real time.
    const double share = durability == store::Durability::relaxed ? 0.0005 : 0.02;
    if (!has_trouble_ || !happens(share)) co_return;
    ++seen[when == test::When::before ? "failures of the store" : "lost answers of the store"];
    throw store::StoreUnavailable("no luck with the store");
  }

  // ---- what must hold

  // A session that says nothing of lost work finds what its last sandbox had.
  void begun(const std::string& sandbox, const Labels& labels, const Files& files) {
    const auto last = last_files_.find(labels.at("key"));
    if (last != last_files_.end() && last->second != files) changed_.insert(sandbox);
  }
  void check_answer(const session::RunAnswer& answer) {
    if (!answer.resumed) return;
    ++seen["resumed"];
    if (answer.resumed->work_lost) {
      ++seen["work lost and told"];
    } else if (changed_.contains(answer.sandbox_id)) {
      FAIL_CHECK("work was lost and nothing said so");
    }
  }
  void check_step() {
    const session::SessionStats stats = (*sessions_)->stats();
    const std::size_t live = stats.warming + stats.warm + stats.waiting + stats.running;
    const bool adds_up = stats.total == stats.cold + live && stats.cold <= stats.total;
    if (!adds_up || stats.total > most_sessions || live > most_live ||
        sessions_->world.alive > most_live || !sessions_->world.broken.empty()) {
      CAPTURE(to_json(stats));
      CAPTURE(sessions_->world.alive);
      const std::string broken =
          sessions_->world.broken.empty() ? "nothing" : sessions_->world.broken.front();
      CAPTURE(broken);
      FAIL("an invariant does not hold");
    }
  }
  template <typename Condition>
  void step_until(Condition holds) {
    while (!holds()) {
      sessions_->loop().restart();
      if (sessions_->loop().run_one_for(60s) == 0) FAIL("a call is stuck");
      check_step();
    }
  }
  // The store, the disk and memory say the same, and every session can be used.
  void check_at_rest() {
    sessions_->run((*sessions_)->sweep());  // what is not certain is found out
    sessions_->run(sessions_->store().marked());
    const auto rows = sessions_->run(sessions_->store().counts());
    const session::SessionStats stats = (*sessions_)->stats();
    const auto count = [&](SessionState state) {
      return rows.contains(state) ? static_cast<std::size_t>(rows.at(state)) : 0;
    };
    CHECK(count(SessionState::cold) == stats.cold);
    CHECK(count(SessionState::warming) == stats.warming);
    CHECK(count(SessionState::warm) == stats.warm);
    CHECK(count(SessionState::waiting) == stats.waiting);
    CHECK(count(SessionState::running) == 0);
    CHECK(stats.running == 0);
    CHECK(stats.warming == 0);
    CHECK(sessions_->world.alive == stats.warm + stats.waiting);
    for (const std::string& id : ids_) try {
        check_answer(sessions_->turn(id, "read a"));
        check_commands(id);
        ++seen["alive at the end of a round"];
      } catch (const session::SessionGone&) {
        ++seen["gone at the end of a round"];
      } catch (const session::SessionNotFound&) {
        FAIL_CHECK("a session was forgotten");
      }
    std::set<std::string> known;
    for (const auto& view : sessions_->run((*sessions_)->list({.limit = 1000})))
      known.insert(view.record.id);
    for (const auto& place : std::filesystem::directory_iterator(disk_.snapshots()))
      CHECK_MESSAGE(known.contains(place.path().filename()), "a snapshot without a session");
    ids_ = std::move(known);
  }

  // ---- calls

  Task<> client() {
    while (calls_left_ > 0) {
      --calls_left_;
      sessions_->pass(std::chrono::milliseconds(below(120)));
      try {
        if (happens(0.1)) {
          co_await given_up(call(), below(200));
        } else {
          co_await call();
        }
      } catch (const session::SessionGone&) {
        ++seen["gone"];
      } catch (const pool::CapacityReached&) {
        ++seen["refused: capacity"];
      } catch (const session::SessionBusy&) {
        ++seen["refused: busy"];
      } catch (const Error&) {
        ++seen["failed"];
      } catch (const boost::system::system_error&) {
        ++seen["given up"];
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
      co_await asio::post(asio::use_awaitable);
    }
  }
  // A caller that has gone away before the answer.
  Task<> given_up(Task<> work, std::size_t turns_of_the_loop) {
    // What is spawned refers to this: a caller that gives up this one waits for it.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    const auto executor = sessions_->loop().get_executor();
    asio::cancellation_signal signal;
    AsyncEvent ended(executor);
    bool is_over = false;
    std::exception_ptr failure;
    asio::co_spawn(executor, std::move(work),
                   asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr thrown) {
                     failure = thrown;
                     is_over = true;
                     ended.notify_all();
                   }));
    for (std::size_t turn = 0; turn < turns_of_the_loop && !is_over; ++turn)
      co_await asio::post(asio::use_awaitable);
    if (!is_over) signal.emit(asio::cancellation_type::terminal);
    co_await ended.wait_until([&] { return is_over; });
    if (failure) std::rethrow_exception(failure);
  }

  Task<> call() {
    const std::size_t kind = below(100);
    if (ids_.size() < 3 || kind < 14) co_return co_await create();
    const std::string id =
        *std::next(ids_.begin(), static_cast<std::ptrdiff_t>(below(ids_.size())));
    session::SessionManager& manager = **sessions_;
    if (kind < 52) co_return co_await run(id);
    if (kind < 56) co_return co_await start(id);
    if (kind < 60) co_return co_await use(id);
    if (kind < 70) {
      co_await pause(id);
    } else if (kind < 78) {
      co_await manager.resume(id, "ann");
    } else if (kind < 84) {
      co_await manager.sweep();
    } else if (kind < 87) {
      co_await manager.remove(id, "ann");
      ++seen["removed"];
    } else if (kind < 90) {
      co_await manager.restart(id, "ann");
    } else if (kind < 93) {
      session::SessionPatch patch;
      if (happens(0.3)) patch.time_to_live.emplace(std::chrono::milliseconds(below(5000)));
      patch.on_expire = happens(0.5) ? EndAction::remove : EndAction::pause;
      co_await manager.update(id, "ann", std::move(patch));
    } else if (kind < 96) {
      co_await manager.get(id, "ann");
      co_await manager.interrupt(id, "ann");
    } else {
      co_await manager.list({.owner = "ann", .state = SessionState::waiting});
    }
  }
  Task<> create() {
    session::CreateRequest request{.owner = "ann", .blueprint = "default"};
    request.details.labels = {{"key", std::to_string(++last_key_)}};
    request.details.on_idle = happens(0.1) ? EndAction::remove : EndAction::pause;
    if (happens(0.3)) request.files = {{"a", "given"}};
    const session::SessionView view = co_await (*sessions_)->create(std::move(request));
    ids_.insert(view.record.id);
    ++seen["created"];
  }
  Task<> run(std::string id) {
    const std::string script =
        happens(0.06) ? "crash"
                      : (happens(0.6) ? "write a " + std::to_string(++last_text_) : "read a");
    const session::WhenBusy when_busy =
        happens(0.3) ? session::WhenBusy::refuse : session::WhenBusy::wait;
    execution::TurnRequest request{.script = script};
    check_answer(
        co_await (*sessions_)->run(std::move(id), "ann", std::move(request), {}, when_busy));
    ++seen["turns"];
  }

  Task<> pause(std::string id) {
    const auto background = static_cast<session::Background>(below(3));
    if (background == session::Background::wait)  // a command may run for ever
      co_return co_await given_up(pause_so(std::move(id), background), below(500));
    co_await pause_so(std::move(id), background);
  }
  Task<> pause_so(std::string id, session::Background background) {
    const session::PauseAnswer answer =
        co_await (*sessions_)->pause(std::move(id), "ann", background);
    ++seen["paused"];
    if (!answer.ended_executions.empty()) ++seen["paused with commands"];
    CHECK((background == session::Background::end || answer.ended_executions.empty()));
  }
  Task<> start(std::string id) {
    co_await (*sessions_)->start(std::move(id), "ann", {.shell = "serve"});
    ++seen["commands started"];
  }
  // Something that uses the sandbox for a while, and then ends what runs in the background.
  Task<> use(std::string id) {
    co_await (*sessions_)->use(std::move(id), "ann", [this](session::LiveSandbox& sandbox) {
      return hold(dynamic_cast<test::FakeSandbox&>(sandbox));
    });
    ++seen["used beside turns"];
  }
  Task<> hold(test::FakeSandbox& sandbox) {
    co_await delay();
    sandbox.end_commands();
  }
  static Task<> nothing() { co_return; }
  // What memory says of the commands of a session is so.
  void check_commands(const std::string& id) {
    while (sessions_->loop().poll() > 0) {
    }
    const std::vector<std::string> running = sessions_->run((*sessions_)->get(id, "ann")).running;
    if (running.empty()) return;
    std::set<std::string> there;
    sessions_->run((*sessions_)->use(id, "ann", [&there](session::LiveSandbox& sandbox) {
      there = dynamic_cast<test::FakeSandbox&>(sandbox).running();
      return nothing();
    }));
    CHECK(std::set<std::string>(running.begin(), running.end()) == there);
    ++seen["commands alive at the end of a round"];
  }

  const test::Disk& disk_;
  std::mt19937_64 random_;
  std::optional<OpenSessions> sessions_;
  std::size_t calls_left_ = 0;
  bool has_trouble_ = false;
  std::set<std::string> ids_;                // that a caller has been told
  std::map<std::string, Files> last_files_;  // of the last sandbox, by the label of its session
  std::set<std::string> changed_;            // sandboxes that began with others
  std::size_t last_key_ = 0;
  std::size_t last_text_ = 0;
};

}  // namespace

TEST_CASE("A2: A22: ten thousand random calls with failures leave no session stuck or torn") {
  const std::uint64_t chosen = seed();
  MESSAGE("HEARTH_TEST_SEED=", chosen);
  CAPTURE(chosen);
  // In memory: half of what a call does is to wait for a disk.
  const test::Disk disk("/dev/shm");
  Model model(disk, chosen);
  const std::size_t calls = disk.store.is_postgres() ? 2'000 : 10'000;
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    model.round(calls / 10);
    model.open();
  }
  for (const char* kind :
       {"created", "turns", "paused", "resumed", "removed", "gone", "failed", "given up",
        "work lost and told", "failures of sandboxes", "failures of the store",
        "lost answers of the store", "refused: busy", "commands started", "paused with commands",
        "used beside turns", "commands alive at the end of a round", "alive at the end of a round",
        "gone at the end of a round"}) {
    CAPTURE(kind);
    CHECK(model.seen[kind] > 0);
  }
}
