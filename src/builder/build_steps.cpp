#include "builder/build_steps.h"

#include "blueprint/json_text.h"
#include "blueprint/problem.h"
#include "os/durable_files.h"
#include "os/run_program.h"

#include <algorithm>
#include <utility>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

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
    os::make_directory(build_home(), 0700);
    os::make_directory(site_.place, 0755);
    write_tools();
    if (!plan_.packages.empty()) install_packages();
    compile();
    os::write_new_file(site_.place / "build.log", log_.text(), 0644);
    os::make_world_readable(site_.place);
  }

 private:
  void write_tools() const {
    os::make_directory(tools(), 0755);
    for (const BuildPlan::ToolFile& tool : plan_.tools)
      os::write_new_file(tools() / (tool.name + ".py"), tool.source, 0644);
  }

  void install_packages() {
    os::make_directory(packages(), 0755);
    require_pip();
    const fs::path requirements = site_.home / "requirements.txt";
    std::string lines;
    for (const std::string& package : plan_.packages) lines += package + '\n';
    os::write_new_file(requirements, lines, 0600);
    const os::ProgramResult result =
        run_python(pip_arguments(options_.pip, packages(), requirements));
    if (!result.succeeded()) fail("pip could not install its packages" + ending_of(result));
  }

  void require_pip() {
    const os::ProgramResult result = run_python(
        {"-I", "-c",
         "import importlib.util, sys; sys.exit(importlib.util.find_spec('pip') is None)"});
    if (result.succeeded()) return;
    const std::string python = site_.python.executable.string();
    log_.add_line(python + " has no pip");
    fail(python + " has no pip to install packages with; install it (Debian: apt-get install " +
         "python3-pip; for another Python than Debian's: " + python + " -m ensurepip, which " +
         "Debian has in python3-venv)");
  }

  // What a package holds for other Pythons does not compile, and does no harm.
  void compile() {
    std::vector<fs::path> trees;
    if (!plan_.packages.empty()) trees.push_back(packages());
    if (!plan_.tools.empty()) trees.push_back(tools());
    if (!trees.empty()) run_python(compile_arguments(trees));
  }

  os::ProgramResult run_python(std::vector<std::string> arguments) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now());
    os::ProgramResult result =
        os::run_program({.program = site_.python.executable,
                         .arguments = std::move(arguments),
                         .max_output_bytes = 0,  // the log has it
                         .timeout = std::max(left, milliseconds(0)),
                         .environment = build_variables(options_.pip, build_home()),
                         .directory = site_.home,
                         .errors_to_output = true,
                         .on_output = [this](std::string_view piece) { log_.add(piece); },
                         .stop = stop_,
                         .ends_with_caller = true});
    log_.finish_line();
    result.truncated = false;
    if (result.stopped) throw BuildStopped();
    if (result.timed_out) {
      const auto limit = std::chrono::duration<double>(options_.build_timeout).count();
      fail("it took longer than " + blueprint::print_number(limit) + " seconds");
    }
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
        "build the environment of sandbox " + blueprint::in_quotes(plan_.sandbox) + ": " + why,
        log_.text());
  }

  fs::path packages() const { return site_.place / "packages"; }
  fs::path tools() const { return site_.place / "tools"; }
  fs::path build_home() const { return site_.home / "home"; }

  const BuildPlan& plan_;
  const BuildOptions& options_;
  const BuildSite& site_;
  const std::stop_token& stop_;
  BuildLog log_;
  Clock::time_point deadline_;
};

}  // namespace

void run_build_steps(const BuildPlan& plan, const BuildOptions& options, const BuildSite& site,
                     const std::stop_token& stop, const BuildLog::OnLine& on_line) {
  BuildSteps(plan, options, site, stop, on_line).run();
}

}  // namespace hearth::builder
