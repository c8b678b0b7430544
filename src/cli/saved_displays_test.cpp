#include "cli/saved_displays.h"

#include <doctest/doctest.h>

#include <utility>

namespace hearth::cli {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Files files(const std::string& json) {
  Files found;
  for (const SavedDisplay& file : files_of({.data = {json}}))
    found.emplace_back(file.name + file.ending, file.bytes);
  return found;
}

}  // namespace

TEST_CASE("each form of a display but plain text is a file with the ending of its type") {
  CHECK(files(R"({"text/plain":"<Figure>","image/png":"AAEC"})") ==
        Files{{"figure.png", std::string("\0\1\2", 3)}});
  CHECK(files(R"({"text/html":"<b>é</b>","application/json":{"a":1.50}})") ==
        Files{{"display.html", "<b>é</b>"}, {"display.json", R"({"a":1.50})"}});
  CHECK(files(R"({"image/svg+xml":"<svg/>"})") == Files{{"figure.svg", "<svg/>"}});
  CHECK(files(R"({"application/vnd.plotly.v1+json":[1]})") == Files{{"display.json", "[1]"}});
  CHECK(files(R"({"text/plain":"1","text/html":null})").empty());
}

TEST_CASE("bytes may come in lines, and what is no base64 is saved as it came") {
  CHECK(files(R"({"image/png":"AA\nEC\n"})") == Files{{"figure.png", std::string("\0\1\2", 3)}});
  CHECK(files(R"({"image/png":"not this"})") == Files{{"figure.png", "not this"}});
  CHECK(files(R"({"weird/../../type":"AA=="})") == Files{{"display.bin", std::string(1, '\0')}});
}

}  // namespace hearth::cli
