#include "docker/container_uids.h"

#include "base/error.h"
#include "base/id.h"
#include "docker/json_path.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

namespace hearth::docker {
namespace {

namespace json = boost::json;

// Above useradd's users and subordinate ids, the users of directory services and systemd's
// containers; beside those of native sandboxes (0x77400000 to 0x77ffffff). Ends below systemd's
// foreign users (0x7ffe0000).
constexpr UidSpan whole_span{0x78000000, 0x7FFE0000 - 0x78000000};
// All that a user namespace of the usual 65536 ids leaves above useradd's first users.
constexpr UidSpan remapped_span{20000, 40000};
constexpr int most_attempts = 100;

bool is_remapped(const json::value& option) {
  if (!option.is_string()) return false;
  const json::string& text = option.get_string();
  return text.starts_with("name=userns") || text.starts_with("name=rootless");
}

}  // namespace

UidSpan uids_of_engine(const json::value& info) {
  const json::array* options = at(info, {"SecurityOptions"}).if_array();
  const bool remapped =
      options != nullptr && std::any_of(options->begin(), options->end(), is_remapped);
  return remapped ? remapped_span : whole_span;
}

ContainerUids::ContainerUids(UidSpan span, RandomBelow random_below)
    : span_(span), random_below_(random_below ? std::move(random_below) : random_number_below) {}

ContainerUids::Lease ContainerUids::take() {
  for (int attempt = 0; attempt < most_attempts && span_.count > 0; ++attempt) {
    const uid_t uid = span_.first + random_below_(span_.count);
    if (taken_->insert(uid).second) return {taken_, uid};
  }
  throw Error("no user id is free for another container");
}

ContainerUids::Lease& ContainerUids::Lease::operator=(Lease&& other) noexcept {
  std::swap(taken_, other.taken_);
  std::swap(uid_, other.uid_);
  return *this;
}

ContainerUids::Lease::~Lease() {
  if (taken_) taken_->erase(uid_);
}

}  // namespace hearth::docker
