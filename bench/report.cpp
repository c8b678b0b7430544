#include "bench/report.h"

#include "base/json_escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hearth::bench {

double percentile(std::vector<double>& samples, double share) {
  if (samples.empty()) return std::nan("");
  std::sort(samples.begin(), samples.end());
  const auto index = static_cast<std::size_t>(share * static_cast<double>(samples.size()));
  return samples[std::min(index, samples.size() - 1)];
}

std::string Report::table() const {
  std::string text = fmt::format("| {:<44} | {:>14} | {:<38} | {:>6} | {}\n", "what", "value",
                                 "reference in the same run", "ratio", "goal |");
  text += fmt::format("|{:-<46}|{:-<16}|{:-<40}|{:-<8}|---|\n", "", "", "", "");
  for (const Row& row : rows_) {
    const bool compared = !row.reference.empty();
    text += fmt::format(
        "| {:<44} | {:>14} | {:<38} | {:>6} | {} |\n", row.name,
        fmt::format("{:.4g} {}", row.value, row.unit),
        compared ? fmt::format("{} {:.4g} {}", row.reference, row.reference_value, row.unit) : "",
        compared ? fmt::format("{:.2f}", row.value / row.reference_value) : "", row.goal);
  }
  return text;
}

std::string Report::json() const {
  std::string text = "[";
  for (const Row& row : rows_) {
    text += text.size() > 1 ? ",\n {\"name\":" : "\n {\"name\":";
    append_json_string(text, row.name);
    text += fmt::format(",\"value\":{},\"unit\":", row.value);
    append_json_string(text, row.unit);
    if (!row.reference.empty()) {
      text += ",\"reference\":";
      append_json_string(text, row.reference);
      text += fmt::format(",\"reference_value\":{}", row.reference_value);
    }
    text += '}';
  }
  return text + "\n]\n";
}

}  // namespace hearth::bench
