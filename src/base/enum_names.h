// base/enum_names.h: the names of an enum's values, written once and used in both directions. A
// table stands beside its enum, as a function that argument-dependent lookup finds:
//
//   enum class Colour { red, green };
//   constexpr auto names_of(Colour /*type*/) {
//     return enum_names<Colour>({{Colour::red, "red"}, {Colour::green, "green"}});
//   }
//
// A table that misses an enumerator, or has another order than the enum, does not compile.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hearth {

namespace detail {

// Clang spells a value that no enumerator has as a cast: "(hearth::Colour)2".
template <auto value>
consteval bool is_enumerator() {
  std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "value = ";
  text.remove_prefix(text.find(before) + before.size());
  const std::size_t cast_end = text.rfind(')');
  return cast_end == std::string_view::npos || text[cast_end + 1] < '0' || text[cast_end + 1] > '9';
}

}  // namespace detail

// How many enumerators there are, if they are numbered from 0 without gaps.
template <typename Enum, std::size_t count = 0>
consteval std::size_t enumerator_count() {
  if constexpr (detail::is_enumerator<static_cast<Enum>(count)>()) {
    return enumerator_count<Enum, count + 1>();
  } else {
    return count;
  }
}

template <typename Enum, std::size_t size>
consteval auto enum_names(const std::pair<Enum, std::string_view> (&names)[size]) {
  static_assert(size == enumerator_count<Enum>(), "every enumerator needs a name");
  std::array<std::string_view, size> in_order;
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<std::size_t>(names[i].first) != i) throw "the table has another order";
    in_order[i] = names[i].second;
  }
  return in_order;
}

template <typename Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) { names_of(value); };

template <NamedEnum Enum>
constexpr std::string_view enum_name(Enum value) {
  constexpr auto names = names_of(Enum{});
  return names.at(static_cast<std::size_t>(value));
}

template <NamedEnum Enum>
constexpr std::optional<Enum> enum_value(std::string_view name) {
  constexpr auto names = names_of(Enum{});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace hearth
