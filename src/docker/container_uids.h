// docker/container_uids.h: a user id of its own for each container. The kernel counts descriptors
// in flight, pipe buffers, keys and pending signals per user, so containers that share a user can
// exhaust each other's limits.
#pragma once

#include <boost/json/value.hpp>

#include <sys/types.h>

#include <functional>
#include <memory>
#include <set>

namespace hearth::docker {

struct UidSpan {
  uid_t first = 0;
  uid_t count = 0;
  bool operator==(const UidSpan&) const = default;
};

// The ids an engine can give to containers. `info` is its GET /info: an engine in a user namespace
// (rootless, userns-remap) has only the first 65536.
UidSpan uids_of_engine(const boost::json::value& info);

class ContainerUids {
 public:
  // `random_below` returns a number less than its argument.
  using RandomBelow = std::function<uid_t(uid_t)>;
  explicit ContainerUids(UidSpan span = {}, RandomBelow random_below = {});

  // No other lease of this object has the same id.
  class Lease {
   public:
    Lease() = default;  // of no id
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    uid_t uid() const { return uid_; }

   private:
    friend class ContainerUids;
    Lease(std::shared_ptr<std::set<uid_t>> taken, uid_t uid)
        : taken_(std::move(taken)), uid_(uid) {}

    std::shared_ptr<std::set<uid_t>> taken_;
    uid_t uid_ = 0;
  };

  // Throws Error if none is found.
  Lease take();

 private:
  UidSpan span_;
  RandomBelow random_below_;
  std::shared_ptr<std::set<uid_t>> taken_ = std::make_shared<std::set<uid_t>>();
};

}  // namespace hearth::docker
