#include "api/plain_text.h"

#include <doctest/doctest.h>

using hearth::api::plain_text;

TEST_CASE("colours, cursor movements, titles and links are removed from a text") {
  CHECK(plain_text("\x1b[1;31mred\x1b[0m \x1b[2K\x1b[?25lon") == "red on");
  CHECK(plain_text("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "textlink");
  CHECK(plain_text("\x1b(Ba\x1b=b\x1b") == "ab");
}

TEST_CASE("a sequence that does not end hides no more than its line") {
  CHECK(plain_text("\x1b]0;title\nnext") == "\nnext");
  CHECK(plain_text("\x1b[31\nnext") == "\nnext");
  CHECK(plain_text("\x1b[31") == "");
  CHECK(plain_text("\x1b]0;a\x1b[31mred") == "red");
}

TEST_CASE("of a line that is rewritten only its last state is text") {
  CHECK(plain_text("10%\r50%\r100%\ndone\n") == "100%\ndone\n");
  CHECK(plain_text("10%\r50%\r") == "50%");
  CHECK(plain_text("10%\r\x1b[K50%\r\r\nnext\r\n") == "50%\nnext\n");
  CHECK(plain_text("a\n\rb") == "a\nb");
}

TEST_CASE("a script's name of a file is one line and moves no cursor") {
  CHECK(hearth::api::shown_name("out/Grüße 1.png") == "out/Grüße 1.png");
  CHECK(hearth::api::shown_name("a\nb\x1b[2Jc\x7f") == "a\\x0ab\\x1b[2Jc\\x7f");
  CHECK(hearth::api::shown_name("a\xc2\x9b"
                                "2J") == "a\\x9b2J");
  CHECK(hearth::api::shown_name("\xff\xe2\x82") == "\uFFFD\uFFFD\uFFFD");
}
