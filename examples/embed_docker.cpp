// examples/embed_docker.cpp: a pool of containers in a program of your own, from a hearth.toml:
// five users, whose scripts run at the same time in at most three containers.
#include "async/cleanup.h"
#include "async/task_group.h"
#include "execution/turn.h"
#include "runtime/runtime.h"
#include "settings/load.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <string>

using namespace hearth;

namespace {

constexpr const char* configuration = R"(
[pool]
backend = "docker"
max_overflow = 1

[[blueprint]]
name = "default"
pool_size = 2
)";

// A container that ran one owner's script is reset and runs only that owner's again.
Task<> serve(pool::SandboxPool& pool, std::string owner) {
  pool::CheckoutOptions options;
  options.owner = owner;
  pool::Lease lease = co_await pool.checkout("default", options);
  const execution::ExecutionResult result =
      co_await execution::run_turn(lease, {.script = "print('hello', '" + owner + "')"});
  std::cout << result.stdout_text;
}

Task<> serve_all(pool::SandboxPool& pool) {
  co_await pool.startup({}, [](const std::string&, const std::string& line) {
    std::cerr << line << '\n';  // of the image's build, the first time
  });
  TaskGroup users(co_await asio::this_coro::executor);
  for (const char* owner : {"ann", "bob", "cid", "dan", "eve"})
    users.start("serve a user", serve(pool, owner));
  co_await users.drained();
}

}  // namespace

// embed_docker [STATE]: the directory for what outlives this process. The engine is $DOCKER_HOST.
int main(int argc, char** argv) try {
  const settings::Env env = settings::current_env();
  settings::Settings settings =
      settings::load_settings({.file = "embed.toml", .text = configuration, .env = env}).settings;
  if (argc > 1) settings.state.dir = argv[1];

  asio::io_context loop(1);
  const auto runtime = runtime::Runtime::open(loop.get_executor(), settings, env);
  std::future<void> done = asio::co_spawn(
      loop, then_clean_up(serve_all(runtime->pool()), runtime->close()), asio::use_future);
  loop.run();
  done.get();
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::cerr << "embed_docker: " << error.what() << '\n';
  return EXIT_FAILURE;
}
