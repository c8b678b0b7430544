#include "init/user_list.h"

#include "base/error.h"
#include "os/read_file.h"
#include "tests/support/temporary_directory.h"

#include <doctest/doctest.h>

#include <unistd.h>

namespace hearth::init {

TEST_CASE("the user sandbox gets its number, and all others keep theirs") {
  CHECK(with_sandbox_uid("root:x:0:0:root:/root:/bin/sh\n"
                         "sandbox:x:10001:10001:Hearth sandbox:/workspace:/sbin/nologin\n"
                         "sandboxes:x:5:5::/:/bin/sh",
                         2013265920) ==
        "root:x:0:0:root:/root:/bin/sh\n"
        "sandbox:x:2013265920:10001:Hearth sandbox:/workspace:/sbin/nologin\n"
        "sandboxes:x:5:5::/:/bin/sh\n");
  CHECK(with_sandbox_uid("sandbox:x:", 7) == "sandbox:x:7\n");
  CHECK(with_sandbox_uid("", 7).empty());
}

TEST_CASE("a list of users that a script has changed is replaced") {
  const test::TemporaryDirectory directory;
  directory.write("from", "sandbox:x:1:2:::\n");
  directory.write("passwd", "root:x:7:7:::\n");
  write_user_list({directory.path() / "from", directory.path()});
  CHECK(os::read_file(directory.path() / "passwd", 100) ==
        "sandbox:x:" + std::to_string(::geteuid()) + ":2:::\n");
  CHECK_THROWS_AS(write_user_list({directory.path() / "missing", directory.path()}), OsError);
}

}  // namespace hearth::init
