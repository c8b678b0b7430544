#include "init/worker_slots.h"

#include <signal.h>

namespace hearth::init {
namespace {

bool forget_holder(std::optional<Worker>& worker, pid_t pid) {
  if (!worker || worker->holder.pid != pid) return false;
  worker->holder.pid = 0;
  return true;
}

bool forget_worker(std::optional<Worker>& worker, pid_t pid) {
  if (!worker || worker->pid != pid) return false;
  worker->holder.kill();
  worker.reset();
  return true;
}

void add_pids(std::vector<pid_t>& pids, const std::optional<Worker>& worker) {
  if (!worker) return;
  for (const pid_t pid : {worker->pid, worker->holder.pid})
    if (pid > 0) pids.push_back(pid);
}

}  // namespace

Worker& WorkerSlots::take(wire::Mode mode) {
  std::optional<Worker>& worker = slot(mode);
  worker = std::exchange(prepared_, std::nullopt);
  worker->holder.note_cpu_time();
  worker->usage.begin(worker->pid);  // not earlier: a prepared worker rehearses
  return *worker;
}

void WorkerSlots::remove(wire::Mode mode) {
  slot(mode)->holder.kill();
  slot(mode).reset();
  leftovers_possible_ = interactive_.has_value();
}

void WorkerSlots::kill_interactive(std::string_view why) {
  ::kill(interactive_->pid, SIGKILL);
  interactive_->holder.kill();
  interactive_.reset();
  loss_ = why;
}

void WorkerSlots::forget_all() {
  prepared_.reset();
  interactive_.reset();
  loss_ = {};
  leftovers_possible_ = false;
}

bool WorkerSlots::handle_exit(pid_t pid) {
  for (std::optional<Worker>* worker : {&plan_, &interactive_, &prepared_})
    if (forget_holder(*worker, pid)) return true;
  if (forget_worker(interactive_, pid)) {
    loss_ = "has exited";
    return true;
  }
  return forget_worker(prepared_, pid);
}

void WorkerSlots::resume_stopped() const {
  if (leftovers_possible()) ::kill(-1, SIGCONT);
}

std::vector<pid_t> WorkerSlots::pids() const {
  std::vector<pid_t> pids;
  for (const auto* worker : {&prepared_, &interactive_, &plan_}) add_pids(pids, *worker);
  return pids;
}

std::vector<pid_t> WorkerSlots::prepared_pids() const {
  std::vector<pid_t> pids;
  add_pids(pids, prepared_);
  return pids;
}

std::vector<pid_t> WorkerSlots::spared_after_turn(wire::Mode mode, bool worker_exited) const {
  std::vector<pid_t> spared;
  spared.reserve(8);  // two for each worker, and those that the caller adds
  add_pids(spared, prepared_);
  if (mode != wire::Mode::interactive) add_pids(spared, interactive_);
  // The holder delays the freeing of the memory until the host has its answer.
  if (worker_exited && !of(mode).holder.has_run()) add_pids(spared, slot(mode));
  return spared;
}

}  // namespace hearth::init
