#include "docker/container_uids.h"

#include "base/error.h"

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <deque>

namespace hearth::docker {
namespace {

namespace json = boost::json;

ContainerUids::RandomBelow says(std::deque<uid_t> numbers) {
  return [numbers = std::move(numbers)](uid_t bound) mutable {
    const uid_t next = numbers.front() % bound;
    if (numbers.size() > 1) numbers.pop_front();
    return next;
  };
}

}  // namespace

TEST_CASE("two containers of one process never have the same user") {
  ContainerUids uids({1000, 10}, says({3, 3, 4, 3}));
  ContainerUids::Lease first = uids.take();
  const ContainerUids::Lease second = uids.take();
  CHECK(first.uid() == 1003);
  CHECK(second.uid() == 1004);
  CHECK_THROWS_AS(uids.take(), Error);
  first = {};
  CHECK(uids.take().uid() == 1003);
}

TEST_CASE("users of containers are outside of every range that users of the machine have") {
  const UidSpan span = uids_of_engine({{"SecurityOptions", json::array{"name=seccomp"}}});
  constexpr uid_t last_subordinate_id = 600'100'000;
  CHECK(span.first > last_subordinate_id);
  CHECK(span.first + span.count - 1 <= 0x7FFFFFFF);  // what container runtimes accept
  CHECK(span.count > 100'000'000);
  CHECK(uids_of_engine(nullptr) == span);
}

TEST_CASE("an engine in a user namespace gets users that are mapped there") {
  for (const char* option : {"name=userns", "name=rootless"}) {
    const UidSpan span = uids_of_engine({{"SecurityOptions", json::array{option}}});
    CHECK(span.first + span.count <= 65536);
    CHECK(span.count >= 40000);
  }
}

}  // namespace hearth::docker
