// The part of Supervisor that makes workers, gives them turns and sees to their end.
#include "base/error.h"
#include "init/limits.h"
#include "init/supervisor.h"
#include "init/user_list.h"
#include "wire/encode.h"
#include "wire/member_reader.h"
#include "wire/protocol_error.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace hearth::init {
namespace {

// Before a worker has a script there is nothing to hear from it but that it is there.
class PreparationSink : public OutputSink {
 public:
  pid_t starting = 0;
  pid_t pid = 0;
  pid_t holder = 0;
  std::string failure;
  void on_text(Stream /*stream*/, std::string_view /*bytes*/) override {}
  void on_malformed_record() override {}
  void on_record(std::string_view json) override try {
    wire::MemberReader members(json);
    const std::string type = members.string("type");
    if (type == "starting") starting = static_cast<pid_t>(members.count("pid"));
    if (type == "prepare_failed") failure = members.string("message");
    if (type != "prepared") return;
    pid = static_cast<pid_t>(members.count("pid"));
    holder = static_cast<pid_t>(members.count("holder"));
  } catch (const wire::ProtocolError&) {
    on_malformed_record();
  }
};

// The kernel's name for the clock of a process, which clock_getcpuclockid would have it check.
clockid_t cpu_clock_of(pid_t pid) {
  constexpr clockid_t of_time_on_processors = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3) | of_time_on_processors;
}

