#include "cli/copied_trees.h"

#include <doctest/doctest.h>

#include <sstream>

namespace hearth::cli {

TEST_CASE("of many files the first ten are named, with what all of them have together") {
  NamedFiles files;
  CHECK(files.text().empty());
  files.add("out/a\x1b.csv", 10'000);
  CHECK(files.text() == "out/a\\x1b.csv 10 kB");
  for (int number = 1; number < 12; ++number) files.add("f", 1);
  CHECK(files.text() ==
        "out/a\\x1b.csv 10 kB, f 1 byte, f 1 byte, f 1 byte, f 1 byte, f 1 byte, f 1 byte, "
        "f 1 byte, f 1 byte, f 1 byte and 2 more, 10 kB in all");
  NamedFiles links;
  for (int number = 0; number < 11; ++number) links.add("l");
  CHECK(links.text() == "l, l, l, l, l, l, l, l, l, l and 1 more");
}

TEST_CASE("a copy that takes long says how far it is, on a terminal") {
  const auto later = [](int ms) {
    return CopyProgress::Clock::now() + std::chrono::milliseconds(ms);
  };
  std::ostringstream terminal;
  {
    CopyProgress progress("--put", true, terminal);
    progress.add_file();
    progress.add_bytes(1'000'000, CopyProgress::Clock::now());
    CHECK(terminal.str().empty());
    progress.add_bytes(2'000'000, later(2000));
    CHECK(terminal.str() == "\r\033[K--put: 3.0 MB in 1 file");
    progress.add_bytes(1, later(2001));
    CHECK(terminal.str() == "\r\033[K--put: 3.0 MB in 1 file");
    progress.add_file();
    progress.add_bytes(2'000'000, later(2300));
    CHECK(terminal.str().ends_with("\r\033[K--put: 5.0 MB in 2 files"));
  }
  CHECK(terminal.str().ends_with("files\r\033[K"));

  std::ostringstream file;
  CopyProgress silent("--put", false, file);
  silent.add_bytes(1, later(5000));
  silent.clear();
  CHECK(file.str().empty());
}

}  // namespace hearth::cli
