#include "runtime/state_directory.h"

#include <doctest/doctest.h>

#include <string>

using namespace hearth;
using runtime::state_directory;

namespace {

std::string of_user(const settings::Env& env) { return state_directory({}, env, false); }

}  // namespace

TEST_CASE("an ordinary user's state is in XDG_STATE_HOME, else below HOME") {
  CHECK(of_user({{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}) == "/s/hearth");
  CHECK(of_user({{"XDG_STATE_HOME", ""}, {"HOME", "/h"}}) == "/h/.local/state/hearth");
  CHECK(of_user({}) == "/var/lib/hearth");
  CHECK(state_directory({}, {{"HOME", "/root"}}, true) == "/var/lib/hearth");
}

TEST_CASE("a variable that is no absolute path puts no state into the current directory") {
  CHECK(of_user({{"XDG_STATE_HOME", "relx"}, {"HOME", "/h"}}) == "/h/.local/state/hearth");
  CHECK(of_user({{"XDG_STATE_HOME", "./s"}, {"HOME", "h"}}) == "/var/lib/hearth");
}
