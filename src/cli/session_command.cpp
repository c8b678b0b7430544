#include "cli/session_command.h"

#include "api/execution.h"
#include "api/problem.h"
#include "base/language.h"
#include "base/log.h"
#include "base/printable.h"
#include "cli/command_line.h"
#include "cli/complaint.h"
#include "cli/destination.h"
#include "cli/exit_code.h"
#include "cli/run_output.h"
#include "cli/session_view.h"
#include "cli/session_work.h"
#include "cli/shared_options.h"
#include "cli/terminal.h"

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>

namespace hearth::cli {
namespace {

constexpr const char* session_details =
    R"(A session keeps its files, in /workspace, and the variables that pickle from one command to the
next; between them it is paused. Sessions are in `sessions` of the state directory, which one
process at a time uses; their owner is `local`. `hearth run` and builds never need them.)";

// Of all commands below; each uses what it declares.
struct SessionOptions {
  RunOptions plan{};
  std::string config{};
  std::string id{};
  std::vector<std::string> ids{};
  std::string file{};
  std::string path{};
  std::string timeout{};
  std::vector<std::string> labels{};
  std::vector<std::string> env{};
  std::string from{};
  std::string ttl{};
  std::string idle_timeout{};
  std::string on_idle{};
  std::string on_expire{};
  std::vector<std::string> without_labels{};
  std::vector<std::string> without_env{};
  std::optional<std::int64_t> generation{};
  bool as_json = false;
  bool quiet = false;
  bool force = false;
};

std::map<std::string, std::string> pairs_in(const std::vector<std::string>& texts,
                                            const char* option) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CLI::ValidationError(option, "expects NAME=VALUE, got " + text);
    pairs[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return pairs;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

// Nothing if `word`, which means that there is none, was given.
std::optional<std::chrono::milliseconds> time_in(const std::string& text, const char* option,
                                                 const char* word) {
  if (text == word) return std::nullopt;
  const std::optional<double> seconds = parse_seconds(text);
  if (!seconds)
    throw CLI::ValidationError(option, "expects seconds, more than 0 and at most a year, or " +
                                           std::string(word) + ", got " + text);
  return milliseconds_of(*seconds);
}

session::EndAction action_in(const std::string& text) {
  return *enum_value<session::EndAction>(text);  // the option has checked it
}

int complain(const SessionOptions& options) try {
  if (options.as_json)
    std::cout << api::error_line(api::problem_of(std::current_exception())) << std::flush;
  throw;
} catch (const session::SnapshotDamaged& error) {
  const int code = complain_about_current_exception();
  std::cerr << "hearth: to go back to that: hearth session resume " << error.session_id
            << " --generation " << error.fallback.value_or(0) << '\n';
  return code;
} catch (...) {
  return complain_about_current_exception();
}

void print(const SessionOptions& options, const session::SessionView& view) {
  if (options.as_json) {
    std::cout << boost::json::serialize(session_json(view)) << '\n';
  } else {
    std::cout << view.record.id << '\n';
  }
}

session::CreateRequest create_request(const SessionOptions& options, const SessionWork& work) {
  session::CreateRequest request{.owner = local_owner, .blueprint = work.plan().blueprint};
  request.details.configuration = work.plan().configuration;
  request.details.labels = pairs_in(options.labels, "--label");
  request.details.env = pairs_in(options.env, "--env");
  if (!options.idle_timeout.empty())
    if (const auto time = time_in(options.idle_timeout, "--idle-timeout", "default"))
      request.details.idle_timeout_ms = time->count();
  if (!options.ttl.empty()) request.time_to_live = time_in(options.ttl, "--ttl", "never");
  if (!options.on_idle.empty()) request.details.on_idle = action_in(options.on_idle);
  if (!options.on_expire.empty()) request.details.on_expire = action_in(options.on_expire);
  if (!options.from.empty()) request.from = session::SnapshotOrigin{.session_id = options.from};
  return request;
}

// It is told only after the workspace is on the disk.
Task<int> create_paused(const SessionOptions& options, SessionWork& work,
                        session::CreateRequest request) {
  co_await work.start(request.blueprint);
  const session::SessionView made = co_await work.sessions().create(std::move(request));
  co_await work.sessions().pause(made.record.id, local_owner);
  print(options, co_await work.sessions().get(made.record.id, local_owner));
  co_return exit_code::ok;
}

Task<int> make_new(const SessionOptions& options, SessionWork& work) {
  co_return co_await create_paused(options, work, create_request(options, work));
}

Task<int> import_tar(const SessionOptions& options, SessionWork& work) {
  session::CreateRequest request = create_request(options, work);
  request.archive =
      os::UniqueFd(options.file == "-" ? ::dup(STDIN_FILENO)
                                       : ::open(options.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!request.archive) throw OsError("open " + options.file);
  co_return co_await create_paused(options, work, std::move(request));
}

execution::TurnRequest turn_request(const SessionOptions& options, std::string script) {
  execution::TurnRequest request{.script = std::move(script),
                                 .execution_id = api::new_execution_id()};
  if (const Language* language = language_of_file(options.file); language != nullptr)
    request.language = language->name;
  if (!options.timeout.empty()) {
    const std::optional<double> seconds = parse_seconds(options.timeout);
    if (!seconds)
      throw CLI::ValidationError(
          "--timeout", "expects seconds, more than 0 and at most a year, got " + options.timeout);
    request.time_limit = milliseconds_of(*seconds);
  }
  request.env = pairs_in(options.env, "--env");
  return request;
}

std::unique_ptr<RunOutput> output_for(const SessionOptions& options) {
  if (options.as_json) return result_output(std::cout);
  const bool with_colours = wants_colours(STDERR_FILENO, settings::current_env());
  return human_output(std::cout, std::cerr,
                      {.with_colours = with_colours, .quiet = options.quiet, .in_steps = true});
}

api::Resumed resumed_of(const session::ResumeAnswer& answer) {
  return {.source = std::string(enum_name(answer.source)),
          .work_lost = answer.work_lost,
          .lost_variables = answer.lost_variables};
}

void tell_resumed(const SessionOptions& options, const api::Resumed& resumed) {
  if (!options.as_json && !options.quiet && resumed.work_lost)
    std::cerr << "hearth: what was done in the session after its last pause is lost\n";
}

void tell_lost(const std::vector<std::string>& variables) {
  if (variables.empty()) return;
  std::string names;
  for (const std::string& name : variables) names += (names.empty() ? "" : ", ") + name;
  std::cerr << "hearth: not kept, as they do not pickle: the variables " << printable_line(names)
            << '\n';
}

// The tools of a repository that a user happens to be in have no business in its sessions.
void require_own_configuration(const session::SessionView& view, const RunPlan& plan) {
  const std::string& made_with = view.details.configuration;
  if (plan.configuration_was_named || plan.configuration == made_with) return;
  throw Error("the session " + view.record.id + " was made " +
              (made_with.empty() ? "without a configuration" : "with " + made_with) +
              "; leave this directory, whose hearth.toml is another, or name the one to use with "
              "--config");
}

// Before anything that may start a sandbox of it.
Task<> start_blueprint_of(const SessionOptions& options, SessionWork& work) {
  const session::SessionView view = co_await work.sessions().get(options.id, local_owner);
  require_own_configuration(view, work.plan());
  co_await work.start(view.record.blueprint);
}

Task<int> run_script(const SessionOptions& options, std::string script, SessionWork& work) {
  co_await start_blueprint_of(options, work);
  execution::TurnRequest request = turn_request(options, std::move(script));
  api::Execution execution{.id = request.execution_id, .session_id = options.id, .is_step = true};
  const std::unique_ptr<RunOutput> output = output_for(options);
  output->started(execution);
  session::RunAnswer answer =
      co_await work.run(options.id, std::move(request),
                        [&output](const wire::Event& event) { output->event(event); });
  execution.sandbox_id = "sb_" + answer.sandbox_id;
  if (answer.resumed) execution.resumed = resumed_of(*answer.resumed);
  if (execution.resumed) tell_resumed(options, *execution.resumed);
  // The answer is told only after the files it left are on the disk.
  const session::PauseAnswer paused = co_await work.sessions().pause(options.id, local_owner);
  output->ended(answer.result, execution);
  for (const std::string& path : paused.left_out)
    std::cerr << "hearth: not kept, as it is no file, directory or link: " << printable_line(path)
              << '\n';
  if (!options.as_json && !options.quiet) tell_lost(paused.lost_variables);
  co_return exit_code_of(answer.result);
}

Task<int> tell_and_pause(const SessionOptions& options, SessionWork& work,
                         const session::ResumeAnswer& resumed) {
  co_await work.sessions().pause(options.id, local_owner);
  if (options.as_json) {
    std::cout << boost::json::serialize(resumed_json(resumed)) << '\n';
  } else {
    tell_resumed(options, resumed_of(resumed));
  }
  co_return exit_code::ok;
}

Task<int> restart(const SessionOptions& options, SessionWork& work) {
  co_await start_blueprint_of(options, work);
  const std::optional<session::ResumeAnswer> resumed =
      co_await work.sessions().restart(options.id, local_owner);
  co_return co_await tell_and_pause(options, work, resumed.value_or(session::ResumeAnswer{}));
}

// What it is resumed from becomes its latest generation.
Task<int> resume(const SessionOptions& options, SessionWork& work) {
  co_await start_blueprint_of(options, work);
  const session::ResumeAnswer resumed =
      co_await work.sessions().resume(options.id, local_owner, options.generation);
  co_return co_await tell_and_pause(options, work, resumed);
}

session::SessionPatch patch_in(const SessionOptions& options) {
  session::SessionPatch patch;
  for (const auto& [name, value] : pairs_in(options.labels, "--label")) patch.labels[name] = value;
  for (const std::string& name : options.without_labels) patch.labels[name] = std::nullopt;
  for (const auto& [name, value] : pairs_in(options.env, "--env")) patch.env[name] = value;
  for (const std::string& name : options.without_env) patch.env[name] = std::nullopt;
  if (!options.ttl.empty()) patch.time_to_live.emplace(time_in(options.ttl, "--ttl", "never"));
  if (!options.idle_timeout.empty())
    patch.idle_timeout.emplace(time_in(options.idle_timeout, "--idle-timeout", "default"));
  if (!options.on_idle.empty()) patch.on_idle = action_in(options.on_idle);
  if (!options.on_expire.empty()) patch.on_expire = action_in(options.on_expire);
  return patch;
}

Task<int> set(const SessionOptions& options, SessionWork& work) {
  co_await start_blueprint_of(options, work);  // what is set is checked against it
  const session::SessionView view =
      co_await work.sessions().update(options.id, local_owner, patch_in(options));
  if (options.as_json) print(options, view);
  co_return exit_code::ok;
}

// ---- files

bool is_standard_output(const SessionOptions& options) {
  return options.file.empty() || options.file == "-";
}

// Both stay as long as the task that is made here.
Task<> send_file(session::LiveSandbox& sandbox, int from, const SessionOptions& options) {
  FileWriter writer = co_await sandbox.files().create(options.path);
  std::string piece(std::size_t{64} << 10, '\0');
  while (true) {
    const ssize_t count = ::read(from, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw OsError("read " + options.file);
    if (count == 0) break;
    co_await writer.append(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
  }
  co_await writer.finish();
}

Task<> fetch_file(session::LiveSandbox& sandbox, const SessionOptions& options) {
  FileReader reader = co_await sandbox.files().open(options.path);
  const bool to_stdout = is_standard_output(options);
  std::optional<NewFile> file;
  if (!to_stdout) file.emplace(options.file, options.force);
  const int into = to_stdout ? STDOUT_FILENO : file->fd();
  for (std::string bytes = co_await reader.next(); !bytes.empty(); bytes = co_await reader.next())
    for (std::string_view rest = bytes; !rest.empty();) {
      const ssize_t count = ::write(into, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw OsError("write " + (to_stdout ? "standard output" : options.file));
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
  if (file) file->keep();
}

Task<int> use_files(const SessionOptions& options, SessionWork& work, session::SandboxWork act) {
  co_await start_blueprint_of(options, work);
  const std::optional<session::ResumeAnswer> resumed =
      co_await work.sessions().use(options.id, local_owner, std::move(act));
  if (resumed) tell_resumed(options, resumed_of(*resumed));
  co_await work.sessions().pause(options.id, local_owner);
  co_return exit_code::ok;
}

Task<int> put_file(const SessionOptions& options, SessionWork& work) {
  const os::UniqueFd file(options.file == "-" ? ::dup(STDIN_FILENO)
                                              : ::open(options.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw OsError("open " + options.file);
  co_return co_await use_files(options, work, [&](session::LiveSandbox& sandbox) {
    return send_file(sandbox, file.get(), options);
  });
}

Task<int> get_file(const SessionOptions& options, SessionWork& work) {
  co_return co_await use_files(
      options, work, [&](session::LiveSandbox& sandbox) { return fetch_file(sandbox, options); });
}

Task<int> list(const SessionOptions& options, SessionWork& work) {
  std::vector<session::SessionView> all;
  store::ListQuery query{.owner = local_owner};
  while (true) {
    std::vector<session::SessionView> page = co_await work.sessions().list(query);
    if (page.empty()) break;
    query.after = {page.back().record.created_at, page.back().record.id};
    for (session::SessionView& view : page) all.push_back(std::move(view));
  }
  if (options.as_json) {
    boost::json::array items;
    for (const session::SessionView& view : all) items.push_back(session_json(view));
    const boost::json::object page{{"items", std::move(items)}, {"next_cursor", nullptr}};
    std::cout << boost::json::serialize(page) << '\n';
  } else {
    std::cout << session_table(all);
  }
  co_return exit_code::ok;
}

Task<int> show(const SessionOptions& options, SessionWork& work) {
  const session::SessionView view = co_await work.sessions().get(options.id, local_owner);
  if (options.as_json) {
    print(options, view);
  } else {
    std::cout << session_lines(view);
  }
  co_return exit_code::ok;
}

Task<int> remove(const SessionOptions& options, SessionWork& work) {
  int code = exit_code::ok;
  for (const std::string& id : options.ids) {
    try {
      co_await work.sessions().remove(id, local_owner);
    } catch (const session::SessionNotFound&) {
      code = complain(options);
    } catch (const session::SessionGone&) {
      code = complain(options);
    }
  }
  co_return code;
}

Task<int> export_tar(const SessionOptions& options, SessionWork& work) {
  const bool to_stdout = is_standard_output(options);
  if (to_stdout && ::isatty(STDOUT_FILENO) == 1)
    throw Error("an archive is not for a terminal; name a FILE");
  std::optional<NewFile> file;
  if (!to_stdout) file.emplace(options.file, options.force);
  const std::vector<std::string> left_out = co_await work.sessions().export_to(
      options.id, local_owner, to_stdout ? STDOUT_FILENO : file->fd(),
      to_stdout ? "standard output" : options.file);
  if (file) file->keep();
  for (const std::string& path : left_out)
    std::cerr << "hearth: left out, as this link could lead out of the archive: "
              << printable_line(path) << '\n';
  co_return exit_code::ok;
}

Task<int> print_stats(const SessionOptions& options, SessionWork& work) {
  const session::SessionStats stats = work.sessions().stats();
  std::cout << (options.as_json ? to_json(stats) + '\n' : stats_lines(stats));
  co_return exit_code::ok;
}

// ---- the command line

template <typename Act>
int work_or_complain(SessionOptions& options, const Act& task_for) try {
  if (!options.config.empty()) options.plan.config = options.config;
  options.plan.pool_size = 0;  // a sandbox is made when it is needed
  return with_sessions(options.plan, task_for(options));
} catch (const CLI::Error&) {
  throw;
} catch (...) {
  return complain(options);
}

class Commands {
 public:
  Commands(CLI::App& parent, int& result) : parent_(parent), result_(result) {}

  // The options stay where they are as long as the command.
  template <typename Act>
  std::pair<CLI::App*, std::shared_ptr<SessionOptions>> add(const char* name, const char* what,
                                                            Act act) {
    CLI::App* command = parent_.add_subcommand(name, what);
    const auto options = std::make_shared<SessionOptions>();
    options->plan.any_blueprint = true;
    command->add_option("-c,--config", options->config, "The configuration")->type_name("FILE");
    command->add_flag("--json", options->as_json, "Print JSON");
    command->callback(
        [options, act, &result = result_] { result = work_or_complain(*options, act); });
    return {command, options};
  }

 private:
  CLI::App& parent_;
  int& result_;
};

template <Task<int> (*work)(const SessionOptions&, SessionWork&)>
SessionTask task_of(const SessionOptions& options) {
  return [&options](SessionWork& sessions) { return work(options, sessions); };
}

// Also of a session that is there.
void add_changeable_options(CLI::App& command, SessionOptions& options) {
  command.add_option("--label", options.labels, "To find it by")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_option("-e,--env", options.env, "An environment variable of all its runs")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_option("--ttl", options.ttl, "Ends after so many seconds from now; or `never`")
      ->type_name("SECONDS");
  command
      .add_option("--idle-timeout", options.idle_timeout,
                  "Is idle for too long after so many seconds; or `default`")
      ->type_name("SECONDS");
  command.add_option("--on-idle", options.on_idle, "What happens then: `pause`, unless given")
      ->type_name("pause|delete")
      ->check(CLI::IsMember({"pause", "delete"}));
  command
      .add_option("--on-expire", options.on_expire,
                  "What happens at the end of its time to live: `delete`, unless given")
      ->type_name("pause|delete")
      ->check(CLI::IsMember({"pause", "delete"}));
}

void add_creation_options(CLI::App& command, SessionOptions& options) {
  options.plan.any_blueprint = false;
  command.add_option("-b,--blueprint", options.plan.blueprint, "Its blueprint")->type_name("NAME");
  add_backend_option(command, options.plan);
  add_changeable_options(command, options);
}

void add_commands_that_create(Commands& commands) {
  const auto [fresh, new_options] = commands.add("new", "Create a session", task_of<make_new>);
  add_creation_options(*fresh, *new_options);
  fresh->add_option("--from", new_options->from, "Begin with the files of this session")
      ->type_name("SESSION");
  const auto [import, import_options] =
      commands.add("import", "Create a session with the files of a tar", task_of<import_tar>);
  add_creation_options(*import, *import_options);
  import->add_option("FILE", import_options->file, "The tar, packed or not; - is standard input")
      ->type_name("")
      ->required();
}

void add_run(Commands& commands) {
  const auto [run, options] =
      commands.add("run", "Run a script in a session", [](const SessionOptions& given) {
        return [&given, script = read_script(given.file.empty() ? "-" : given.file)](
                   SessionWork& work) { return run_script(given, script, work); };
      });
  run->add_option("SESSION", options->id, "Its id")->type_name("")->required();
  run->add_option("FILE", options->file, "A Python script; - or none is standard input")
      ->type_name("");
  run->add_option("-t,--timeout", options->timeout, "Time limit")->type_name("SECONDS");
  run->add_option("-e,--env", options->env, "A variable for this run")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_backend_option(*run, options->plan);
  run->add_flag("-q,--quiet", options->quiet, "No summary");
}

void add_commands_for_files(Commands& commands) {
  const auto [put, put_options] =
      commands.add("put", "Write a file of this machine into a session", task_of<put_file>);
  put->add_option("SESSION", put_options->id, "Its id")->type_name("")->required();
  put->add_option("FILE", put_options->file, "What to write; - is standard input")
      ->type_name("")
      ->required();
  put->add_option("PATH", put_options->path, "Where to, in /workspace")->type_name("")->required();
  const auto [got, get_options] =
      commands.add("get", "Read a file of a session", task_of<get_file>);
  got->add_option("SESSION", get_options->id, "Its id")->type_name("")->required();
  got->add_option("PATH", get_options->path, "What to read, in /workspace")
      ->type_name("")
      ->required();
  got->add_option("FILE", get_options->file, "Where to; - or none is standard output")
      ->type_name("");
  got->add_flag("--force", get_options->force, "Replace FILE if it is there");
}

void add_commands_that_change(Commands& commands) {
  const auto [changed, set_options] =
      commands.add("set", "Change a session's labels, variables and times", task_of<set>);
  changed->add_option("SESSION", set_options->id, "Its id")->type_name("")->required();
  add_changeable_options(*changed, *set_options);
  changed->add_option("--no-label", set_options->without_labels, "Remove a label")
      ->type_name("NAME")
      ->allow_extra_args(false);
  changed->add_option("--no-env", set_options->without_env, "Remove an environment variable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  const auto [restarted, restart_options] =
      commands.add("restart", "Forget a session's variables and keep its files", task_of<restart>);
  restarted->add_option("SESSION", restart_options->id, "Its id")->type_name("")->required();
  const auto [resumed, resume_options] =
      commands.add("resume", "Check that a session can be resumed, or go back to an older snapshot",
                   task_of<resume>);
  resumed->add_option("SESSION", resume_options->id, "Its id")->type_name("")->required();
  resumed
      ->add_option("--generation", resume_options->generation,
                   "The snapshot that becomes the latest; 0 is an empty workspace")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
}

void add_commands_that_look(Commands& commands) {
  commands.add("list", "List sessions", task_of<list>);
  const auto [shown, show_options] = commands.add("show", "Show a session", task_of<show>);
  shown->add_option("SESSION", show_options->id, "Its id")->type_name("")->required();
  const auto [removed, remove_options] =
      commands.add("rm", "Delete sessions with their files", task_of<remove>);
  removed->add_option("SESSION", remove_options->ids, "Their ids")->type_name("")->required();
  const auto [exported, export_options] =
      commands.add("export", "Write a session's files as a tar with zstd", task_of<export_tar>);
  exported->add_option("SESSION", export_options->id, "Its id")->type_name("")->required();
  exported->add_option("FILE", export_options->file, "Where to; - or none is standard output")
      ->type_name("");
  exported->add_flag("--force", export_options->force, "Replace FILE if it is there");
  commands.add("stats", "Count sessions by their state", task_of<print_stats>);
}

}  // namespace

void add_session_command(CLI::App& app, int& result) {
  CLI::App* command =
      app.add_subcommand("session", "Run scripts one after the other that share their files");
  command->footer(session_details);
  require_command(*command, result);
  Commands commands(*command, result);
  add_commands_that_create(commands);
  add_run(commands);
  add_commands_for_files(commands);
  add_commands_that_change(commands);
  add_commands_that_look(commands);
}

}  // namespace hearth::cli
