// async/shared_work.h: blocking work that several callers want at once and that is done once. A
// caller that asks while it runs gets the same result. One that asks later starts it again: results
// are not kept.
#pragma once

#include "async/event.h"
#include "async/task.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace hearth {

// All but `Job` happens on the loop. `T` is copied for each caller.
template <typename T>
class SharedWork {
 public:
  using Report = std::function<void(std::string)>;               // called by the thread
  using OnReport = std::function<void(const std::string&)>;      // on the loop; must not throw
  using Job = std::function<T(std::stop_token, const Report&)>;  // in a thread of its own

  SharedWork(asio::any_io_executor loop, std::size_t threads)
      : loop_(std::move(loop)), runs_(std::make_shared<Runs>()), threads_(threads) {}
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;
  // Asks all work to stop and waits until it has. No caller may still wait for a result.
  ~SharedWork() {
    for (const auto& [key, run] : *runs_) run->stop.request_stop();
    threads_.join();
  }

  // The result of the work that runs for `key`, or of `job` if none does. A caller that is
  // cancelled leaves the work to the others; when the last one is, the work is asked to stop.
  // Reports come in order, before the result, from the moment of the call on.
  Task<T> run(std::string key, Job job, OnReport on_report = {}) {
    while (true) {
      const auto running = runs_->find(key);
      const std::shared_ptr<Run> run = running == runs_->end() ? start(key, job) : running->second;
      // Work that was asked to stop, because all callers had left, has no result for a new one.
      const bool is_given_up = run->stop.stop_requested();
      std::optional<Caller> caller;
      if (!is_given_up) caller.emplace(*run, on_report);
      co_await run->finished.wait_until([&run] { return run->done; });
      if (is_given_up) continue;
      if (run->failure) std::rethrow_exception(run->failure);
      co_return *run->value;
    }
  }

 private:
  struct Run {
    explicit Run(const asio::any_io_executor& loop) : finished(loop) {}
    AsyncEvent finished;
    std::stop_source stop;
    std::map<std::size_t, OnReport> callers;
    std::size_t next_caller = 0;
    bool done = false;
    std::exception_ptr failure;
    std::optional<T> value;
  };
  using Runs = std::map<std::string, std::shared_ptr<Run>>;

  class Caller {
   public:
    Caller(Run& run, OnReport on_report) : run_(run), number_(run.next_caller++) {
      run_.callers.emplace(number_, std::move(on_report));
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    ~Caller() {
      run_.callers.erase(number_);
      if (run_.callers.empty() && !run_.done) run_.stop.request_stop();
    }

   private:
    Run& run_;
    std::size_t number_;
  };

  std::shared_ptr<Run> start(const std::string& key, Job job) {
    auto run = std::make_shared<Run>(loop_);
    runs_->emplace(key, run);
    asio::post(threads_, [loop = loop_, runs = runs_, key, job = std::move(job), run]() mutable {
      work(loop, std::move(run), job, [runs = std::move(runs), key] { runs->erase(key); });
    });
    return run;
  }

  // In a thread. `run` is handed back to the loop, which destroys it.
  template <typename Forget>
  static void work(const asio::any_io_executor& loop, std::shared_ptr<Run> run, const Job& job,
                   Forget forget) {
    const Report report = [&](std::string text) {
      asio::post(loop, [run, text = std::move(text)] {
        for (const auto& [number, on_report] : run->callers) {
          if (on_report) on_report(text);
        }
      });
    };
    std::optional<T> value;
    std::exception_ptr failure;
    try {
      value = job(run->stop.get_token(), report);
    } catch (...) {
      failure = std::current_exception();
    }
    asio::post(loop, [run = std::move(run), value = std::move(value), failure,
                      forget = std::move(forget)]() mutable {
      run->value = std::move(value);
      run->failure = failure;
      run->done = true;
      forget();
      run->finished.notify_all();
    });
  }

  asio::any_io_executor loop_;
  std::shared_ptr<Runs> runs_;  // outlives this in what the loop has still to do
  asio::thread_pool threads_;
};

}  // namespace hearth
