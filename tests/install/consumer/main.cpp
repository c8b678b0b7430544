// A program that embeds Hearth: runs one script in a sandbox of its own.
#include "execution/script_executor.h"
#include "native/native_source.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <filesystem>
#include <future>
#include <iostream>
#include <memory>
#include <utility>

// Two halves of one Asio would link, and then disagree.
#if !defined(BOOST_ASIO_SEPARATE_COMPILATION) || !defined(BOOST_ASIO_NO_DEPRECATED)
#error "the package does not say how Hearth's Asio was compiled"
#endif

using namespace hearth;

namespace {

Task<> run_script(native::NativeSource& source) {
  const std::unique_ptr<backend::Sandbox> sandbox = co_await source.spawn();
  execution::ScriptExecutor executor(*sandbox);
  wire::RunRequest request;
  request.script = "print('hello from', __import__('os').getcwd())\nemit_result(6 * 7)";
  const execution::ExecutionResult result = co_await executor.run(std::move(request));
  std::cout << result.stdout_text << execution::name_of(result.verdict) << ": "
            << (result.result ? result.result->text : "no result") << '\n';
}

Task<> run_and_close(native::NativeSource& source) {
  std::exception_ptr failure;
  try {
    co_await run_script(source);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await source.close();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int main() try {
  asio::io_context loop(1);
  native::NativeMachineOptions options;
  options.programs = HEARTH_LIBEXEC;
  native::ZygoteContent environment;
  environment.python = std::filesystem::canonical("/usr/bin/python3");
  native::NativeSource source(loop.get_executor(), native::open_native_machine(options),
                              blueprint::SandboxConfig{}, environment);
  std::future<void> done = asio::co_spawn(loop, run_and_close(source), asio::use_future);
  loop.run();
  done.get();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "consumer: " << error.what() << '\n';
  return 1;
}
