// A program that embeds an installed Hearth: one script in a sandbox of its own.
#include "async/cleanup.h"
#include "execution/turn.h"
#include "runtime/runtime.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <future>
#include <iostream>

// Two halves of one Asio would link, and then disagree.
#if !defined(BOOST_ASIO_SEPARATE_COMPILATION) || !defined(BOOST_ASIO_NO_DEPRECATED)
#error "the package does not say how Hearth's Asio was compiled"
#endif

using namespace hearth;

namespace {

Task<> run_script(pool::SandboxPool& pool) {
  co_await pool.startup();
  pool::Lease lease = co_await pool.checkout("default");
  const execution::ExecutionResult result = co_await execution::run_turn(
      lease, {.script = "print('hello from', __import__('os').getcwd())\nemit_result(6 * 7)"});
  std::cout << result.stdout_text << execution::name_of(result.verdict) << ": "
            << (result.result ? result.result->text : "no result") << '\n';
}

}  // namespace

int main(int, char** argv) try {
  asio::io_context loop(1);
  settings::Settings settings;
  settings.state.dir = argv[1];
  settings.blueprints = {runtime::plain_blueprint()};
  const auto runtime = runtime::Runtime::open(
      loop.get_executor(), settings, settings::current_env(), {.programs = HEARTH_LIBEXEC});
  std::future<void> done = asio::co_spawn(
      loop, then_clean_up(run_script(runtime->pool()), runtime->close()), asio::use_future);
  loop.run();
  done.get();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "consumer: " << error.what() << '\n';
  return 1;
}
