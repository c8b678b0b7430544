// docker/container.h: one container, from its request until it is removed. Shared by its sandbox
// and by the tasks that watch and remove it, which may outlive the sandbox.
#pragma once

#include "async/event.h"
#include "async/task.h"
#include "docker/container_uids.h"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hearth::docker {

class Container {
 public:
  Container(const asio::any_io_executor& executor, std::string unique_name)
      : name(std::move(unique_name)), end_(executor) {}

  const std::string name;
  ContainerUids::Lease user{};  // until it is removed
  std::string id{};             // the engine's; empty until it is created
  // True if its creation was requested and not answered: it may still appear.
  bool is_uncertain = false;

  std::optional<std::int64_t> exit_code{};
  bool out_of_memory = false;

  // It has ended, or is out of reach because its engine is.
  bool has_ended() const { return has_ended_; }
  void note_ended();
  static Task<> ended(std::shared_ptr<Container> container);

  bool is_being_removed = false;

 private:
  bool has_ended_ = false;
  AsyncEvent end_;
};

}  // namespace hearth::docker
