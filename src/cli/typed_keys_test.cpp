#include "cli/typed_keys.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <string>

using namespace hearth;
using cli::keys_that_insert;
using cli::quoting_key;
using cli::TypedKeys;

namespace {

// What the editor gets of these bytes, up to their end.
std::u32string keys_of(const std::string& typed) {
  std::array<int, 2> input{};
  std::array<int, 2> wake{};
  REQUIRE(::pipe(input.data()) == 0);
  REQUIRE(::pipe(wake.data()) == 0);
  REQUIRE(::write(input[1], typed.data(), typed.size()) == static_cast<ssize_t>(typed.size()));
  ::close(input[1]);
  TypedKeys keys(input[0], wake[0]);
  std::u32string all;
  while (const auto key = keys.next()) all += *key;
  for (const int fd : {input[0], wake[0], wake[1]}) ::close(fd);
  return all;
}

std::u32string quoted(std::u32string_view text) {
  std::u32string keys;
  for (const char32_t character : text) {
    if (character == U'\n' || character == U'\t') keys += quoting_key;
    keys += character;
  }
  return keys;
}

}  // namespace

TEST_CASE("keys pass as they are, characters as a whole, a tab as spaces") {
  CHECK(keys_of("a\x1b[A\x01\n") == U"a\x1b[A\x01\n");
  CHECK(keys_of("ä😀") == U"ä😀");
  CHECK(keys_of("\tx") == U"    x");
  CHECK(keys_of("\x1b") == U"\x1b");
  CHECK(keys_of("\x1b[20") == U"\x1b[20");
  CHECK(keys_of("a\xffz\xc3") == U"a\xfffdz\xfffd");
}

TEST_CASE("a paste is inserted with its line ends, and nothing in it is a command") {
  CHECK(keys_of("x\x1b[200~def f():\r\treturn 'ä'\r\r\x1b[201~\r") ==
        U"x" + quoted(U"def f():\n\treturn 'ä'") + U"\r");
  CHECK(keys_of("\x1b[200~a\x03\x1b[Ab\x7f\x1b[201~") == U"a[Ab");
  CHECK(keys_of("\x1b[200~a\r\nb\nc\x1b[201~") == quoted(U"a\nb\nc"));
  CHECK(keys_of("\x1b[200~\x1b[201~z") == U"z");
}

TEST_CASE("a paste without its end is nothing") { CHECK(keys_of("\x1b[200~abc").empty()); }
