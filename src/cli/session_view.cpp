#include "cli/session_view.h"

#include "base/printable.h"
#include "blueprint/encode.h"
#include "session/session_details.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <ctime>

namespace hearth::cli {
namespace {

namespace json = boost::json;

// RFC 3339, UTC.
std::string time_text(std::int64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds % 1000);
}

std::string labels_text(const session::SessionDetails& details) {
  std::string text;
  for (const auto& [key, value] : details.labels)
    text += (text.empty() ? "" : ",") + key + '=' + value;
  return text;
}

json::array env_names(const session::SessionDetails& details) {
  json::array names;
  for (const auto& [name, value] : details.env) names.emplace_back(json::string(name));
  return names;
}

}  // namespace

json::object session_json(const session::SessionView& view) {
  const store::SessionRecord& record = view.record;
  const session::SessionDetails& details = view.details;
  json::object object{{"id", record.id},
                      {"state", enum_name(session::public_state(record.state))},
                      {"blueprint", record.blueprint},
                      {"owner", record.owner},
                      {"mode", enum_name(details.mode)},
                      {"labels", blueprint::encode(details.labels)},
                      {"env_names", env_names(details)},
                      {"limits", blueprint::encode(details.limits)},
                      {"created_at", time_text(record.created_at)},
                      {"last_used_at", time_text(record.last_used_at)},
                      {"generation", record.generation},
                      {"on_idle", enum_name(details.on_idle)},
                      {"on_expire", enum_name(details.on_expire)}};
  if (details.network) object["network"] = blueprint::encode(*details.network);
  if (record.expires_at) object["expires_at"] = time_text(*record.expires_at);
  if (details.idle_timeout_ms)
    object["idle_timeout_seconds"] = static_cast<double>(*details.idle_timeout_ms) / 1000;
  if (record.interrupted) object["work_lost"] = true;
  return object;
}

std::string session_lines(const session::SessionView& view) {
  std::string lines;
  for (const auto& [key, value] : session_json(view)) {
    const std::string text =
        value.is_string() ? std::string(value.as_string()) : json::serialize(value);
    lines += fmt::format("{:<20} {}\n", std::string_view(key), printable_line(text));
  }
  return lines;
}

std::string session_table(const std::vector<session::SessionView>& views) {
  std::string table = fmt::format("{:<36}  {:<8}  {:<24}  {:<14}  {}\n", "SESSION", "STATE",
                                  "LAST USED", "BLUEPRINT", "LABELS");
  for (const session::SessionView& view : views) {
    const std::string line = fmt::format("{:<36}  {:<8}  {:<24}  {:<14}  {}", view.record.id,
                                         enum_name(session::public_state(view.record.state)),
                                         time_text(view.record.last_used_at), view.record.blueprint,
                                         printable_line(labels_text(view.details)));
    table += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return table;
}

json::object resumed_json(const session::ResumeAnswer& answer) {
  json::array lost;
  for (const std::string& name : answer.lost_variables) lost.emplace_back(json::string(name));
  json::object object{{"source", enum_name(answer.source)},
                      {"generation", answer.generation},
                      {"lost_variables", std::move(lost)}};
  if (answer.work_lost) object["work_lost"] = true;
  return object;
}

std::string stats_lines(const session::SessionStats& stats) {
  return fmt::format(
      "total {}\ncold {}\nwarming {}\nwarm {}\nwaiting {}\nrunning {}\nmaxCapacity {}\n"
      "resumeWarmHits {}\nresumeColdHits {}\n",
      stats.total, stats.cold, stats.warming, stats.warm, stats.waiting, stats.running,
      stats.max_capacity, stats.resume_warm_hits, stats.resume_cold_hits);
}

}  // namespace hearth::cli
