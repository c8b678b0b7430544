#include "registry/compile_check.h"

#include "base/log.h"
#include "blueprint/json_text.h"
#include "os/run_program.h"
#include "os/trusted_path.h"

#include <openssl/evp.h>
#include <boost/json/value.hpp>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <utility>

namespace hearth::registry {
namespace {

namespace json = boost::json;

// Sources travel as base64: Python decides about their encoding, from their bytes.
constexpr const char* checker = R"(
import ast, base64, json, sys, warnings
warnings.simplefilter("ignore")
here = sys.version_info[:2]
problems = []
for index, tool in enumerate(json.load(sys.stdin)):
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

std::string request_for(std::span<const CompileJob> jobs) {
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

[[noreturn]] void throw_failed(const os::ProgramResult& result, const std::string& python) {
  std::string why = "exit code " + std::to_string(result.exit_code);
  if (result.ended_by_signal != 0) why = "signal " + std::to_string(result.ended_by_signal);
  if (result.timed_out) why = "time limit";
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
  os::ProgramResult result;
  try {
    result = os::run_program({.program = *program,
                              .arguments = {"-I", "-S", "-B", "-c", checker},
                              .input = request_for(jobs),
                              .max_output_bytes = 16'777'216,
                              .timeout = std::chrono::seconds(60),
                              .directory = "/"});
  } catch (const OsError& error) {
    if (error.code != ENOENT && error.code != EACCES) throw;
    warn_unchecked(jobs.size(), python);
    return {};
  }
  constexpr int shim_without_program = 127;  // what version managers answer when they have none
  if (result.exit_code == shim_without_program) {
    warn_unchecked(jobs.size(), python);
    return {};
  }
  if (!result.succeeded()) throw_failed(result, python);
  return read_answer(result.output, jobs);
}

}  // namespace hearth::registry
