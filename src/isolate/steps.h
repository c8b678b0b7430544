// isolate/steps.h: the parts of isolation, in the order in which they are done.
#pragma once

#include "isolate/isolate.h"

#include <initializer_list>

namespace hearth::isolate {

// Each step returns this: success, or false after fail() said what could not be done.
bool fail(const char* step);

bool join_cgroups(const HearthSandboxSpec& spec);
bool enter_network(const HearthSandboxSpec& spec);
// Whatever else the zygote has open: its socket to the host, its namespace, the files of cgroups,
// what tools keep. Before the forks, so that no process of the sandbox ever holds any of it.
bool close_all_but(std::initializer_list<std::int32_t> kept);
bool enter_namespaces();
bool join_namespaces(const HearthSandboxSpec& spec);
bool mount_scratch(const HearthSandboxSpec& spec);
bool mount_proc();
// Where all run as one user, the kernel lets none of them send descriptors while more than that
// are on their way, so a script must not be able to reach init's limit.
inline constexpr std::uint64_t worker_files = 1024;
inline constexpr std::uint64_t init_files = 4096;
bool set_limits(const HearthSandboxSpec& spec);
bool limit_files(std::uint64_t soft, std::uint64_t hard);

// In the zygote, once: what a new network says of itself, with which others are compared.
void learn_untouched_network();
// The same: the program or library that has this function, as far as it fills such pages. Where the
// kernel has none, everything stays as it is.
void put_code_into_large_pages(const void* code);
// And what it keeps in memory. It must have no other threads.
void put_data_into_large_pages();

bool become_sandbox_user(const HearthSandboxSpec& spec);
bool join_sandbox_user(const HearthSandboxSpec& spec);  // closes `joined`
bool drop_capabilities();
bool restrict_files(const HearthSandboxSpec& spec);
bool restrict_system_calls(const HearthSandboxSpec& spec);
// In each worker, and not in init, who must be able to end those that came later, too.
bool restrict_signals(const HearthSandboxSpec& spec);

// What a new worker has to know.
struct NewWorker {
  std::int32_t fds[4];   // stdout, stderr, emit, run
  std::int32_t between;  // its parent if that ends and leaves it to init, else 0
};

// The number of the new process, -1 if there is none; 0 in a new worker. When this returns to the
// zygote, the sandbox is isolated and executes init, or has ended.
int spawn_sandbox(const HearthSandboxSpec& spec, NewWorker& worker);
// The same for one more worker of a sandbox, but that the zygote does not wait.
int spawn_later_worker(const HearthSandboxSpec& spec, NewWorker& worker);

// In the worker, when Python knows that it is another process. Whether a script is there for it.
bool start_worker(NewWorker worker);
// Tells init what could not be done.
[[noreturn]] void give_up_worker(int emit);

}  // namespace hearth::isolate
