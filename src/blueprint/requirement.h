// blueprint/requirement.h: one pip requirement (PEP 508): what it asks for, in one spelling, so
// that two ways to write the same are seen to be the same. Resolves nothing.
#pragma once

#include "base/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace hearth::blueprint {

struct Requirement {
  std::string name;                     // normalised as PEP 503 says
  std::vector<std::string> extras;      // normalised, sorted
  std::vector<std::string> specifiers;  // `>=1.4`, sorted
  std::string url;                      // of `name @ url`, which has no specifiers
  std::string marker;                   // with single blanks between its words
};

// `what()` reads after the requirement: `expects ")" at ...`
struct RequirementError : Error {
  explicit RequirementError(const std::string& what, bool holds_secret = false)
      : Error(what), confidential(holds_secret) {}
  bool confidential;
};

Requirement parse_requirement(std::string_view text);

// One text for all spellings: `Foo_Bar [b,A] < 2, >=1` is `foo-bar[a,b]<2,>=1`.
std::string canonical_text(const Requirement& requirement);

// Every requirement in its canonical text, sorted, each once.
std::vector<std::string> canonical_requirements(const std::vector<std::string>& requirements);

}  // namespace hearth::blueprint
