#include "init/turn_runner.h"

#include "init/limits.h"
#include "init/polled.h"
#include "init/secrets.h"
#include "wire/encode.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::init {
void TurnRunner::accept(Turn turn) {
  const std::string missing = missing_secrets(turn.request().secrets, turn.request().env);
  if (!missing.empty())
    return turn.refuse(wire::Ending::missing_secret, "MissingSecret",
                       "required secrets are missing: " + missing);
  turn_.emplace(std::move(turn));
  worker_exited_ = false;
}

void TurnRunner::cancel(const wire::CancelRequest& request) {
  if (!turn_ || turn_->request().execution_id != request.execution_id) return;
  if (!turn_->started()) {
    turn_->refuse(wire::Ending::cancelled, "KeyboardInterrupt", "Script cancelled");
    turn_.reset();
    return;
  }
  turn_->cancel(Clock::now());
  // Once the worker is reaped, its pid may name another process.
  if (!worker_exited_) ::kill(worker().pid, SIGINT);
}

void TurnRunner::add_interests(std::vector<pollfd>& polled) const {
  if (!runs()) return;
  if (worker().request_pending()) watch(polled, worker().run_fd(), POLLOUT);
  if (host_.backlog() >= max_host_backlog_bytes) return;
  watch(polled, worker().stdout_fd(), POLLIN);
  watch(polled, worker().stderr_fd(), POLLIN);
  watch(polled, worker().emit_fd(), POLLIN);
}

void TurnRunner::note_output(const std::vector<pollfd>& polled) {
  text_waits_ = records_wait_ = false;
  if (!runs()) return;
  text_waits_ = has_event(polled, worker().stdout_fd()) || has_event(polled, worker().stderr_fd());
  records_wait_ = has_event(polled, worker().emit_fd());
}

Clock::time_point TurnRunner::wake_at() const {
  Clock::time_point wake = Clock::time_point::max();
  const bool awaits_worker = turn_ && !turn_->started() && !preparation_.under_way();
  if (awaits_worker && preparation_.retry_at() != Clock::time_point{})
    wake = preparation_.retry_at();
  if (runs() && !turn_->must_die() && !worker_exited_) wake = turn_->wake_at();
  if (!workers_.has_interactive()) return wake;
  const Worker& interactive = workers_.of(wire::Mode::interactive);
  return std::min({wake, interactive.check_at(), interactive.back_by()});
}

bool TurnRunner::handle_exit(pid_t pid, int wait_status, const rusage& usage) {
  if (!runs() || worker_exited_ || pid != worker().pid) return false;
  worker_exited_ = true;
  worker().pid = 0;
  turn_->process_ended(wait_status, usage);
  return true;
}

void TurnRunner::add_reaped_usage(const rusage& usage) {
  if (turn_) turn_->add_reaped_usage(usage);
}

void TurnRunner::note_memory_kill(const std::string& why) {
  memory_kills_.note_own();
  if (runs()) host_.send({turn_->request().execution_id, wire::Log{"warning", why}});
}

void TurnRunner::advance(Clock::time_point now) {
  if (workers_.has_interactive() && workers_.of(wire::Mode::interactive).expected_back())
    await_return(now);
  if (turn_ && !turn_->started()) start(now);
  if (runs()) advance_running(now);
}

void TurnRunner::start(Clock::time_point now) {
  // No turn runs while a worker is forked: the sweep at its end would kill a worker whose pid is
  // not known yet.
  if (preparation_.under_way()) return workers_.resume_stopped();
  const wire::Mode mode = turn_->request().mode;
  const bool is_new = !workers_.has_one_for(mode);
  if (is_new && !workers_.has_prepared()) {
    if (!preparation_.can_make()) {
      turn_->refuse(wire::Ending::refused, "SandboxFailed", "the harness has exited");
      turn_.reset();
    } else if (preparation_.has_succeeded() && now >= preparation_.retry_at()) {
      preparation_.start();
    }
    return;
  }
  Worker& worker = is_new ? workers_.take(mode) : workers_.of(mode);
  if (turn_->interactive()) report_earlier_steps(worker, is_new);
  start_in(worker, now);
}

