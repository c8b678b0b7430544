// native/uid_range.h: users that exist for sandboxes only. Where the host may give them out, every
// live sandbox has one of its own.
#pragma once

#include "native/launch_plan.h"
#include "os/file_lock.h"

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace hearth::native {

// Whether the machine, or the directory service it asks, knows a user of that number.
bool has_user(uid_t uid);

// A range no other instance on this machine uses, for as long as this object lives.
class UidRangeClaim {
 public:
  using HasUser = std::function<bool(uid_t)>;
  // In a directory that only root can write, so that no other user takes all ranges.
  static std::vector<std::filesystem::path> usual_directories();
  // Throws Error when all candidates are taken. Without a directory that can be used, the range is
  // a random one. A range in which the machine has users is taken; only some of its numbers are
  // looked up.
  explicit UidRangeClaim(
      const std::vector<UidRange>& candidates,
      const std::vector<std::filesystem::path>& directories = usual_directories(),
      const HasUser& is_known = has_user);
  const UidRange& range() const { return range_; }

 private:
  UidRange range_;
  std::optional<os::FileLock> mark_;  // which the kernel frees when we end
};

// The users of a range, by their numbers inside a zygote's namespace. One pool for all zygotes that
// share the range: they give the same numbers to the same users. A number is given out again only
// when nothing of its last sandbox is left, and the one that was free longest first.
class UidPool {
 public:
  explicit UidPool(const UidRange& range);

  class Lease {
   public:
    Lease(std::shared_ptr<UidPool> pool, uid_t uid) : pool_(std::move(pool)), uid_(uid) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = default;
    ~Lease() {
      if (pool_) pool_->free_.push_back(uid_);
    }
    uid_t uid() const { return uid_; }

   private:
    std::shared_ptr<UidPool> pool_;
    uid_t uid_;
  };
  // Throws Error when all are in use.
  static Lease take(const std::shared_ptr<UidPool>& pool);

 private:
  std::deque<uid_t> free_;
};

}  // namespace hearth::native
