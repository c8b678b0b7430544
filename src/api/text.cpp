#include "api/text.h"

#include "api/cut_middle.h"
#include "api/plain_text.h"
#include "base/joined.h"
#include "base/json_escape.h"
#include "wire/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace hearth::api {
namespace {

using execution::ExecutionResult;
using execution::Verdict;

std::string interleaved(const ExecutionResult& result) {
  std::string output;
  output.reserve(result.stdout_text.size() + result.stderr_text.size());
  std::size_t out = 0;
  std::size_t err = 0;
  for (const execution::OutputRun& run : result.output_order) {
    std::size_t& at = run.is_stderr ? err : out;
    const std::string& from = run.is_stderr ? result.stderr_text : result.stdout_text;
    output += std::string_view(from).substr(at, run.bytes);
    at += run.bytes;
  }
  return output;
}

// Without line ends at its end; nothing if it is blank.
std::string trimmed(std::string text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return {};
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

std::string value_text(const ExecutionResult& result) {
  std::string text;
  for (const wire::Display& display : result.displays) {
    if (!display.is_value) continue;
    for (wire::JsonMember& member : wire::parse_object(display.data.text, wire::any_number))
      if (member.key == "text/plain") text = plain_text(member.text);
  }
  return text;
}

std::uint64_t image_bytes(const wire::JsonMember& image) {
  if (image.key == "image/svg+xml") return image.text.size();
  const auto padding = std::count(image.text.begin(), image.text.end(), '=');
  return image.text.size() / 4 * 3 - static_cast<std::uint64_t>(std::min<long>(padding, 2));
}

std::string image_lines(const ExecutionResult& result) {
  std::string lines;
  std::size_t number = 0;
  for (const wire::Display& display : result.displays)
    for (const wire::JsonMember& member : wire::parse_object(display.data.text, wire::any_number))
      if (member.key.starts_with("image/"))
        lines += fmt::format("[image {}: {}, {}]\n", ++number, member.key,
                             size_in_words(image_bytes(member)));
  return lines;
}

std::string error_text(const ExecutionResult& result) {
  if (!result.error) return {};
  if (!result.error->traceback.empty()) return plain_text(result.error->traceback);
  return plain_text(result.error->name + ": " + result.error->message);
}

// Why it ended, where nothing else says it.
std::string ending_note(const ExecutionResult& result, const Execution& execution) {
  const bool keeps_variables = execution.is_step && result.sandbox_usable && !result.state_lost;
  switch (result.verdict) {
    case Verdict::timeout:
      return fmt::format("[timeout after {:g} s{}]\n", execution.timeout_seconds,
                         keeps_variables ? "; variables are kept" : "");
    case Verdict::cancelled:
      return result.started ? "[cancelled]\n" : "[cancelled before it started]\n";
    case Verdict::lost:
      return fmt::format("[the sandbox was lost{}{}]\n", result.detail.empty() ? "" : ": ",
                         plain_text(result.detail));
    default:
      return {};
  }
}

std::string files_note(const FoundFiles& found) {
  constexpr std::size_t most_names = 10;
  if (found.files.empty()) return {};
  std::vector<std::string> names;
  for (const FoundFile& file : found.files) {
    if (names.size() == most_names) break;
    names.push_back(shown_name(file.path) + ' ' + size_in_words(file.size_bytes));
  }
  const std::uint64_t more = found.files.size() - names.size() + found.omitted;
  return fmt::format("[files: {}{}]\n", joined(names, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

// What a resumed session no longer has. A model that reads nothing believes that all is there.
std::string resumed_note(const Resumed& resumed) {
  if (!resumed.work_lost && resumed.lost_variables.empty()) return {};
  constexpr std::size_t most_names = 20;
  const std::size_t named = std::min(resumed.lost_variables.size(), most_names);
  std::string lost;
  for (std::size_t index = 0; index < named; ++index)
    lost += (lost.empty() ? "" : ", ") + plain_text(resumed.lost_variables[index]);
  if (named < resumed.lost_variables.size())
    lost += fmt::format(" and {} more", resumed.lost_variables.size() - named);
  return fmt::format("[resumed {}{}{}{}]\n",
                     resumed.source == "fresh" ? "with an empty workspace" : "from a snapshot",
                     resumed.work_lost ? "; what was done after the last pause is lost" : "",
                     lost.empty() ? "" : "; lost: ", lost);
}

std::string notes(const ExecutionResult& result, const Execution& execution) {
  std::string lines;
  const bool is_exception = result.error && !result.error->traceback.empty();
  const std::int64_t usual = is_exception ? 1 : 0;
  if (const std::int64_t code = result.exit_code.value_or(0); code != 0 && code != usual)
    lines += fmt::format("[exit code {}]\n", code);
  lines += ending_note(result, execution);
  if (execution.is_step && !result.sandbox_usable) {
    lines += "[the variables and files of earlier steps are lost]\n";
  } else if (execution.is_step && result.state_lost) {
    lines += "[the variables of earlier steps are lost]\n";
  }
  if (execution.resumed) lines += resumed_note(*execution.resumed);
  lines += files_note(execution.files);
  return lines;
}

struct Parts {
  std::string output, value, final_result, images, error, notes;

  std::string together() const {
    std::string text;
    for (const std::string* part : {&output, &value, &final_result, &images, &error, &notes}) {
      if (part->empty()) continue;
      if (!text.empty()) text += '\n';
      text += *part;
    }
    return text;
  }
};

Parts parts_of(const ExecutionResult& result, const Execution& execution) {
  Parts parts;
  parts.output = trimmed(plain_text(interleaved(result)));
  parts.value = trimmed(value_text(result));
  if (result.result) parts.final_result = "final_result: " + result.result->text;
  parts.images = trimmed(image_lines(result));
  parts.error = trimmed(error_text(result));
  parts.notes = trimmed(notes(result, execution));
  return parts;
}

// Takes what is too much from one part after the other.
std::uint64_t shorten(Parts& parts, std::size_t max_bytes, const std::string& hint) {
  std::uint64_t left_out = 0;
  for (std::string* part : {&parts.output, &parts.value, &parts.error, &parts.final_result}) {
    const std::size_t bytes = parts.together().size();
    if (bytes <= max_bytes) break;
    if (part->empty()) continue;
    const std::size_t excess = std::min(bytes - max_bytes, part->size());
    Cut cut = cut_middle(*part, part->size() - excess, part == &parts.output ? hint : "");
    if (cut.text.size() >= part->size()) continue;  // too short to lose anything
    left_out += cut.left_out_bytes;
    *part = std::move(cut.text);
  }
  return left_out;
}

}  // namespace

Text text_of(const ExecutionResult& result, const Execution& execution, std::size_t max_bytes) {
  Parts parts = parts_of(result, execution);
  const std::string hint = execution.is_kept ? "; the rest: execution " + execution.id : "";
  Text text;
  text.left_out_bytes = shorten(parts, max_bytes, hint);
  text.text = parts.together();
  if (text.text.empty())
    text.text = result.verdict == Verdict::ok ? "[ok, no output]"
                                              : fmt::format("[{}]", name_of(result.verdict));
  if (text.text.size() > max_bytes) {  // thousands of images
    const std::size_t kept = complete_utf8_prefix(std::string_view(text.text).substr(0, max_bytes));
    text.left_out_bytes += text.text.size() - kept;
    text.text.resize(kept);
  }
  return text;
}

std::string size_in_words(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  constexpr std::array units{"bytes", "kB", "MB", "GB", "TB"};
  while (size >= 999.5 && unit + 1 < units.size()) {
    size /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", size, unit > 1 && size < 10 ? 1 : 0, units.at(unit));
}

}  // namespace hearth::api
