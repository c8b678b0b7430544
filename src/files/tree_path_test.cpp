#include "files/tree_path.h"

#include <doctest/doctest.h>

using hearth::files::leads_out;

TEST_CASE("a link leads out if it is absolute or goes above the top, whatever it names") {
  for (const auto& [path, target] :
       {std::pair{"a", "/etc/passwd"}, std::pair{"a", ".."}, std::pair{"a", "../x"},
        std::pair{"d/a", "../.."}, std::pair{"d/a", ".././../x"}, std::pair{"a", "b/.."},
        std::pair{"d/a", "b/../../x"}, std::pair{"a", "./../x"}, std::pair{"a", "//x"}}) {
    CAPTURE(path);
    CAPTURE(target);
    CHECK(leads_out(path, target));
  }
  for (const auto& [path, target] :
       {std::pair{"a", "b"}, std::pair{"a", "./b/./c"}, std::pair{"d/a", "../b"},
        std::pair{"d/a", ".."}, std::pair{"d/e/a", "../../b//c"}, std::pair{"a", "..b"}}) {
    CAPTURE(path);
    CAPTURE(target);
    CHECK_FALSE(leads_out(path, target));
  }
}
