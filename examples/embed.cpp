// examples/embed.cpp: Hearth in a program of one's own: a blueprint and a tool, the environment
// they are built into, a warm pool, one turn for one user, and the end of it all.
//
// Against an installed Hearth, CMake needs `find_package(Hearth)` and `Hearth::hearth`.
#include "builder/native_builder.h"
#include "execution/turn.h"
#include "pool/native_sources.h"
#include "pool/sandbox_pool.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

using namespace hearth;

namespace {

// What scripts may use: a kind of sandbox, and a function they can call in it.
void describe(registry::ToolRegistry& registry) {
  blueprint::SandboxConfig config;
  config.name = "default";
  config.python_version = builder::find_python("3", builder::usual_python_directories()).version;
  config.pool_size = 2;
  config.resource_limits.memory_mb = 128;
  config.secrets = {"GREETING"};
  registry.register_blueprint(config);

  registry::Tool tool;
  tool.config.name = "greeter";
  tool.config.blueprints = {"default"};
  tool.source =
      "import os\n"
      "def greet(name):\n"
      "    return os.environ['GREETING'] + ', ' + name\n";
  registry.register_tool(tool);
}

pool::PoolOptions pool_options() {
  pool::PoolOptions options;
  options.secrets = {{"GREETING", Secret("Good evening")}};
  options.fleet.max_overflow = 10;
  // Only for a controller in a container whose engine sees other paths.
  options.host_path_map = {{"/app/data", "/srv/app/data"}};
  return options;
}

Task<> serve_one_user(pool::SandboxPool& pool) {
  co_await pool.startup();
  {
    pool::CheckoutOptions options;
    options.owner = "ann";
    options.files = {{"names.txt", "Bob\nCid\n"}};
    options.execution_timeout_sec = 5;
    pool::Lease lease = co_await pool.checkout("default", options);
    const execution::ExecutionResult result = co_await execution::run_turn(
        lease,
        {.script = "for name in open('names.txt'):\n"
                   "    print(greet(name.strip()))\n"
                   "emit_result({'greeted': 2})\n"},
        [](const wire::Event& event) {
          if (const auto* text = std::get_if<wire::Stdout>(&event.body)) std::cout << text->text;
        });
    std::cout << "verdict: " << execution::name_of(result.verdict)
              << ", result: " << (result.result ? result.result->text : "none") << '\n';
  }  // the lease ends here, and with it the sandbox
}

Task<> run(pool::SandboxPool& pool, asio::io_context& loop, std::exception_ptr& failure) {
  try {
    co_await serve_one_user(pool);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await pool.shutdown();
  loop.stop();
}

// For environments that are built anew each time. A real program keeps them in a directory of its
// own, like /var/lib/NAME.
class PrivateDirectory {
 public:
  PrivateDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "hearth-embed-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw OsError("create " + name);
    path_ = name;
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  ~PrivateDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

int main(int argc, char** argv) try {
  asio::io_context loop(1);
  registry::ToolRegistry registry;
  describe(registry);

  builder::NativeBuilderOptions builder_options;
  const PrivateDirectory temporary;
  builder_options.build.state_dir = argc > 1 ? std::filesystem::path(argv[1]) : temporary.path();
  builder::NativeBuilder builder(loop.get_executor(), registry, builder_options);
  pool::NativeSources sources(loop.get_executor(), registry, builder,
                              native::open_native_machine({}));
  pool::SandboxPool pool(loop.get_executor(), registry, sources, pool_options());

  std::exception_ptr failure;
  asio::co_spawn(loop, run(pool, loop, failure), [](const std::exception_ptr&) {});
  loop.run();
  if (failure) std::rethrow_exception(failure);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::cerr << "embed: " << error.what() << '\n';
  return EXIT_FAILURE;
}
