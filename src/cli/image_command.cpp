#include "cli/image_command.h"

#include "base/log.h"
#include "cli/command_line.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/shared_options.h"
#include "os/descriptor_limit.h"
#include "runtime/runtime.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <ctime>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

namespace hearth::cli {
namespace {

namespace json = boost::json;

constexpr const char* image_details =
    R"(An image is what a blueprint was built into: an image of the Docker engine, or, with the native
backend, a directory. Each change of a blueprint, of its tools or of Hearth itself makes a new one;
the old one stays until `hearth image prune` finds it unused and removes it.)";

struct ImageOptions {
  RunOptions run{};
  std::string config{};
  std::vector<std::string> names{};
  bool as_json = false;
  bool is_quiet = false;
};

std::string size_in_words(std::uint64_t bytes) {
  if (bytes < 1'000'000) return fmt::format("{} kB", (bytes + 999) / 1000);
  if (bytes < 1'000'000'000) return fmt::format("{} MB", bytes / 1'000'000);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string age_in_words(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 7200) return fmt::format("{} min", seconds / 60);
  if (seconds < 172'800) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86'400);
}

const char* state_of(const backend::Built& image) {
  if (image.is_wanted) return image.is_in_use ? "current, in use" : "current";
  return image.is_in_use ? "old, in use" : "old";
}

std::string images_json(const std::vector<backend::Built>& images) {
  std::string lines;
  for (const backend::Built& image : images)
    lines += json::serialize(json::object{{"name", image.name},
                                          {"blueprint", image.blueprint},
                                          {"checksum", image.checksum},
                                          {"size_bytes", image.size_bytes},
                                          {"created", image.created},
                                          {"current", image.is_wanted},
                                          {"in_use", image.is_in_use}}) +
             '\n';
  return lines;
}

Task<> show_list(backend::Backend& backend, const ImageOptions& options) {
  std::vector<backend::Built> images = co_await backend.list();
  std::sort(images.begin(), images.end(),
            [](const auto& one, const auto& other) { return one.created > other.created; });
  std::cout << (options.as_json
                    ? images_json(images)
                    : render_images(images, static_cast<std::int64_t>(std::time(nullptr))));
}

Task<> build(runtime::Runtime& runtime, const ImageOptions& options) {
  const std::vector<std::string> names =
      options.names.empty() ? runtime.registry().blueprint_names() : options.names;
  for (const std::string& name : names) {
    backend::Backend::OnProgress on_line;
    if (!options.is_quiet) on_line = [](const std::string& line) { std::cerr << line << '\n'; };
    std::cout << co_await runtime.backend().build(name, std::move(on_line)) << '\n';
  }
}

Task<> prune(backend::Backend& backend) {
  for (const std::string& name : co_await backend.prune()) std::cout << "removed " << name << '\n';
}

using Work = std::function<Task<>(runtime::Runtime&)>;

int work(const ImageOptions& options, const Work& what) try {
  const settings::Env env = settings::current_env();
  RunOptions run = options.run;
  if (!options.config.empty()) run.config = options.config;
  run.any_blueprint = true;
  const RunPlan plan = make_run_plan(run, env);
  log::configure(
      plan.settings.log.level == log::Level::info ? log::Level::warning : plan.settings.log.level,
      plan.settings.log.format);
  os::raise_descriptor_limit();  // what a package unpacks may be deep
  asio::io_context loop(1);
  const std::unique_ptr<runtime::Runtime> runtime =
      runtime::Runtime::open(loop.get_executor(), plan.settings, env, {.registry = plan.registry});
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  asio::cancellation_signal give_up;
  std::exception_ptr failure;
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) give_up.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(loop, what(*runtime),
                 asio::bind_cancellation_slot(give_up.slot(), [&](std::exception_ptr ended) {
                   failure = ended;
                   signals.cancel();
                 }));
  loop.run();
  if (failure) std::rethrow_exception(failure);
  return exit_code::ok;
} catch (...) {
  return complain_about_current_exception();
}

}  // namespace

std::string render_images(const std::vector<backend::Built>& images, std::int64_t now) {
  std::size_t width = 4;
  for (const backend::Built& image : images) width = std::max(width, image.name.size());
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:>8}  {}\n", "NAME", width, "SIZE", "AGE", "STATE");
  for (const backend::Built& image : images)
    text += fmt::format("{:<{}}  {:>8}  {:>8}  {}\n", image.name, width,
                        size_in_words(image.size_bytes), age_in_words(now - image.created),
                        state_of(image));
  return text;
}

void add_image_command(CLI::App& app, int& result) {
  CLI::App* command =
      app.add_subcommand("image", "List, build and remove what blueprints are built into");
  command->footer(image_details);
  require_command(*command, result);
  const auto options = std::make_shared<ImageOptions>();
  const auto add = [&](const char* name, const char* what) {
    CLI::App* one = command->add_subcommand(name, what);
    one->add_option("-c,--config", options->config, "The configuration")->type_name("FILE");
    add_backend_option(*one, options->run);
    add_set_option(*one, options->run.overrides);
    return one;
  };
  CLI::App* list = add("list", "All there are, newest first");
  list->add_flag("--json", options->as_json, "One object a line");
  list->callback([options, &result] {
    result = work(*options, [&](runtime::Runtime& runtime) {
      return show_list(runtime.backend(), *options);
    });
  });
  CLI::App* builds = add("build", "Build what is missing or stale, and print its name");
  builds->add_option("SANDBOX", options->names, "Blueprints of the configuration; without: all")
      ->type_name("");
  builds->add_flag("-q,--quiet", options->is_quiet, "No build log");
  builds->callback([options, &result] {
    result = work(*options, [&](runtime::Runtime& runtime) { return build(runtime, *options); });
  });
  CLI::App* prunes =
      add("prune", "Remove what no blueprint of the configuration wants and no process uses");
  prunes->callback([options, &result] {
    result = work(*options, [](runtime::Runtime& runtime) { return prune(runtime.backend()); });
  });
}

}  // namespace hearth::cli
