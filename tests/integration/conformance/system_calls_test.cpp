// The same rules of the seccomp filter, natively and by an engine.
#include "tests/support/any_backend.h"
#include "tests/support/system_call_cases.h"

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::test;

#ifdef __x86_64__

TEST_CASE_TEMPLATE("the rules for arguments of system calls hold", Backend, ON_EVERY_BACKEND) {
  Backend backend;
  for (const SystemCallCase& one :
       {settings_of_processes, programs_on_sockets, what_reaches_beyond, huge_pages, set_id_bits,
        families_of_sockets, what_nothing_counts, watches_of_files}) {
    CAPTURE(one.script);
    const auto result = backend.run(call_directly + one.script, 60);
    INFO(result.stderr_text);
    CHECK(result.stdout_text == one.printed);
  }
}

#endif