void TurnRunner::start_in(Worker& worker, Clock::time_point now) {
  if (workers_.leftovers_possible()) ::kill(worker.pid, SIGCONT);  // one may have stopped it
  if (turn_->interactive()) workers_.expect_leftovers();
  turn_->start(now, worker.usage.cpu_seconds(), memory_kills_.count());
  worker.queue_request(wire::encode_for_worker(turn_->request(), turn_->mark()));
}

// What the caller should know before the next step.
void TurnRunner::report_earlier_steps(Worker& worker, bool is_new) {
  const auto warn = [this](std::string message) {
    host_.send({turn_->request().execution_id, wire::Log{"warning", std::move(message)}});
  };
  const std::string_view loss = workers_.take_loss();
  if (!loss.empty()) warn("the process with the earlier steps' variables " + std::string(loss));
  const Worker::Dropped dropped = is_new ? Worker::Dropped{} : worker.drop_output();
  if (dropped.text_bytes + dropped.records > 0)
    warn("output between the steps was dropped: " + std::to_string(dropped.text_bytes) +
         " bytes of text, " + std::to_string(dropped.records) + " records");
}

void TurnRunner::advance_running(Clock::time_point now) {
  if (worker().request_pending()) worker().flush_request();
  if ((text_waits_ || records_wait_) && host_.backlog() < max_host_backlog_bytes)
    worker().pump(*turn_, text_waits_);
  if (turn_->take_second_interrupt(now) && !worker_exited_) ::kill(worker().pid, SIGINT);
  if (now >= turn_->kill_at() && !worker_exited_) turn_->out_of_time();
  if (worker_exited_) {
    end(now);
  } else if (turn_->must_die()) {
    sweep(now);
  } else if (turn_->interactive() && turn_->claimed_end()) {
    end_step();
  }
}

bool TurnRunner::sweep(Clock::time_point now) {
  const bool exited_by_itself = worker_exited_ && !turn_->must_die();
  std::vector<pid_t> spared = workers_.spared_after_turn(turn_->request().mode, exited_by_itself);
  if (preparation_.maker_pid() > 0) spared.push_back(preparation_.maker_pid());
  return sweep_.advance(now, spared);
}

// The worker stays for the next step.
void TurnRunner::end_step() {
  const Clock::time_point now = Clock::now();
  const StepUsage::Measured used = worker().usage.end_step(worker().pid, turn_->lasted(now));
  turn_->set_peak_memory(used.peak_memory_bytes);
  turn_->conclude(now, false, used.cpu_seconds, memory_kills_.count());
  worker().expect_back(now + return_check_delay, std::max(turn_->kill_at(), now + return_patience));
  turn_.reset();
}

// The deadline of a step holds after its reported end, too, until its worker waits for the next.
void TurnRunner::await_return(Clock::time_point now) {
  Worker& interactive = workers_.of(wire::Mode::interactive);
  if (now >= interactive.check_at()) interactive.send_check(now);
  if (now < interactive.back_by()) return;
  interactive.forget_return();
  const bool is_ending = turn_ && turn_->interactive() && (worker_exited_ || turn_->must_die());
  if (!is_ending && !interactive.has_come_back()) replace_interactive_worker();
}

// A step that was given to it has not begun, and gets another worker.
void TurnRunner::replace_interactive_worker() {
  const bool step_waits = runs() && turn_->interactive();
  if (step_waits && turn_->cancel_requested()) {
    turn_->refuse(wire::Ending::cancelled, "KeyboardInterrupt", "Script cancelled");
    turn_.reset();
  } else if (step_waits) {
    turn_->withdraw();
  }
  workers_.kill_interactive("was killed: it ran on past its deadline after the end of its step");
}

void TurnRunner::end(Clock::time_point now) {
  if (!sweep(now)) return;
  // All writers are gone, so the loop ends; but the host may have to read some of it first.
  while (!worker().drained()) {
    if (host_.backlog() >= max_host_backlog_bytes) return;
    if (!worker().pump(*turn_)) break;
  }
  worker().finish(*turn_);
  turn_->conclude(Clock::now(), turn_->interactive(), 0, memory_kills_.count());
  // The worker's memory is freed after the host has its answer, and this CPU if it waited for it.
  host_.flush();
  ::sched_yield();
  workers_.remove(turn_->request().mode);
  turn_.reset();
  worker_exited_ = false;
  preparation_.postpone_to(now + prepare_delay);
}

}  // namespace hearth::init
