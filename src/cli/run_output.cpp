#include "cli/run_output.h"

#include "base/joined.h"
#include "cli/exit_code.h"
#include "cli/missing_module.h"
#include "cli/pretty_json.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <ostream>
#include <utility>

namespace hearth::cli {
namespace {

using execution::Verdict;

// What can be shown in a terminal of a notebook's value.
std::string shown_text(const wire::Display& display) {
  boost::system::error_code error;
  const boost::json::value forms = boost::json::parse(display.data.text, error);
  if (error || !forms.is_object()) return {};
  std::string text;
  std::string others;
  for (const auto& [mime, form] : forms.as_object()) {
    if (mime == "text/plain" && form.is_string()) {
      text = std::string(form.as_string());
    } else {
      others += (others.empty() ? "" : ", ") + std::string(mime);
    }
  }
  return others.empty() ? text : text + "  [also as " + others + "]";
}

class HumanOutput : public RunOutput {
 public:
  HumanOutput(std::ostream& out, std::ostream& errors, HumanOutputOptions options)
      : out_(out), errors_(errors), options_(options) {}

  void started(const api::Execution& /*execution*/) override {}
  void event(const wire::Event& event) override {
    std::visit([this](const auto& body) { show(body); }, event.body);
  }

  void ended(const execution::ExecutionResult& result, const api::Execution& execution) override {
    end_line();
    if (!result.detail.empty()) errors_ << result.detail << '\n';
    if (options_.in_steps && (result.state_lost || !result.sandbox_usable))
      errors_ << "The variables of earlier steps are lost.\n";
    const bool is_own_end = result.verdict == Verdict::ok || result.verdict == Verdict::error;
    if (options_.quiet || (options_.on_terminal && is_own_end)) return;
    if (const std::string advice = advice_on_missing_module(result, execution.file);
        !advice.empty())
      errors_ << "hearth: " << advice << '\n';
    const bool good = result.verdict == Verdict::ok;
    errors_ << colour(good ? "32" : "31") << execution::name_of(result.verdict) << colour("0")
            << colour("2") << (execution.file.empty() ? "" : " " + execution.file)
            << summary_of(result) << colour("0") << '\n'
            << std::flush;
  }

 private:
  std::string colour(const char* code) const {
    return options_.with_colours ? std::string("\033[") + code + "m" : std::string();
  }
  // What we say never continues a line of the script's.
  void end_line() {
    if (std::exchange(inside_line_, false)) out_ << '\n';
    out_ << std::flush;
  }

  void show(const wire::Stdout& body) {
    out_ << body.text << std::flush;
    inside_line_ = !body.text.empty() && body.text.back() != '\n';
  }
  void show(const wire::Stderr& body) { errors_ << body.text << std::flush; }
  void show(const wire::Log& body) {
    end_line();
    errors_ << colour("2") << body.level << ": " << body.message << colour("0") << '\n';
  }
  void show(const wire::Intermediate& body) {
    end_line();
    errors_ << colour("36") << body.label << colour("0") << ": " << pretty_json(body.data.text)
            << '\n';
  }
  void show(const wire::Display& body) {
    end_line();
    out_ << shown_text(body) << '\n' << std::flush;
  }
  void show(const wire::FinalResult& body) {
    end_line();
    out_ << pretty_json(body.data.text) << '\n' << std::flush;
  }
  void show(const wire::ScriptError& body) {
    end_line();
    if (body.name == "SystemExit" && body.traceback.empty()) return;  // as Python: it was said
    if (body.traceback.empty()) {
      errors_ << body.name << ": " << body.message << '\n';
    } else {
      errors_ << body.traceback;
    }
  }
  void show(const wire::ScriptDone& /*body*/) {}
  void show(const wire::Ready& /*body*/) {}
  void show(const wire::ResetDone& /*body*/) {}
  void show(const wire::Pong& /*body*/) {}
  void show(const wire::FileAnswer& /*body*/) {}
  void show(const wire::Window& /*body*/) {}
  void show(const wire::Started& /*body*/) {}
  void show(const wire::End& /*body*/) {}
  void show(const wire::CommandList& /*body*/) {}
  void show(const wire::Position& /*body*/) {}

  std::ostream& out_;
  std::ostream& errors_;
  HumanOutputOptions options_;
  bool inside_line_ = false;
};

// What people see of a script that has failed without a word, as exit 3 of a shell script.
std::string exit_code_in_words(const execution::ExecutionResult& result) {
  const bool was_told = result.error && !result.called_exit;
  if (result.verdict != Verdict::error || was_told || result.exit_code.value_or(0) == 0) return {};
  return fmt::format(" with exit code {}", *result.exit_code);
}

std::string duration(double seconds) {
  return seconds < 1 ? fmt::format("{:.0f} ms", seconds * 1000) : fmt::format("{:.2f} s", seconds);
}

}  // namespace

std::unique_ptr<RunOutput> human_output(std::ostream& out, std::ostream& errors,
                                        HumanOutputOptions options) {
  return std::make_unique<HumanOutput>(out, errors, options);
}

std::string summary_of(const execution::ExecutionResult& result) {
  const wire::Usage& usage = result.usage;
  const std::string degraded = result.degraded.empty()
                                   ? std::string()
                                   : fmt::format(" (degraded: {})", joined(result.degraded, ", "));
  const std::string python =
      result.python.version.empty() ? std::string() : ", Python " + result.python.version;
  return fmt::format("{} in {}, {} of CPU, {:.1f} MB{}{}", exit_code_in_words(result),
                     duration(usage.wall_seconds), duration(usage.cpu_seconds),
                     static_cast<double>(usage.peak_memory_bytes) / (1 << 20), python, degraded);
}

int exit_code_of(const execution::ExecutionResult& result) {
  switch (result.verdict) {
    case Verdict::ok:
      return exit_code::ok;
    case Verdict::timeout:
      return exit_code::timed_out;
    case Verdict::memory_limit:
    case Verdict::lost:
      return exit_code::killed;
    case Verdict::crashed:
      return 128 + static_cast<int>(result.signal.value_or(9));
    case Verdict::missing_secret:
      return exit_code::invalid_input;
    case Verdict::cancelled:
      return exit_code::interrupted;
    case Verdict::error:
    case Verdict::exited:
    case Verdict::output_limit:
      break;
  }
  return exit_code::failure;
}

int exit_code_of_command(const execution::ExecutionResult& result) {
  const bool is_its_own = result.verdict == Verdict::ok || result.verdict == Verdict::error;
  return is_its_own && result.exit_code ? static_cast<int>(*result.exit_code)
                                        : exit_code_of(result);
}

}  // namespace hearth::cli
