#include "base/secret.h"

#include "base/log.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <fmt/std.h>
#include <boost/json/value_from.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

using namespace hearth;

namespace {

template <typename T>
concept Streamable = requires(std::ostream& out, const T& value) { out << value; };
template <typename T>
concept JsonWritable = boost::json::has_value_from<T>::value;

// What can be printed, so that the checks below are known to see it.
static_assert(fmt::is_formattable<std::string>::value);
static_assert(Streamable<std::string>);
static_assert(JsonWritable<std::string>);
static_assert(JsonWritable<std::map<std::string, std::string>>);

static_assert(!fmt::is_formattable<Secret>::value);
static_assert(!fmt::is_formattable<std::map<std::string, Secret>>::value);
static_assert(!Streamable<Secret>);
static_assert(!JsonWritable<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);
static_assert(!std::is_constructible_v<std::string, Secret>);
static_assert(!std::is_constructible_v<std::string_view, Secret>);
// Nor does a text become one by accident.
static_assert(!std::is_convertible_v<std::string, Secret>);

}  // namespace

TEST_CASE("a secret has its text for those that ask for it by name") {
  const Secret secret(std::string("hunter2"));
  CHECK(secret.reveal() == "hunter2");
  Secret copy = secret;
  CHECK(copy == secret);
  copy = Secret(std::string("other"));
  CHECK_FALSE(copy == secret);
}

TEST_CASE("a secret that is moved away or destroyed leaves nothing in its own memory") {
  for (const std::string& text : {std::string("short"), std::string(100, 'x')}) {
    CAPTURE(text.size());
    alignas(Secret) std::byte place[sizeof(Secret)];
    auto* secret = new (place) Secret(text);
    const Secret moved = std::move(*secret);
    CHECK(moved.reveal() == text);
    CHECK(secret->reveal().empty());
    secret->~Secret();
    const std::string_view left(reinterpret_cast<const char*>(place), sizeof place);
    CHECK(left.find(text.substr(0, 5)) == std::string_view::npos);
  }
}
