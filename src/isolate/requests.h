// isolate/requests.h: the host's requests to a zygote, and the answers.
#pragma once

#include "isolate/sandbox_spec.h"
#include "wire/spawn_request.h"

#include <cstddef>
#include <cstdint>

namespace hearth::isolate {

struct Request {
  wire::SpawnRequest values;
  std::int32_t fds[wire::max_spawn_descriptors];
  std::size_t fd_count;
};

// False if the host has hung up.
bool receive(int control, Request& request);
// True if all descriptors of its kind are there. The kernel drops those for which the zygote has no
// room.
bool is_whole(const Request& request);
// The fields of `spec` that come with each request.
void fill_in(HearthSandboxSpec& spec, const Request& request);
// `pid` is the new process, or -1 with `errno`. False if the new process cannot be handed over.
bool answer(int control, const wire::SpawnRequest& request, int pid);

}  // namespace hearth::isolate
