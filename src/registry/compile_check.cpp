#include "registry/compile_check.h"

#include "base/log.h"
#include "blueprint/json_text.h"
#include "os/program_environment.h"
#include "os/run_program.h"
#include "os/trusted_path.h"

#include <openssl/evp.h>
#include <sys/mman.h>
#include <unistd.h>
#include <boost/json/value.hpp>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <utility>

namespace hearth::registry {
namespace {

namespace json = boost::json;

// A source can make the compiler busy for as long, and take as much, as it is let.
constexpr std::size_t most_memory_bytes = 1'073'741'824;
constexpr int most_cpu_seconds = 30;
constexpr int nobody = 65534;

// Sources travel as base64: Python decides about their encoding, from their bytes. The compiler has
// had bugs, so it works with the rights of no user, within limits.
constexpr const char* checker = R"(
import ast, base64, encodings, importlib, json, os, pkgutil, resource, sys, warnings
memory_bytes, cpu_seconds, user, jobs_fd = map(int, sys.argv[1:])

def limit(kind, value):
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))

def can_import_as(user):
    os.setegid(user)
    os.seteuid(user)
    try:
        return os.access(encodings.__file__, os.R_OK, effective_ids=True)
    finally:
        os.seteuid(0)
        os.setegid(0)

# A source may name any of them.
def import_codecs():
    for codec in pkgutil.iter_modules(encodings.__path__):
        try:
            importlib.import_module("encodings." + codec.name)
        except ImportError:
            pass  # of another system

def drop_privileges():
    try:
        os.setgroups([])
        if not can_import_as(user):
            import_codecs()  # while root's library can be read
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError:
        pass  # this user namespace has no other user

with open(jobs_fd) as file:
    jobs = json.load(file)
limit(resource.RLIMIT_AS, memory_bytes)
limit(resource.RLIMIT_CPU, cpu_seconds)
limit(resource.RLIMIT_CORE, 0)
limit(resource.RLIMIT_FSIZE, 0)
if os.geteuid() == 0:
    drop_privileges()
warnings.simplefilter("ignore")
here = sys.version_info[:2]
problems = []
for index, tool in enumerate(jobs):
    wanted = tuple(tool["python"])
    source = base64.b64decode(tool["source"])
    try:
        ast.parse(source, tool["file"], feature_version=min(wanted, here))
        compile(source, tool["file"], "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problems.append({
            "index": index,
            "line": getattr(error, "lineno", None) or 1,
            "column": getattr(error, "offset", None) or 1,
            "message": getattr(error, "msg", None) or str(error) or type(error).__name__,
            "newer_python": wanted > here,
        })
json.dump(problems, sys.stdout)
)";

std::string base64(const std::string& bytes) {
  std::string encoded(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return encoded;
}

std::string jobs_as_json(std::span<const CompileJob> jobs) {
  json::array tools;
  tools.reserve(jobs.size());
  for (const CompileJob& job : jobs) {
    tools.push_back(
        json::object{{"file", job.tool->origin()},
                     {"source", base64(job.tool->source)},
                     {"python", json::array{job.oldest_python.major, job.oldest_python.minor}}});
  }
  return blueprint::print_json(tools);
}

os::UniqueFd file_of(const std::string& content) {
  os::UniqueFd file(::memfd_create("hearth tools", MFD_CLOEXEC));
  if (!file) throw OsError("memfd_create");
  for (std::size_t written = 0; written < content.size();) {
    const ssize_t size = ::pwrite(file.get(), content.data() + written, content.size() - written,
                                  static_cast<off_t>(written));
    if (size < 0 && errno != EINTR) throw OsError("write the tools for their check");
    if (size > 0) written += static_cast<std::size_t>(size);
  }
  return file;
}

os::ProgramResult run_checker(std::span<const CompileJob> jobs, const std::string& python) {
  // Not its input, which tells it that this process is alive.
  const os::UniqueFd file = file_of(jobs_as_json(jobs));
  return os::run_program(
      {.program = python,
       .arguments = {"-I", "-S", "-B", "-c", checker, std::to_string(most_memory_bytes),
                     std::to_string(most_cpu_seconds), std::to_string(nobody),
                     std::to_string(os::ProgramRequest::first_passed_fd)},
       .max_output_bytes = 16'777'216,
       .timeout = std::chrono::seconds(60),
       .environment = os::program_environment(),
       .directory = "/",
       .passed_fds = {file.get()},
       .ends_with_caller = true});
}

[[noreturn]] void throw_failed(const os::ProgramResult& result, const std::string& python) {
  std::string why = "exit code " + std::to_string(result.exit_code);
  if (result.ended_by_signal != 0) why = "signal " + std::to_string(result.ended_by_signal);
  if (result.timed_out || result.ended_by_signal == SIGXCPU) why = "time limit";
  if (result.truncated) why = "too much output";
  throw Error("check tools with " + python + ": ended by " + why + ": " +
              result.errors.substr(0, 500));
}

void warn_unchecked(std::size_t count, const std::string& python) {
  log::warning("tools were not checked: there is no Python on this machine",
               {{"python", python}, {"tools", count}});
}

std::vector<ToolProblem> read_answer(std::string_view answer, std::span<const CompileJob> jobs) {
  std::vector<ToolProblem> problems;
  const json::value tree = blueprint::parse_json(answer);
  for (const json::value& item : tree.as_array()) {
    const CompileJob& job = jobs[static_cast<std::size_t>(item.at("index").as_int64())];
    const std::string message(item.at("message").as_string());
    if (item.at("newer_python").as_bool()) {
      log::warning("tool was not checked: its sandboxes have a newer Python than this machine",
                   {{"tool", job.tool->config.name}, {"complaint", message}});
      continue;
    }
    problems.push_back({.index = job.index,
                        .tool = job.tool->config.name,
                        .file = job.tool->origin(),
                        .line = static_cast<std::size_t>(item.at("line").as_int64()),
                        .column = static_cast<std::size_t>(item.at("column").as_int64()),
                        .message = message});
  }
  return problems;
}

}  // namespace

PythonVersion python_version_of(const std::string& text) {
  PythonVersion version;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ptr != end) std::from_chars(major.ptr + 1, end, version.minor);
  return version;
}

std::vector<ToolProblem> compile_problems(std::span<const CompileJob> jobs,
                                          const std::string& python) {
  if (jobs.empty()) return {};
  const bool is_name = python.find('/') == std::string::npos;
  const auto program = is_name ? os::find_program(python) : std::filesystem::path(python);
  if (!program) {
    warn_unchecked(jobs.size(), python);
    return {};
  }
  const os::ProgramResult result = run_checker(jobs, *program);
  // 127 is also what version managers answer when they have none.
  constexpr int cannot_be_run = 126;
  constexpr int not_there = 127;
  if (result.exit_code == cannot_be_run || result.exit_code == not_there) {
    warn_unchecked(jobs.size(), python);
    return {};
  }
  if (!result.succeeded()) throw_failed(result, python);
  return read_answer(result.output, jobs);
}

}  // namespace hearth::registry
