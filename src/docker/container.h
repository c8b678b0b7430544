// docker/container.h: one container, from the moment it is asked for until it is gone. Shared by
// the sandbox that uses it and by those who watch and remove it, who may outlive that.
#pragma once

#include "async/task.h"
#include "docker/container_uids.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hearth::docker {

class Container {
 public:
  Container(const asio::any_io_executor& executor, std::string unique_name)
      : name(std::move(unique_name)), news_(executor, asio::steady_timer::time_point::max()) {}

  const std::string name;
  ContainerUids::Lease user{};  // until it is removed
  std::string id{};             // the engine's; empty until it is created
  // Whether it may come into being although nobody has seen it: its creation was asked for and not
  // answered.
  bool is_uncertain = false;

  std::optional<std::int64_t> exit_code{};
  bool out_of_memory = false;

  // It has ended, or is out of anybody's reach with its engine.
  bool has_ended() const { return has_ended_; }
  void note_ended();
  static Task<> ended(std::shared_ptr<Container> container);

  bool is_being_removed = false;

 private:
  bool has_ended_ = false;
  asio::steady_timer news_;  // never expires; cancelled when it has ended
};

}  // namespace hearth::docker
