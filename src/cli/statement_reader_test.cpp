#include "cli/statement_reader.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

using hearth::cli::StatementReader;

namespace {

std::vector<std::string> statements(const std::string& typed) {
  StatementReader reader;
  std::vector<std::string> found;
  std::istringstream lines(typed);
  for (std::string line; std::getline(lines, line);)
    if (reader.add(line)) found.push_back(reader.take());
  if (!reader.empty()) found.push_back("unfinished");
  return found;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("a line that is whole is a statement, empty ones are none") {
  CHECK(statements("x = 1\n\n\nprint(x)\n") == List{"x = 1\n", "print(x)\n"});
}

TEST_CASE("a block goes on until an empty line") {
  CHECK(statements("for i in range(2):\n  print(i)\n  if i:\n    pass\n\nx = 1\n") ==
        List{"for i in range(2):\n  print(i)\n  if i:\n    pass\n\n", "x = 1\n"});
  CHECK(statements("@cached\ndef f():\n  pass\n\n") == List{"@cached\ndef f():\n  pass\n\n"});
}

TEST_CASE("brackets, long strings and backslashes ask for more") {
  CHECK(statements("f(1,\n  2)\n") == List{"f(1,\n  2)\n"});
  CHECK(statements("x = '''a\n\nb'''\n") == List{"x = '''a\n\nb'''\n"});
  CHECK(statements("x = 1 + \\\n  2\n") == List{"x = 1 + \\\n  2\n"});
  CHECK(statements("f(\n") == List{"unfinished"});
}

TEST_CASE("what stands in strings and comments opens nothing") {
  CHECK(statements("x = '('\n") == List{"x = '('\n"});
  CHECK(statements("x = 1  # if this:\n") == List{"x = 1  # if this:\n"});
  CHECK(statements("x = {'a': 1}\n") == List{"x = {'a': 1}\n"});
}
