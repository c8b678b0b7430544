#include "docker/container.h"

#include <utility>

namespace hearth::docker {

void Container::note_ended() {
  if (!std::exchange(has_ended_, true)) end_.notify_all();
}

Task<> Container::ended(std::shared_ptr<Container> container) {
  co_await container->end_.wait_until([&container] { return container->has_ended_; });
}

}  // namespace hearth::docker
