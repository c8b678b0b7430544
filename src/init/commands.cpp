#include "init/commands.h"

#include "base/error.h"
#include "init/command_input.h"
#include "init/command_output.h"
#include "init/command_plan.h"
#include "init/secrets.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace hearth::init {
namespace {

// 0 if there is no such signal. Not those that only libc uses.
int signal_named(const std::string& name) {
  constexpr int last_classic = 31;
  for (int number = 1; number <= last_classic; ++number)
    if (const char* abbreviation = ::sigabbrev_np(number);
        abbreviation != nullptr && name == abbreviation)
      return number;
  return 0;
}

}  // namespace

void Commands::accept(const wire::ExecRequest& request) try {
  if (running_.size() >= max_commands)
    return refuse(request, wire::Ending::refused, "TooManyCommands",
                  std::to_string(max_commands) + " commands are running already");
  if (find(request.execution_id) != nullptr)
    return refuse(request, wire::Ending::refused, "Busy", "a command with this id is running");
  if (!can_open(request))
    return refuse(request, wire::Ending::refused, "Busy", "too many streams are open");
  if (const std::string missing = missing_secrets(request.secrets, request.env); !missing.empty())
    return refuse(request, wire::Ending::missing_secret, "MissingSecret",
                  "required secrets are missing: " + missing);
  start(request);
} catch (const Error& error) {
  refuse(request, wire::Ending::refused, "CommandFailed",
         std::string("cannot start the command: ") + error.what());
}

void Commands::start(const wire::ExecRequest& request) {
  const os::UniqueFd script = script_file(request);
  const auto input = request.input ? std::make_shared<CommandInput>() : nullptr;
  const auto output =
      request.output ? std::make_shared<StreamOutput>(request.max_output_bytes) : nullptr;
  CommandStreams streams{input, output};
  if (request.background) {
    background_.keep_at_most(max_commands - running_.size() - 1);
    streams.output = background_.begin(request.execution_id);
  }
  running_.push_back(std::make_unique<Command>(request, plan_command(request, packages_),
                                               script.get(), std::move(streams), host_,
                                               sweep_.processes(), memory_kills_.count()));
  open_streams(request, input, output);
  sweep_.spare_tree(running_.back()->runner());
  workers_.set_commands_run(true);
}

void Commands::open_streams(const wire::ExecRequest& request,
                            const std::shared_ptr<CommandInput>& input,
                            const std::shared_ptr<StreamOutput>& output) {
  if (input)
    streams_.open(*request.input,
                  [&](StreamPort& port) { return CommandInput::work_of(input, port); });
  const auto open_output = [&](std::optional<wire::StreamId> id, Stream which) {
    if (!id) return;
    streams_.open(*id,
                  [&](StreamPort& port) { return StreamOutput::work_of(output, which, port); });
  };
  open_output(request.output, Stream::out);
  open_output(request.errors, Stream::err);
}

bool Commands::can_open(const wire::ExecRequest& request) const {
  std::size_t wanted = 0;
  for (const std::optional<wire::StreamId>& id : {request.input, request.output, request.errors}) {
    if (id && streams_.is_open(*id)) throw Error("the stream is open already");
    wanted += id ? 1 : 0;
  }
  return streams_.has_room_for(wanted);
}

void Commands::refuse(const wire::ExecRequest& request, wire::Ending ending, std::string name,
                      std::string message) {
  host_.send({request.execution_id, wire::ScriptError{std::move(name), std::move(message), {}}});
  wire::ScriptDone done;
  done.ending = ending;
  host_.send({request.execution_id, done});
}

Command* Commands::find(const std::string& execution_id) {
  const auto found = std::find_if(
      running_.begin(), running_.end(),
      [&](const std::unique_ptr<Command>& one) { return one->execution_id() == execution_id; });
  return found == running_.end() ? nullptr : found->get();
}

void Commands::accept(const wire::SignalRequest& request) {
  const int number = signal_named(request.signal);
  Command* command = find(request.execution_id);
  if (command != nullptr && number > 0) command->signal(number, request.whole_tree);
}

void Commands::accept(const wire::ResizeRequest& request) {
  if (Command* command = find(request.execution_id)) command->resize(request.size);
}

void Commands::cancel(const wire::CancelRequest& request) {
  if (Command* command = find(request.execution_id)) command->cancel(Clock::now());
}

void Commands::accept(const wire::ListCommands& request) {
  wire::CommandList list{request.stream, {}};
  background_.keep_at_most(max_commands - running_.size());
  background_.add_to(list.commands);
  for (const auto& command : running_) list.commands.push_back(command->info());
  host_.send({{}, std::move(list)});
}

void Commands::accept(const wire::AttachCommand& request) { background_.attach(request); }

void Commands::add_interests(std::vector<pollfd>& polled) const {
  for (const auto& command : running_) command->add_interests(polled);
}

Clock::time_point Commands::wake_at() const {
  Clock::time_point wake = Clock::time_point::max();
  for (const auto& command : running_) wake = std::min(wake, command->wake_at());
  return wake;
}

bool Commands::handle_exit(pid_t pid, int wait_status, const rusage& usage) {
  const auto found = std::find_if(
      running_.begin(), running_.end(),
      [pid](const std::unique_ptr<Command>& command) { return command->runner() == pid; });
  if (found == running_.end()) return false;
  sweep_.forget_tree(pid);
  (*found)->runner_exited(wait_status, usage);
  left_strays_ = left_strays_ || (*found)->lost_its_tree();
  return true;
}

void Commands::note_memory_kill(const std::string& why) {
  memory_kills_.note_own();
  for (const auto& command : running_)
    if (!command->is_background()) host_.send({command->execution_id(), wire::Log{"warning", why}});
}

void Commands::advance(Clock::time_point now) {
  if (running_.empty()) return;
  const std::uint64_t kills = memory_kills_.count();
  std::erase_if(running_, [&](const auto& command) { return advance(*command, now, kills); });
  workers_.set_commands_run(!running_.empty());
}

// True when it is over.
bool Commands::advance(Command& command, Clock::time_point now, std::uint64_t memory_kills) {
  if (!command.advance(now, memory_kills)) return false;
  if (!command.is_background()) return true;
  if (command.info().pid == 0)
    background_.forget(command.execution_id());  // and the host was told why
  else
    background_.note_end(command.info());
  return true;
}

void Commands::forget_all() {
  for (const auto& command : running_) {
    sweep_.forget_tree(command->runner());
    command->abandon();
  }
  running_.clear();
  background_.forget_all();
  left_strays_ = false;
  workers_.set_commands_run(false);
}

}  // namespace hearth::init
