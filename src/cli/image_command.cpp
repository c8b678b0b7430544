#include "cli/image_command.h"

#include "base/joined.h"
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
#include <array>
#include <ctime>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace hearth::cli {
namespace {

namespace json = boost::json;

constexpr const char* image_details =
    R"(An image is what a blueprint was built into: an image of the Docker engine, or, with the native
backend, a directory. Each change of a blueprint, of its tools or of Hearth itself makes a new one;
the old one stays until `hearth image prune` removes it. It removes what only this configuration used
and no longer wants; with --all also what other configurations of this installation used, and no
longer do. Never what is in use, nor what another installation made.)";

struct ImageOptions {
  RunOptions run{};
  std::string config{};
  std::vector<std::string> names{};
  bool as_json = false;
  bool is_quiet = false;
  bool is_anew = false;
  backend::Prune prune{};
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

json::array list_of(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

std::string images_json(const std::vector<backend::Built>& images) {
  std::string lines;
  for (const backend::Built& image : images)
    lines += json::serialize(json::object{{"name", image.name},
                                          {"blueprints", list_of(image.blueprints)},
                                          {"checksum", image.checksum},
                                          {"python", image.python},
                                          {"packages", list_of(image.packages)},
                                          {"configurations", list_of(image.configurations)},
                                          {"last_used", image.last_used},
                                          {"size_bytes", image.size_bytes},
                                          {"created", image.created},
                                          {"current", image.is_wanted},
                                          {"in_use", image.is_in_use}}) +
             '\n';
  return lines;
}

std::int64_t now_seconds() { return static_cast<std::int64_t>(std::time(nullptr)); }

Task<int> show_list(backend::Backend& backend, const ImageOptions& options) {
  std::vector<backend::Built> images = co_await backend.list();
  std::sort(images.begin(), images.end(),
            [](const auto& one, const auto& other) { return one.created > other.created; });
  std::cout << (options.as_json ? images_json(images) : render_images(images, now_seconds()));
  co_return exit_code::ok;
}

// When it was built, if it was there before. A directory or tag that is listed is a whole one.
std::optional<std::int64_t> age_of(const std::vector<backend::Built>& before,
                                   const std::string& name) {
  for (const backend::Built& image : before)
    if (image.name == name) return now_seconds() - image.created;
  return std::nullopt;
}

Task<> build_one(runtime::Runtime& runtime, const ImageOptions& options, const std::string& name,
                 const std::vector<backend::Built>& before) {
  bool was_built = false;
  const backend::Backend::OnProgress on_line = [&](const std::string& line) {
    was_built = true;
    if (!options.is_quiet) show_build_line(name, line);
  };
  const auto freshness = options.is_anew ? backend::Freshness::anew : backend::Freshness::as_found;
  const std::string built = co_await runtime.backend().build(name, freshness, on_line);
  const auto age = was_built || options.is_anew ? std::nullopt : age_of(before, built);
  if (!options.is_quiet)
    std::cerr << name << ": "
              << (age ? "up to date (built " + age_in_words(*age) + " ago)" : "built") << '\n';
  std::cout << built << '\n';
}

// One that fails does not keep the others from being built.
Task<int> build(runtime::Runtime& runtime, const ImageOptions& options) {
  const std::vector<std::string> names =
      options.names.empty() ? runtime.registry().blueprint_names() : options.names;
  for (const std::string& name : names) runtime.registry().blueprint(name);  // throws if unknown
  const std::vector<backend::Built> before = co_await runtime.backend().list();
  std::string failures;
  for (const std::string& name : names) {
    try {
      co_await build_one(runtime, options, name, before);
    } catch (const backend::BuildError& error) {
      // Its log was progress, unless that was not wanted.
      failures += (options.is_quiet ? error.log : "") + "hearth: " + error.what() + '\n';
    }
  }
  std::cerr << failures;
  co_return failures.empty() ? exit_code::ok : exit_code::invalid_input;
}

Task<int> prune(backend::Backend& backend, const ImageOptions& options) {
  const std::vector<std::string> removed = co_await backend.prune(options.prune);
  for (const std::string& name : removed)
    std::cout << (options.prune.is_dry_run ? "would remove " : "removed ") << name << '\n';
  if (removed.empty())
    std::cerr << "hearth: nothing to remove"
              << (options.prune.all ? "" : "; --all removes also what other configurations used")
              << '\n';
  co_return exit_code::ok;
}

using Work = std::function<Task<int>(runtime::Runtime&)>;

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
      runtime::Runtime::open(loop.get_executor(), plan.settings, env,
                             {.registry = plan.registry, .configuration = plan.configuration});
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  asio::cancellation_signal give_up;
  std::exception_ptr failure;
  int code = exit_code::ok;
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) give_up.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(
      loop, what(*runtime),
      asio::bind_cancellation_slot(give_up.slot(), [&](std::exception_ptr ended, int result) {
        failure = ended;
        code = result;
        signals.cancel();
      }));
  loop.run();
  if (failure) std::rethrow_exception(failure);
  return code;
} catch (...) {
  return complain_about_current_exception();
}

}  // namespace

std::string render_images(const std::vector<backend::Built>& images, std::int64_t now) {
  constexpr std::size_t short_id = 12;
  constexpr std::size_t widest_packages = 40;
  using Row = std::array<std::string, 7>;
  std::vector<Row> rows{{"ID", "BLUEPRINT", "PYTHON", "PACKAGES", "SIZE", "LAST USED", "STATE"}};
  for (const backend::Built& image : images) {
    std::string packages = joined(image.packages, " ");
    if (packages.size() > widest_packages)
      packages = packages.substr(0, widest_packages - 3) + "...";
    const auto shown = [](std::string text) { return text.empty() ? "-" : text; };
    rows.push_back({image.name.substr(image.name.find_last_of("/:") + 1, short_id),
                    shown(joined(image.blueprints, ", ")), shown(image.python), shown(packages),
                    size_in_words(image.size_bytes),
                    image.last_used == 0 ? "-" : age_in_words(now - image.last_used) + " ago",
                    state_of(image)});
  }
  std::array<std::size_t, 7> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.back() + '\n';
  }
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
  builds->add_option("BLUEPRINT", options->names, "Blueprints of the configuration; without: all")
      ->type_name("");
  builds->add_flag("-q,--quiet", options->is_quiet, "No build log");
  builds->add_flag("--rebuild", options->is_anew,
                   "Build also what is up to date, with the newest versions of its packages");
  builds->callback([options, &result] {
    result = work(*options, [&](runtime::Runtime& runtime) { return build(runtime, *options); });
  });
  CLI::App* prunes = add("prune", "Remove what only this configuration used and no longer wants");
  prunes->add_flag("--all", options->prune.all,
                   "Also what other configurations of this installation used");
  prunes->add_flag("--dry-run", options->prune.is_dry_run, "Only say what would be removed");
  prunes->callback([options, &result] {
    result = work(*options,
                  [&](runtime::Runtime& runtime) { return prune(runtime.backend(), *options); });
  });
}

}  // namespace hearth::cli
