// pool/owner.h: whose code and data a lease is. A sandbox that ran one owner's code never serves
// another.
#pragma once

#include "base/error.h"
#include "base/id.h"

#include <compare>
#include <string>
#include <utility>

namespace hearth::pool {

class Owner {
 public:
  // Two owners of one name are the same owner. Throws Error if the name is empty: that is no owner
  // but a caller that forgot to name one.
  Owner(std::string name) : name_(std::move(name)) {  // NOLINT(google-explicit-constructor)
    if (name_.empty()) throw Error("the name of an owner must not be empty");
  }
  Owner(const char* name) : Owner(std::string(name)) {}  // NOLINT(google-explicit-constructor)

  // Equals no other: the owner of a lease whose caller names none.
  static Owner unique() {
    Owner owner(random_id());
    owner.is_named_ = false;
    return owner;
  }

  // False: no later lease can have this owner.
  bool is_named() const { return is_named_; }
  const std::string& name() const { return name_; }

  auto operator<=>(const Owner&) const = default;

 private:
  std::string name_;
  bool is_named_ = true;
};

}  // namespace hearth::pool
