#include "pool/sandboxes_by_owner.h"

#include <doctest/doctest.h>

using namespace hearth::pool;

namespace {

std::shared_ptr<ManagedSandbox> unused() { return std::make_shared<ManagedSandbox>(); }

std::shared_ptr<ManagedSandbox> used_by(const Owner& owner) {
  auto managed = unused();
  managed->use_count = 1;
  managed->owner = owner;
  return managed;
}

}  // namespace

TEST_CASE("an owner gets the sandbox it used last, then the newest unused one") {
  SandboxesByOwner sandboxes;
  const auto first = used_by("ann");
  const auto second = used_by("ann");
  const auto old_one = unused();
  const auto new_one = unused();
  for (const auto& one : {first, second, old_one, new_one}) sandboxes.put(one);
  CHECK(sandboxes.take("ann") == second);
  CHECK(sandboxes.take("ann") == first);
  CHECK(sandboxes.take("ann") == new_one);
  CHECK(sandboxes.take("ann") == old_one);
  CHECK(sandboxes.take("ann") == nullptr);
}

TEST_CASE("a sandbox that one owner used is never taken for another") {
  SandboxesByOwner sandboxes;
  sandboxes.put(used_by("ann"));
  CHECK(sandboxes.take("bob") == nullptr);
  CHECK(sandboxes.take(Owner::unique()) == nullptr);
  CHECK(sandboxes.count() == 1);
}

TEST_CASE("counts are those of all, of the used ones, and of those that an owner may have") {
  SandboxesByOwner sandboxes;
  for (const auto& one : {unused(), used_by("ann"), used_by("ann"), used_by("bob")})
    sandboxes.put(one);
  CHECK(sandboxes.count() == 4);
  CHECK(sandboxes.used_count() == 3);
  CHECK(sandboxes.count_for("ann") == 3);
  CHECK(sandboxes.count_for("bob") == 2);
  CHECK(sandboxes.count_for("eve") == 1);
  CHECK(sandboxes.all().size() == 4);
  sandboxes.clear();
  CHECK(sandboxes.count() == 0);
}

TEST_CASE("a sandbox is removed once, wherever it stands") {
  SandboxesByOwner sandboxes;
  const auto fresh = unused();
  const auto of_ann = used_by("ann");
  const auto also_of_ann = used_by("ann");
  for (const auto& one : {fresh, of_ann, also_of_ann}) sandboxes.put(one);
  CHECK(sandboxes.remove(of_ann));
  CHECK_FALSE(sandboxes.remove(of_ann));
  CHECK(sandboxes.remove(fresh));
  CHECK_FALSE(sandboxes.remove(fresh));
  CHECK(sandboxes.take("ann") == also_of_ann);
}

TEST_CASE("the oldest are taken first, and used ones after the unused") {
  SandboxesByOwner sandboxes;
  const auto of_ann = used_by("ann");
  const auto old_one = unused();
  const auto new_one = unused();
  for (const auto& one : {of_ann, old_one, new_one}) sandboxes.put(one);
  CHECK(sandboxes.take_oldest() == old_one);
  CHECK(sandboxes.take_oldest_used() == of_ann);
  CHECK(sandboxes.take_oldest_used() == nullptr);
  CHECK(sandboxes.take_oldest() == new_one);
  CHECK(sandboxes.take_oldest() == nullptr);
}
