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

TEST_CASE("what no further line can complete is whole, for Python to refuse it") {
  CHECK(statements("print(\"oops\nx = 1\n") == List{"print(\"oops\n", "x = 1\n"});
  CHECK(statements("f(1]\nx = 1\n") == List{"f(1]\n", "x = 1\n"});
  CHECK(statements("f)\n") == List{"f)\n"});
  CHECK(statements("if f('oops:\nx = 1\n") == List{"if f('oops:\n", "x = 1\n"});
}

TEST_CASE("a string in single quotes goes on after a backslash") {
  CHECK(statements("x = 'a\\\nb'\n") == List{"x = 'a\\\nb'\n"});
  CHECK(statements("x = 'a\\\nb\nx = 1\n") == List{"x = 'a\\\nb\n", "x = 1\n"});
}

TEST_CASE("lines that come at once are one statement, whatever blank lines are in it") {
  StatementReader reader;
  const std::string text = "class A:\n  def n(self):\n    pass\n\n  def m(self):\n    pass";
  CHECK(reader.add_all(text));
  CHECK(reader.take() == text + "\n");
  CHECK_FALSE(reader.add_all("f(1,\n\n  2"));
  CHECK(reader.add(")"));
  CHECK(reader.take() == "f(1,\n\n  2\n)\n");
}
