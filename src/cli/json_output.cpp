#include "api/event_stream.h"
#include "api/result.h"
#include "cli/run_output.h"

#include <chrono>
#include <ostream>

namespace hearth::cli {
namespace {

class EventOutput : public RunOutput {
 public:
  explicit EventOutput(std::ostream& out) : out_(out) {}
  void started(const api::Execution& execution) override {
    stream_ = {};
    started_at_ = Clock::now();
    out_ << stream_.start(execution) << std::flush;
  }
  void event(const wire::Event& event) override {
    out_ << stream_.event(event, seconds_so_far()) << std::flush;
  }
  void ended(const execution::ExecutionResult& result, const api::Execution& execution) override {
    out_ << stream_.end(result, execution, seconds_so_far()) << std::flush;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_so_far() const {
    return std::chrono::duration<double>(Clock::now() - started_at_).count();
  }

  std::ostream& out_;
  api::EventStream stream_;
  Clock::time_point started_at_;
};

class ResultOutput : public RunOutput {
 public:
  explicit ResultOutput(std::ostream& out) : out_(out) {}
  void started(const api::Execution& /*execution*/) override {}
  void event(const wire::Event& /*event*/) override {}
  void ended(const execution::ExecutionResult& result, const api::Execution& execution) override {
    out_ << api::result_json(result, execution) << '\n' << std::flush;
  }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<RunOutput> event_output(std::ostream& out) {
  return std::make_unique<EventOutput>(out);
}

std::unique_ptr<RunOutput> result_output(std::ostream& out) {
  return std::make_unique<ResultOutput>(out);
}

}  // namespace hearth::cli