double cpu_seconds_of(pid_t pid) {
  timespec used{};
  if (pid <= 0 || ::clock_gettime(cpu_clock_of(pid), &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

// Of its children that ended and were waited for, to the kernel's hundredth of a second. It is not
// in the clock of a process.
double waited_children_seconds_of(pid_t pid) {
  constexpr int fields_before = 13;  // after the name, which may hold anything
  std::array<char, 1024> text;       // NOLINT: filled by read
  const os::UniqueFd file(
      ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  std::string_view rest(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  rest.remove_prefix(std::min(rest.rfind(") ") + 2, rest.size()));
  for (int i = 0; i < fields_before; ++i)
    rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  const auto user = std::from_chars(rest.data(), rest.data() + rest.size(), user_ticks);
  if (user.ec == std::errc() && user.ptr < rest.data() + rest.size())
    std::from_chars(user.ptr + 1, rest.data() + rest.size(), system_ticks);
  return static_cast<double>(user_ticks + system_ticks) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The high-water mark of a process that lives on, for which there is no rusage.
std::uint64_t peak_memory_of(Worker& worker) {
  if (!worker.status)
    worker.status.reset(
        ::open(("/proc/" + std::to_string(worker.pid) + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2048> text;  // NOLINT: filled by pread
  const ssize_t size = ::pread(worker.status.get(), text.data(), text.size(), 0);
  std::string_view rest(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  rest.remove_prefix(std::min(rest.find("VmHWM:"), rest.size()));
  rest.remove_prefix(std::min(rest.find_first_of("0123456789"), rest.size()));
  std::uint64_t kilobytes = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kilobytes);
  return kilobytes * 1024;
}

mode_t mode_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0700;
}

// Blocked signals alone do not keep a holder out of the script's hands: whoever stops and continues
// it, or traces it, brings it back to user space, where all memory is the script's. But it cannot
// do anything there without using the processor.
bool holder_never_ran(const Worker& worker) {
  return cpu_seconds_of(worker.holder) == worker.holder_cpu_seconds;
}

void kill_holder(const Worker& worker) {
  if (worker.holder > 0) ::kill(worker.holder, SIGKILL);
}

}  // namespace

Supervisor::WipedDirectory::WipedDirectory(std::string where)
    : path(std::move(where)), mode(mode_of(path)) {}

void Supervisor::handle_harness() {
  std::optional<HarnessMessage> message = harness_.receive();
  if (!message) return;
  if (const auto* ready = std::get_if<HarnessReady>(&*message)) {
    ready_ = wire::Ready{ready->python, ready->version};
    harness_limits_.emplace(harness_.pid());
    network_.emplace();
    prepare_worker();
  } else if (const auto* failed = std::get_if<HarnessFailed>(&*message)) {
    give_up(failed->message, failed->traceback);
  } else if (auto* refusal = std::get_if<PrepareFailed>(&*message)) {
    prepare_failure_ = std::move(refusal->message);
    if (std::exchange(preparing_, std::nullopt)) prepare_worker();
  }
}

void Supervisor::harness_ended() {
  harness_.mark_dead();
  if (was_ready_ && !ready_) return;
  // Whoever is told of its end first has not heard its last words yet, which say why.
  const std::optional<HarnessMessage> last = harness_.receive();
  if (const auto* failed = last ? std::get_if<HarnessFailed>(&*last) : nullptr)
    return give_up(failed->message, failed->traceback);
  give_up("the harness ended before it was ready");
}

void Supervisor::prepare_worker() try {
  if (++prepare_attempts_ > max_prepare_attempts)
    return give_up("no worker can be prepared: " +
                   (prepare_failure_.empty() ? "they end at once" : prepare_failure_));
  if (harness_.pid() > 0 && !harness_limits_->hold_in(harness_.pid()))
    return give_up("a script has changed the limits or the priority of the harness");
  if (!own_limits_.hold_in(::getpid()))
    return give_up("a script has changed the limits or the priority of init");
  preparing_ = harness_.prepare();
} catch (const OsError& error) {
  // Most likely the harness was killed and not yet reaped. What a turn said last must get out.
  give_up(error.what());
}

void Supervisor::watch_preparation() {
  PreparationSink sink;
  preparing_->pump(sink);
  if (sink.starting > 0) preparing_->pid = sink.starting;
  // One that was killed right after its word, and reaped before we read it, would never be missed:
  // its holder may keep its pipes open.
  const bool was_killed = preparing_->pid > 0 && ::kill(preparing_->pid, 0) != 0;
  if (!sink.failure.empty()) prepare_failure_ = std::move(sink.failure);
  if (sink.pid > 0 && !was_killed) {
    preparing_->pid = sink.pid;
    preparing_->holder = sink.holder;
    prepared_ = std::exchange(preparing_, std::nullopt);
    prepare_attempts_ = 0;
    prepare_failure_.clear();
    announce_prepared();
  } else if (was_killed || preparing_->emit_fd() < 0) {
    preparing_.reset();
    if (harness_.alive()) prepare_worker();
  }
}

void Supervisor::announce_prepared() {
  if (ready_) host_.send({{}, *std::exchange(ready_, std::nullopt)});
  was_ready_ = true;
  if (reset_ != Reset::preparing) return;
  reset_ = Reset::none;
  host_.send({{}, reset_result_});
}

// A number must be forgotten as soon as it is reaped: from then on it may name a stranger.
void Supervisor::worker_ended(pid_t pid, int wait_status, const rusage& usage) {
  for (std::optional<Worker>* worker : {&plan_, &interactive_, &prepared_})
    if (*worker && (*worker)->holder == pid) {
      (*worker)->holder = 0;
      return;
    }
  if (turn_ && turn_->started() && !worker_is_over_ && pid == turn_worker().pid) {
    worker_is_over_ = true;
    turn_worker().pid = 0;
    turn_->process_ended(wait_status, usage);
  } else if (interactive_ && pid == interactive_->pid) {
    kill_holder(*interactive_);
    interactive_.reset();
    interactive_lost_ = "has ended";
  } else if (preparing_ && pid == preparing_->pid) {
    // What it left behind is nobody's, and ends with the next sweep.
    preparing_.reset();
    if (harness_.alive()) prepare_worker();
  } else if (prepared_ && pid == prepared_->pid) {
    kill_holder(*prepared_);
    prepared_.reset();
  } else if (turn_) {
    turn_->add_reaped_usage(usage);
  }
}

Worker& Supervisor::turn_worker() { return turn_->interactive() ? *interactive_ : *plan_; }
const Worker& Supervisor::turn_worker() const {
  return turn_->interactive() ? *interactive_ : *plan_;
}

// What the state asks for next, whatever event brought it about.
void Supervisor::advance() {
  if (exit_code_) return;
  const Clock::time_point now = Clock::now();
  if (interactive_ && interactive_->expected_back()) await_return(now);
  if (turn_ && !turn_->started()) start_turn(now);
  if (turn_ && turn_->started()) advance_turn(now);
  if (reset_ == Reset::wanted) advance_reset(now);
  if (exit_code_ || turn_ || reset_ != Reset::none) return;
  if (!harness_.alive()) {
    exit_code_ = 1;
  } else if (lacks_worker() && now >= prepare_at_) {
    prepare_worker();
  }
}

// One that keeps a namespace is most likely asked for its next step, which must not wait for a
// fork.
bool Supervisor::lacks_worker() const {
  return was_ready_ && !turn_ && reset_ == Reset::none && !prepared_ && !preparing_ &&
         !interactive_;
}

void Supervisor::start_turn(Clock::time_point now) {
  std::optional<Worker>& worker = turn_->interactive() ? interactive_ : plan_;
  const bool fresh = !worker;
  // No turn runs while the harness forks: its end would kill whoever is not yet known by number.
  if (preparing_) return resume_strangers();
  if (fresh && !prepared_) {
    if (!harness_.alive()) {
      turn_->refuse(wire::Ending::refused, "SandboxFailed", "the harness has ended");
      turn_.reset();
    } else if (was_ready_) {
      prepare_worker();
    }
    return;
  }
  if (fresh) {
    worker = std::exchange(prepared_, std::nullopt);
    worker->holder_cpu_seconds = cpu_seconds_of(worker->holder);
    worker->cpu_seconds = cpu_seconds_of(worker->pid);  // not before: it may have rehearsed since
  }
  if (turn_->interactive()) tell_of_earlier_steps(*worker, fresh);
  if (has_strangers_) ::kill(worker->pid, SIGCONT);  // one of them may have stopped it
  if (turn_->interactive()) has_strangers_ = true;
  turn_->start(now, worker->cpu_seconds, memory_kills_.count());
  worker->queue_request(wire::encode_for_worker(turn_->request(), turn_->mark()));
}

// What the owner of an interactive session should know before its next step.
void Supervisor::tell_of_earlier_steps(Worker& worker, bool fresh) {
  const auto warn = [this](std::string message) {
    host_.send({turn_->request().execution_id, wire::Log{"warning", std::move(message)}});
  };
  if (!interactive_lost_.empty())
    warn("the process with the earlier steps' variables " +
         std::string(std::exchange(interactive_lost_, {})));
  const Worker::Dropped dropped = fresh ? Worker::Dropped{} : worker.drop_output();
  if (dropped.text_bytes + dropped.records > 0)
    warn("what came between the steps was dropped: " + std::to_string(dropped.text_bytes) +
         " bytes of text, " + std::to_string(dropped.records) + " records");
}

// A process that an earlier step left running may have stopped what this turn waits for.
void Supervisor::resume_strangers() const {
  if (has_strangers_) ::kill(-1, SIGCONT);
}

void Supervisor::advance_turn(Clock::time_point now) {
  if (turn_worker().request_pending()) turn_worker().flush_request();
  if ((text_waits_ || records_wait_) && host_.backlog() < max_host_backlog_bytes)
    turn_worker().pump(*turn_, text_waits_);
  if (turn_->take_second_interrupt(now) && !worker_is_over_) ::kill(turn_worker().pid, SIGINT);
  if (now >= turn_->kill_at() && !worker_is_over_) turn_->out_of_time();
  if (worker_is_over_) {
    end_turn(now);
  } else if (turn_->must_die()) {
    sweep(now);
  } else if (turn_->interactive() && turn_->claimed_end()) {
    end_step();
  }
}

// Of a worker that lives on.
void Supervisor::end_step() {
  Worker& worker = *interactive_;
  const double before = std::exchange(worker.cpu_seconds, cpu_seconds_of(worker.pid));
  // In so little time a process can touch only little, and to ask takes as long as a short step.
  constexpr double too_short_to_grow = 200e-6;
  if (worker.peak_memory_bytes == 0 || worker.cpu_seconds - before > too_short_to_grow)
    worker.peak_memory_bytes = peak_memory_of(worker);
  turn_->set_peak_memory(worker.peak_memory_bytes);
  const Clock::time_point now = Clock::now();
  // Less than that the kernel does not count, and to ask takes as long as a short step.
  constexpr auto too_short_for_children = std::chrono::milliseconds(5);
  double children_seconds = 0;
  if (turn_->lasted(now) > too_short_for_children) {
    const double all = waited_children_seconds_of(worker.pid);
    children_seconds = all - std::exchange(worker.children_seconds, all);
  }
  turn_->conclude(now, false, worker.cpu_seconds + children_seconds, memory_kills_.count());
  worker.expect_back(now + return_check_delay, std::max(turn_->kill_at(), now + return_patience));
  turn_.reset();
}

// The deadline of a step holds after its claimed end, too, until its process waits for the next.
void Supervisor::await_return(Clock::time_point now) {
  Worker& worker = *interactive_;
  if (now >= worker.check_at()) worker.send_check(now);
  if (now < worker.back_by()) return;
  worker.forget_return();
  const bool is_ending = turn_ && turn_->interactive() && (worker_is_over_ || turn_->must_die());
  if (!is_ending && !worker.has_come_back()) give_up_worker();
}

// A step that waits for it has not begun, and gets another worker.
void Supervisor::give_up_worker() {
  const bool step_waits = turn_ && turn_->interactive() && turn_->started();
  if (step_waits && turn_->cancel_requested()) {
    turn_->refuse(wire::Ending::cancelled, "KeyboardInterrupt", "Script cancelled");
    turn_.reset();
  } else if (step_waits) {
    turn_->withdraw();
  }
  ::kill(interactive_->pid, SIGKILL);
  kill_holder(*interactive_);
  interactive_.reset();
  interactive_lost_ = "was killed: it ran on past its deadline after the end of its step";
}

void Supervisor::end_turn(Clock::time_point now) {
  Worker& worker = turn_worker();
  if (!sweep(now)) return;
  // Whoever could write is gone, so this ends; but the host may have to take some of it first.
  while (!worker.drained()) {
    if (host_.backlog() >= max_host_backlog_bytes) return;
    if (!worker.pump(*turn_)) break;
  }
  worker.finish(*turn_);
  turn_->conclude(Clock::now(), turn_->interactive(), 0, memory_kills_.count());
  // The memory is taken apart while the host goes on: first it gets its answer, and the processor
  // if it was waiting on this one.
  host_.flush();
  ::sched_yield();
  kill_holder(worker);
  (turn_->interactive() ? interactive_ : plan_).reset();
  has_strangers_ = interactive_.has_value();
  turn_.reset();
  worker_is_over_ = false;
  prepare_at_ = now + prepare_delay;
}

std::vector<pid_t> Supervisor::spared_pids() const {
  std::vector<pid_t> spared;
  const auto spare = [&spared](const std::optional<Worker>& worker) {
    for (const pid_t pid : {worker ? worker->pid : 0, worker ? worker->holder : 0})
      if (pid > 0) spared.push_back(pid);
  };
  if (harness_.pid() > 0) spared.push_back(harness_.pid());
  if (reset_ != Reset::none) return spared;
  spare(prepared_);
  const bool interactive_turn = turn_ && turn_->interactive();
  if (!interactive_turn) spare(interactive_);
  // A worker that ended by itself leaves its holder in peace until the rest is seen to.
  if (worker_is_over_ && !turn_->must_die() && holder_never_ran(turn_worker()))
    spare(interactive_turn ? interactive_ : plan_);
  return spared;
}

// True when nobody is left but those who may be. Otherwise they are killed, and SIGCHLD or the
// clock calls again.
bool Supervisor::sweep(Clock::time_point now) {
  const std::vector<pid_t> spared = spared_pids();
  if (processes_.nobody_but(spared)) {
    sweeping_since_.reset();
    return true;
  }
  if (!sweeping_since_) sweeping_since_ = next_sweep_ = now;
  if (now >= next_sweep_) {
    processes_.kill_all_but(spared);
    next_sweep_ = now + sweep_interval;
  }
  if (now - *sweeping_since_ > sweep_patience) give_up("processes cannot be killed");
  return false;
}

// What could not be removed, in words.
std::string Supervisor::clean_up() try {
  std::string problems;
  const auto note = [&problems](const std::string& problem) {
    if (!problem.empty()) problems += (problems.empty() ? "" : "; ") + problem;
  };
  for (const WipedDirectory& directory : wiped_)
    for (const std::string& failure : wipe_directory(directory.path, directory.mode)) note(failure);
  if (options_.passwd) write_user_list(*options_.passwd);
  remove_ipc_objects();
  if (network_) note(network_->found());
  return problems;
} catch (const OsError& error) {
  return error.what();
}

void Supervisor::advance_reset(Clock::time_point now) {
  if (!harness_.alive()) {
    reset_ = Reset::none;
    host_.send({{}, wire::ResetDone{false, "the harness has ended"}});
    return;
  }
  if (preparing_) return resume_strangers();
  prepared_.reset();
  interactive_.reset();
  if (!sweep(now)) return;
  has_strangers_ = false;
  const std::string problems = clean_up();
  reset_result_ = {problems.empty(), problems};
  // The next worker is forked after the wipe.
  reset_ = Reset::preparing;
  prepare_worker();
}

}  // namespace hearth::init
