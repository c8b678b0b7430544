#include "pool/waiting_line.h"

#include "base/error.h"
#include "tests/support/run_task.h"

#include <boost/asio/post.hpp>

#include <doctest/doctest.h>

using namespace hearth;
using namespace hearth::pool;

namespace {

struct Fixture {
  asio::io_context loop{1};
  Binding of_ann{.blueprint = "default", .owner = "ann"};
  Binding of_bob{.blueprint = "default", .owner = "bob"};
  Waiter ann{loop.get_executor(), of_ann, 1};
  Waiter bob{loop.get_executor(), of_bob, 2};
  WaitingLine line;

  Fixture() {
    line.join(ann);
    line.join(bob);
  }
};

Task<> wait_for(Waiter& waiter) {
  return waiter.served.wait_until([&] { return waiter.is_served(); });
}

std::exception_ptr an_error() { return std::make_exception_ptr(Error("none")); }

}  // namespace

TEST_CASE("waiters are served in the order in which they came") {
  Fixture fixture;
  fixture.line.serve_first(Lease());
  CHECK(fixture.ann.is_served());
  CHECK_FALSE(fixture.bob.is_served());
  CHECK(&fixture.line.first() == &fixture.bob);
  fixture.line.serve_first(Lease());
  CHECK(fixture.bob.lease.has_value());
  CHECK(fixture.line.is_empty());
}

TEST_CASE("a waiter that is served wakes up") {
  Fixture fixture;
  asio::post(fixture.loop, [&] { fixture.line.serve_first(Lease()); });
  test::run_task(fixture.loop, wait_for(fixture.ann));
  asio::post(fixture.loop, [&] { fixture.line.fail(fixture.bob, an_error()); });
  test::run_task(fixture.loop, wait_for(fixture.bob));
  CHECK(fixture.bob.failure);
}

TEST_CASE("a waiter that has left is neither served nor failed") {
  Fixture fixture;
  CHECK(fixture.line.leave(fixture.ann));
  CHECK_FALSE(fixture.line.leave(fixture.ann));
  fixture.line.fail(fixture.ann, an_error());
  CHECK_FALSE(fixture.ann.is_served());
  fixture.line.serve_first(Lease());
  CHECK(fixture.bob.is_served());
}

TEST_CASE("all waiters can be failed at once") {
  Fixture fixture;
  fixture.line.fail_all(an_error());
  CHECK(fixture.ann.failure);
  CHECK(fixture.bob.failure);
  CHECK(fixture.line.is_empty());
}

TEST_CASE("only the first ones are counted") {
  Fixture fixture;
  const auto is_bob = [](const Binding& binding) { return binding.owner == Owner("bob"); };
  CHECK(fixture.line.count_among_first(0, is_bob) == 0);
  CHECK(fixture.line.count_among_first(1, is_bob) == 0);
  CHECK(fixture.line.count_among_first(2, is_bob) == 1);
  CHECK(fixture.line.count_among_first(9, is_bob) == 1);
}
