#include "cli/doctor_command.h"

#include <doctest/doctest.h>

using namespace hearth;
using backend::Finding;

TEST_CASE("the doctor's table says what is, what follows and how to fix it") {
  const std::string text = cli::render_findings({{.what = "kernel", .found = "6.1"},
                                                 {.what = "Landlock",
                                                  .found = "none",
                                                  .state = Finding::State::missing,
                                                  .consequence = "a wall is missing",
                                                  .remedy = "use a newer kernel"}},
                                                false);
  CHECK(text ==
        "ok  kernel             6.1\n"
        "no  Landlock           none\n"
        "      a wall is missing\n"
        "      fix: use a newer kernel\n");
}
