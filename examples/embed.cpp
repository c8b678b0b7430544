// examples/embed.cpp: Hearth in a program of your own: a blueprint and a tool, a warm pool, one
// turn for one user, and the end of it all.
//
// Against an installed Hearth, CMake needs `find_package(Hearth)` and `Hearth::hearth`.
#include "async/cleanup.h"
#include "execution/turn.h"
#include "runtime/runtime.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>

using namespace hearth;

namespace {

// What scripts may use: a kind of sandbox, and a function they can call in it.
void describe(registry::ToolRegistry& registry) {
  blueprint::SandboxConfig config = runtime::plain_blueprint();
  config.resource_limits.memory_mb = 128;
  config.secrets = {"GREETING"};
  registry.register_blueprint(config);

  registry::Tool tool;
  tool.config.name = "greeter";
  tool.config.blueprints = {config.name};
  tool.source =
      "import os\n"
      "def greet(name):\n"
      "    return os.environ['GREETING'] + ', ' + name\n";
  registry.register_tool(tool);
}

Task<> serve_one_user(pool::SandboxPool& pool) {
  co_await pool.startup();
  pool::CheckoutOptions options;
  options.owner = "ann";
  options.files = {{"names.txt", "Bob\nCid\n"}};
  options.execution_timeout_sec = 5;
  pool::Lease lease = co_await pool.checkout("default", options);
  const execution::ExecutionResult result =
      co_await execution::run_turn(lease,
                                   {.script = "for name in open('names.txt'):\n"
                                              "    print(greet(name.strip()))\n"
                                              "emit_result({'greeted': 2})\n"},
                                   [](const wire::Event& event) {
                                     if (const auto* text = std::get_if<wire::Stdout>(&event.body))
                                       std::cout << text->text;
                                   });
  std::cout << "verdict: " << execution::name_of(result.verdict)
            << ", result: " << (result.result ? result.result->text : "none") << '\n';
}  // the lease ends here, and with it the sandbox

}  // namespace

// embed [STATE]: the directory for environments; without, that of `hearth` itself.
int main(int argc, char** argv) try {
  settings::Settings settings;
  settings.pool.max_overflow = 10;
  // Only for a controller in a container whose engine sees other paths.
  settings.host_path_map = {{"/app/data", "/srv/app/data"}};
  if (argc > 1) settings.state.dir = argv[1];

  asio::io_context loop(1);
  const auto runtime =
      runtime::Runtime::open(loop.get_executor(), settings, settings::current_env(),
                             {.secrets = {{"GREETING", Secret("Good evening")}}});
  describe(runtime->registry());
  std::future<void> done = asio::co_spawn(
      loop, then_clean_up(serve_one_user(runtime->pool()), runtime->close()), asio::use_future);
  loop.run();
  done.get();
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::cerr << "embed: " << error.what() << '\n';
  return EXIT_FAILURE;
}
