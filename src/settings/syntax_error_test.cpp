#include "settings/load.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::settings;

namespace {

std::string complaint(const std::string& text) {
  try {
    load_settings({"h.toml", text, {}, {}});
  } catch (const SettingsError& error) {
    Diagnostic first = error.diagnostics.front();
    first.excerpt = {};
    return render(first, false).substr(std::string("h.toml:").size());
  }
  return "none";
}

struct Row {
  std::string text;
  std::string complaint;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(complaint(row.text) == row.complaint);
  }
}

}  // namespace

TEST_CASE("C9: a string, list or table without its end is reported where it begins") {
  const std::string no_end = "error: the string that begins here does not end: a closing ";
  check({
      {"[log]\nlevel = \"a\nformat = \"text\"\n", "2:9: " + no_end + "\" is missing on its line"},
      {"[log]\nlevel = 'a\n", "2:9: " + no_end + "' is missing on its line"},
      {"[log]\nlevel = \"a\r\n", "2:9: " + no_end + "\" is missing on its line"},
      {"[log]\nlevel = \"\"\"a\nformat = 1\n", "2:9: " + no_end + "\"\"\" is missing"},
      {"[[blueprint]]\npreload = [\"a\", \"b\"\nname = \"x\"\n",
       "2:11: error: the list that begins here does not end: a ] is missing"},
      {"[[blueprint]]\npreload = [\"a\",\n\n[log]\nlevel = \"info\"\n",
       "2:11: error: the list that begins here does not end: a ] is missing"},
      {"[[blueprint]]\npreload = [\"a\"",
       "2:11: error: the list that begins here does not end: a ] is missing"},
      {"[[blueprint]]\npreload = [\"a\"\n\"b\"]\n", "3:1: error: a comma is missing before this"},
      {"[[blueprint]]\nname = 'a'\nresource_limits = { memory_mb = 1\npool_size = 2\n",
       "3:19: error: the table that begins here does not end on its line: a } is missing"},
  });
}

TEST_CASE("C9: a header of a section is shown as it should be") {
  check({
      {"[[blueprint]\nname = 'a'\n", "1:1: error: a section begins with [[blueprint]]"},
      {"[blueprint\nname = 'a'\n", "1:1: error: a section begins with [[blueprint]]"},
      {"[log\nlevel = 'info'\n", "1:1: error: a section begins with [log]"},
      {"[log]]\nlevel = 'info'\n", "1:1: error: a section begins with [log]"},
      {"[log] level = 'info'\n", "1:1: error: nothing may follow [log] on its line"},
      {"[log]\nlevel = 'info'\n[log]\nformat = 'text'\n",
       "3:1: error: this section stands there twice; write its keys below one [log]"},
      {"[blueprint]\nname = 'a'\n[[blueprint]]\nname = 'b'\n",
       "3:1: error: stands beside [blueprint]; write [[blueprint]] each time"},
      {"[log]\nlevel = 'info'\nlevel = 'debug'\n", "3:9: error: level is set twice in its section"},
  });
}

TEST_CASE("C9: a value that is none is told how to write it") {
  check({
      {"[[blueprint]]\nname = default\n", "2:8: error: a string is in quotes: write \"default\""},
      {"[[blueprint]]\npreload = [a, b]\n", "2:12: error: a string is in quotes: write \"a\""},
      {"[log]\nlevel = info # more\n", "2:9: error: a string is in quotes: write \"info\""},
      {"[[blueprint]]\npython_version = 3.11.2\n",
       "2:18: error: a string is in quotes: write \"3.11.2\""},
      {"[[blueprint]]\nname = “default”\n", "2:8: error: a string is in quotes: write \"default\""},
      {"[builder]\nindex_url = https://me:hunter2@x/\n", "2:13: error: a string is in quotes"},
      {"[native]\nallow_degraded = True\n", "2:18: error: write true"},
      {"[native]\nallow_degraded = no\n", "2:18: error: write false"},
      {"[docker]\nruntime = None\n", "2:11: error: a key without a value is left out"},
      {"[builder]\nbuild_memory_mb = 2G\n", "2:19: error: write 2048, without a unit"},
      {"[pool]\ncheckout_timeout_ms = 30s\n", "2:23: error: write 30000, without a unit"},
      {"[log]\nlevel =\n", "2:8: error: the value after = is missing"},
      {"[log]\nlevel: 'info'\n", "2:6: error: write = instead of :"},
      {"log:\n  level: info\n", "1:4: error: write = instead of :, and a section as [log]"},
      {"[log]\nlevel\n", "2:6: error: a key, = and its value stand on one line"},
      {"[state]\ndir = \"C:\\path\"\n",
       "2:7: error: a backslash means something in this string; write '...' instead of \"...\", or "
       "two backslashes for one"},
  });
}

TEST_CASE("C26: a value in the section of secrets is not repeated by an explanation") {
  for (const char* text : {"[secrets]\nKEY = hunter2\n", "[secrets]\nKEY = { env = hunter2 }\n",
                           "[secrets]\nKEY = \"hunter2\n", "[secrets\nKEY = \"hunter2\"\n",
                           "secrets.KEY = hunter2\n", "[secrets] KEY = hunter2\n"}) {
    INFO(text);
    CHECK(complaint(text) != "none");
    CHECK(complaint(text).find("hunter2") == std::string::npos);
  }
}
