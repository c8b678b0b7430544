#include "builder/build_steps.h"

#include "blueprint/json_text.h"
#include "blueprint/problem.h"
#include "builder/adopt_tree.h"
#include "builder/build_room.h"
#include "builder/netrc.h"
#include "native/confined_programs.h"
#include "os/durable_files.h"
#include "os/read_file.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_netrc_bytes = 1 << 20;

class BuildSteps {
 public:
  BuildSteps(const BuildPlan& plan, const BuildOptions& options, const BuildSite& site,
             const std::stop_token& stop, const BuildLog::OnLine& on_line)
      : plan_(plan),
        options_(options),
        site_(site),
        stop_(stop),
        log_(on_line),
        deadline_(Clock::now() + options.build_timeout) {}

  void run() {
    if (const std::string problem = problem_of(options_.pip, plan_.packages); !problem.empty())
      fail(problem);
    os::make_directory(site_.place, 0755);
    if (!plan_.packages.empty()) install_packages();
    write_tools();
    os::write_new_file(site_.place / "build.log", log_.text(), 0644);
    os::make_world_readable(site_.place);
  }

 private:
  // A room of its own for each: what was installed cannot change a tool.
  void write_tools() {
    if (plan_.tools.empty()) return os::make_directory(site_.place / "tools", 0755);
    const BuildRoom room(programs(), site_.home / "tools");
    room.put_directory("tools");
    for (const BuildPlan::ToolFile& tool : plan_.tools)
      room.put_file("tools/" + tool.name + ".py", tool.source);
    compile(room, "tools");
    adopt(room, "tools");
  }

  void install_packages() {
    const BuildRoom room(programs(), site_.home / "packages");
    room.put_directory("packages");
    std::string lines;
    for (const std::string& package : plan_.packages) lines += package + '\n';
    room.put_file("requirements.txt", lines);
    // A copy: the file is readable for its owner alone.
    const std::string netrc = credentials();
    if (!netrc.empty()) room.put_file("netrc", netrc);
    require_pip(room);
    const os::ProgramResult result =
        run_python(room,
                   pip_arguments(options_.pip, BuildRoom::inside("packages"),
                                 BuildRoom::inside("requirements.txt")),
                   Purpose::installation);
    const std::string unreachable = result.succeeded() ? "" : unreachable_index(log_.text());
    if (!unreachable.empty()) fail(unreachable);
    if (!result.succeeded())
      fail("pip could not install its packages" + ending_of(result) +
           hint_to(log_.reason(), options_.pip));
    compile(room, "packages");
    adopt(room, "packages");
  }

  std::string credentials() const {
    const fs::path netrc = netrc_file();
    if (netrc.empty()) return {};
    return netrc_for(os::read_file(netrc, most_netrc_bytes),
                     hosts_of_pip(options_.pip, plan_.packages));
  }

  void require_pip(const BuildRoom& room) {
    const os::ProgramResult result =
        run_python(room, {"-I", "-c",
                          "import importlib.util, sys; "
                          "sys.exit(importlib.util.find_spec('pip') is None)"});
    if (result.succeeded()) return;
    const std::string python = site_.python.executable.string();
    log_.add_line(python + " has no pip");
    fail(python + " has no pip to install packages with; install it (Debian: apt-get install " +
         "python3-pip; for another Python than Debian's: " + python + " -m ensurepip, which " +
         "Debian has in python3-venv)");
  }

  // What a package holds for other Pythons does not compile, and does no harm.
  void compile(const BuildRoom& room, const std::string& tree) {
    run_python(room, compile_arguments({BuildRoom::inside(tree)}));
  }

  void adopt(const BuildRoom& room, const std::string& tree) try {
    adopt_tree(room.path() / tree, site_.place / tree, {.deadline = deadline_});
  } catch (const CannotAdopt& error) {
    fail(std::string("what was installed cannot be taken over: ") + error.what());
  }

  const native::ConfinedPrograms& programs() {
    if (!programs_) programs_.emplace(backend::find_programs(options_.programs), options_.limits);
    return *programs_;
  }

  enum class Purpose { installation, other };

  // Files and network are for pip alone.
  native::ConfinedPrograms::Place place_for(const BuildRoom& room, Purpose purpose) const {
    native::ConfinedPrograms::Place place{.writable = room.path()};
    // Not even a direct reference in a wheel's metadata, which pip builds without asking.
    place.is_alone = !options_.pip.allow_source_builds;
    if (purpose == Purpose::other) return place;
    place.shown = files_of_pip(options_.pip, plan_.packages);
    place.has_network =
        !options_.pip.no_index ||
        std::any_of(plan_.packages.begin(), plan_.packages.end(), is_direct_reference);
    return place;
  }

  os::ProgramResult run_python(const BuildRoom& room, std::vector<std::string> arguments,
                               Purpose purpose = Purpose::other) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now());
    const bool has_netrc = purpose == Purpose::installation && fs::exists(room.path() / "netrc");
    os::ProgramResult result = programs().run(
        {.program = site_.python.executable,
         .arguments = std::move(arguments),
         .max_output_bytes = 0,  // the log has it
         .timeout = std::max(left, milliseconds(0)),
         .environment = build_variables(options_.pip, BuildRoom::inside("home"),
                                        has_netrc ? BuildRoom::inside("netrc") : fs::path()),
         .directory = "/",
         .errors_to_output = true,
         .on_output = [this](std::string_view piece) { log_.add(piece); },
         .stop = stop_},
        place_for(room, purpose));
    log_.finish_line();
    result.truncated = false;
    if (result.stopped) throw BuildStopped();
    if (result.timed_out) {
      const auto limit = std::chrono::duration<double>(options_.build_timeout).count();
      fail("it took longer than " + blueprint::print_number(limit) +
           " seconds (build_timeout_sec in [builder] of hearth.toml)");
    }
    if (programs().memory_limit_hit())
      fail("it needed more than " + std::to_string(options_.limits.memory_mb) +
           " MB of memory (build_memory_mb in [builder] of hearth.toml)");
    if (result.exit_code == native::ConfinedPrograms::cannot_confine)
      fail("a build cannot be confined here: " + log_.reason());
    return result;
  }

  std::string ending_of(const os::ProgramResult& result) const {
    const std::string how = result.ended_by_signal != 0
                                ? "signal " + std::to_string(result.ended_by_signal)
                                : "exit code " + std::to_string(result.exit_code);
    return " (" + how + "): " + log_.reason();
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw BuildError(
        "build the environment of blueprint " + blueprint::in_quotes(plan_.blueprint) + ": " + why,
        log_.text());
  }

  const BuildPlan& plan_;
  const BuildOptions& options_;
  const BuildSite& site_;
  const std::stop_token& stop_;
  BuildLog log_;
  Clock::time_point deadline_;
  std::optional<native::ConfinedPrograms> programs_;
};

}  // namespace

void run_build_steps(const BuildPlan& plan, const BuildOptions& options, const BuildSite& site,
                     const std::stop_token& stop, const BuildLog::OnLine& on_line) {
  BuildSteps(plan, options, site, stop, on_line).run();
}

}  // namespace hearth::builder
