// The rules as a file that a reviewer can read: whatever widens or narrows a filter shows up in it.
#include "base/joined.h"
#include "seccomp/rules.h"
#include "tests/support/source_directory.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace hearth::seccomp {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* head =
    "# The seccomp rules of sandboxes, zygotes and builds, as src/seccomp/rules.cpp makes them. A "
    "call "
    "without\n"
    "# a rule fails with ENOSYS, a refused one with EPERM, a lacking one with ENOTSUP, an "
    "ignored\n"
    "# one succeeds without effect. All conditions of a rule must hold. Numbers are those of "
    "x86_64.\n"
    "#\n"
    "# golden_rules_test.cpp compares this file with the code. To update it after a deliberate "
    "change,\n"
    "# run `HEARTH_UPDATE_GOLDEN=1 build/bin/test_seccomp -tc=\"the rules are*\"`, then review "
    "the\n"
    "# difference: each new `allow` line is something that a script may do from now on.\n";

std::string golden_path() { return test::source_directory() + "/src/seccomp/rules_golden.txt"; }

std::string text_of(const Condition& condition) {
  if (condition.differs) return fmt::format("arg{} != {:#x}", condition.argument, condition.value);
  return fmt::format("arg{} & {:#x} == {:#x}", condition.argument, condition.mask, condition.value);
}

std::string line_of(const Rule& rule) {
  constexpr const char* words[] = {"allow", "refuse", "lack", "ignore"};
  std::string line =
      fmt::format("{:<7} {}", words[static_cast<std::size_t>(rule.action)], rule.call);
  if (!rule.conditions.empty()) line += "  if " + joined(rule.conditions, ", ", text_of);
  return line;
}

// Sorted by call: the order of rules has no meaning.
Lines lines_of(const std::vector<Rule>& rules) {
  std::vector<std::pair<std::string, std::string>> by_call;
  for (const Rule& rule : rules) by_call.emplace_back(rule.call, line_of(rule));
  std::sort(by_call.begin(), by_call.end());
  Lines lines;
  for (auto& [call, line] : by_call) lines.push_back(std::move(line));
  return lines;
}

Lines difference(Lines from, Lines of) {
  std::sort(from.begin(), from.end());
  std::sort(of.begin(), of.end());
  Lines result;
  std::set_difference(of.begin(), of.end(), from.begin(), from.end(), std::back_inserter(result));
  return result;
}

// Zygotes and builds have most rules of a sandbox: only their own are listed, and those they lack.
Lines all_lines() {
  const Lines sandbox = lines_of(sandbox_rules());
  Lines lines{"", "[sandbox]"};
  lines.insert(lines.end(), sandbox.begin(), sandbox.end());
  for (const auto& [name, rules] :
       {std::pair("zygote", zygote_rules()), std::pair("build", build_rules())}) {
    const Lines own = lines_of(rules);
    lines.insert(lines.end(),
                 {"", fmt::format("[{}: rules of a sandbox that it does not have]", name)});
    for (const std::string& line : difference(own, sandbox)) lines.push_back(line);
    lines.insert(lines.end(), {"", fmt::format("[{}: rules of its own]", name)});
    for (const std::string& line : difference(sandbox, own)) lines.push_back(line);
  }
  return lines;
}

Lines golden_lines() {
  std::ifstream file(golden_path());
  REQUIRE_MESSAGE(file.good(), golden_path() << " cannot be read");
  Lines lines;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the rules are those of rules_golden.txt") {
  const Lines rules = all_lines();
  if (std::getenv("HEARTH_UPDATE_GOLDEN") != nullptr)
    std::ofstream(golden_path()) << head << joined(rules, "\n") << '\n';
  const Lines golden = golden_lines();
  for (const std::string& line : difference(golden, rules)) MESSAGE("+ " << line);
  for (const std::string& line : difference(rules, golden)) MESSAGE("- " << line);
  CHECK_MESSAGE(rules == golden,
                "the rules differ from src/seccomp/rules_golden.txt as shown; its head says how to "
                "update it");
}

}  // namespace hearth::seccomp
