#include "cli/json_lines.h"

#include "base/json_escape.h"

#include <array>
#include <charconv>
#include <string>
#include <vector>

namespace hearth::cli {
namespace {

constexpr std::size_t most_on_one_line = 72;

class Printer {
 public:
  explicit Printer(std::string_view json) : rest_(json) {}

  std::string print() {
    value(0);
    return std::move(out_);
  }

 private:
  // The value that begins here, up to its end.
  std::string_view extent() const {
    std::size_t depth = 0;
    bool inside_string = false;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      const char byte = rest_[at];
      if (inside_string) {
        if (byte == '\\') {
          ++at;
        } else if (byte == '"') {
          inside_string = false;
        }
      } else if (byte == '"') {
        inside_string = true;
      } else if (byte == '{' || byte == '[') {
        ++depth;
      } else if (byte == '}' || byte == ']' || byte == ',') {
        if (depth == 0) return rest_.substr(0, at);
        if (byte != ',') --depth;
      } else if (byte == ':' && depth == 0) {
        return rest_.substr(0, at);
      }
    }
    return rest_;
  }

  void copy(std::string_view text) {
    out_ += text;
    rest_.remove_prefix(text.size());
  }

  void new_line(std::size_t depth) { out_ += '\n' + std::string(2 * depth, ' '); }

  void spaced(std::string_view text) {
    bool inside_string = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
      out_ += text[at];
      if (inside_string && text[at] == '\\')
        out_ += text[++at];
      else if (text[at] == '"')
        inside_string = !inside_string;
      else if (!inside_string && (text[at] == ',' || text[at] == ':'))
        out_ += ' ';
    }
    rest_.remove_prefix(text.size());
  }

  void value(std::size_t depth) {
    const std::string_view whole = extent();
    if (whole.empty() || (whole[0] != '{' && whole[0] != '[')) return copy(whole);
    if (whole.size() <= most_on_one_line) return spaced(whole);
    copy(whole.substr(0, 1));
    while (true) {
      new_line(depth + 1);
      if (whole[0] == '{') {
        copy(extent());
        copy(":");
        out_ += ' ';
      }
      value(depth + 1);
      if (!rest_.starts_with(',')) break;
      copy(",");
    }
    new_line(depth);
    copy(rest_.substr(0, 1));
  }

  std::string_view rest_;
  std::string out_;
};

void append_number(std::string& out, std::string_view key, auto value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out += ",\"" + std::string(key) + "\":" + std::string(digits.data(), end);
}

void append_text(std::string& out, std::string_view key, std::string_view text) {
  out += ",\"" + std::string(key) + "\":\"";
  append_json_escaped(out, text);
  out += '"';
}

void append_texts(std::string& out, std::string_view key, const std::vector<std::string>& texts) {
  out += ",\"" + std::string(key) + "\":[";
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out += ',';
    out += '"';
    append_json_escaped(out, text);
    out += '"';
  }
  out += ']';
}

}  // namespace

std::string pretty_json(std::string_view json) { return Printer(json).print(); }

std::string verdict_line(const execution::ExecutionResult& result, std::string_view file) {
  std::string line = R"({"type":"verdict")";
  append_text(line, "verdict", execution::name_of(result.verdict));
  append_text(line, "file", file);
  line += std::string(",\"started\":") + (result.started ? "true" : "false");
  if (result.exit_code) append_number(line, "exit_code", *result.exit_code);
  if (result.signal) append_number(line, "signal", *result.signal);
  if (result.state_lost) line += ",\"state_lost\":true";
  if (!result.degraded.empty()) append_texts(line, "degraded", result.degraded);
  if (!result.detail.empty()) append_text(line, "detail", result.detail);
  append_number(line, "wall_seconds", result.usage.wall_seconds);
  append_number(line, "cpu_seconds", result.usage.cpu_seconds);
  append_number(line, "peak_memory_bytes", result.usage.peak_memory_bytes);
  append_number(line, "output_bytes", result.usage.output_bytes);
  return line + "}\n";
}

}  // namespace hearth::cli
