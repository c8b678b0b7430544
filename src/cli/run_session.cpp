#include "cli/run_session.h"

#include "base/log.h"
#include "builder/native_builder.h"
#include "execution/leased_turn.h"
#include "native/native_source.h"
#include "os/read_file.h"

#include <unistd.h>

#include <utility>

namespace hearth::cli {
namespace {

constexpr std::size_t most_secret_bytes = 1 << 16;

builder::NativeBuilderOptions builder_options(const settings::Settings& settings,
                                              const settings::Environment& environment) {
  builder::NativeBuilderOptions options;
  options.build.state_dir = state_directory(settings, environment, ::geteuid() == 0);
  options.build.pip.index_url = settings.builder.index_url;
  for (const std::string& directory : settings.builder.find_links)
    options.build.pip.find_links.emplace_back(directory);
  options.build.pip.no_index = settings.builder.no_index;
  options.build.build_timeout = std::chrono::seconds(settings.builder.build_timeout_sec);
  return options;
}

native::Environment native_environment(const builder::Environment& built,
                                       const blueprint::SandboxConfig& config) {
  return {built.python, built.packages, built.tools, built.preload, config.resources};
}

}  // namespace

RunSession::RunSession(asio::any_io_executor executor, const RunPlan& plan,
                       const RunOptions& options, settings::Environment environment,
                       RunOutput& output)
    : executor_(std::move(executor)),
      plan_(plan),
      options_(options),
      environment_(std::move(environment)),
      output_(output) {}

RunSession::~RunSession() = default;

Task<> RunSession::open(OnLine on_build_line) {
  const blueprint::SandboxConfig& config = plan_.registry.sandbox(plan_.sandbox);
  if (!blueprint::is_isolated(config))
    log::warning("the blueprint allows hosts, but there is no way out yet: no network",
                 {{"sandbox", config.name}});
  native::NativeHostOptions host_options;
  host_options.allow_degraded = options_.allow_degraded || plan_.settings.native.allow_degraded;
  auto host = native::open_native_host(host_options);
  builder_ = std::make_unique<builder::NativeBuilder>(
      executor_, plan_.registry, builder_options(plan_.settings, environment_));
  const builder::Environment built =
      co_await builder_->ensure_sandbox(plan_.sandbox, std::move(on_build_line));
  source_ = std::make_unique<native::NativeSource>(executor_, std::move(host), config,
                                                   native_environment(built, config));
  co_await source_->start();
}

Task<int> RunSession::run_script(std::string script, const std::string& name) {
  const std::unique_ptr<backend::Sandbox> sandbox = co_await source_->spawn();
  co_return co_await run_in(*sandbox, std::move(script), name);
}

Task<int> RunSession::run_step(std::string script) {
  if (!shared_) shared_ = co_await source_->spawn();
  const std::string no_name;
  co_return co_await run_in(*shared_, std::move(script), no_name);
}

Task<int> RunSession::run_in(backend::Sandbox& sandbox, std::string script,
                             const std::string& name) {
  execution::ScriptExecutor executor(sandbox.channel(), execution::controls_of(sandbox));
  running_ = &executor;
  running_in_ = &sandbox;
  interrupted_ = false;
  const auto on_event = [this](const wire::Event& event) { output_.event(event); };
  const execution::ExecutionResult result =
      co_await executor.run(request_for(std::move(script)), on_event);
  running_ = nullptr;
  running_in_ = nullptr;
  output_.verdict(result, name);
  // The steps that follow begin anew.
  if (!result.sandbox_usable && shared_.get() == &sandbox) shared_.reset();
  co_return exit_code_of(result);
}

wire::RunRequest RunSession::request_for(std::string script) const {
  const blueprint::SandboxConfig& config = plan_.registry.sandbox(plan_.sandbox);
  wire::RunRequest request;
  request.script = std::move(script);
  request.timeout_seconds = options_.timeout_seconds.value_or(
      static_cast<double>(config.resource_limits.execution_timeout_sec));
  request.max_output_bytes = static_cast<std::uint64_t>(config.resource_limits.max_output_bytes);
  const bool steps =
      options_.interactive || config.execution_mode == blueprint::ExecutionMode::interactive;
  request.mode = steps ? wire::Mode::interactive : wire::Mode::plan;
  request.env = secrets();
  for (const auto& [key, value] : options_.env) request.env[key] = value;
  request.secrets = config.secrets;
  for (const registry::Tool* tool : plan_.registry.tools_of(plan_.sandbox))
    request.secrets.insert(request.secrets.end(), tool->config.secrets.begin(),
                           tool->config.secrets.end());
  return request;
}

// Of those the blueprint or a tool names; what has no value is missing, and init says so.
std::map<std::string, std::string> RunSession::secrets() const {
  std::vector<std::string> names = plan_.registry.sandbox(plan_.sandbox).secrets;
  for (const registry::Tool* tool : plan_.registry.tools_of(plan_.sandbox))
    names.insert(names.end(), tool->config.secrets.begin(), tool->config.secrets.end());
  std::map<std::string, std::string> values;
  for (const std::string& name : names) {
    const auto source = plan_.settings.secrets.find(name);
    const bool configured = source != plan_.settings.secrets.end();
    if (configured && source->second.file) {
      std::string value = os::read_file(*source->second.file, most_secret_bytes);
      while (value.ends_with('\n')) value.pop_back();
      values[name] = std::move(value);
      continue;
    }
    const std::string variable = configured && source->second.env ? *source->second.env : name;
    if (const auto found = environment_.find(variable); found != environment_.end())
      values[name] = found->second;
  }
  return values;
}

Task<> RunSession::interrupt() {
  if (running_ == nullptr) co_return;
  if (std::exchange(interrupted_, true)) {
    running_in_->kill();
  } else {
    co_await running_->cancel();
  }
}

Task<> RunSession::close() {
  shared_.reset();
  if (source_) co_await source_->close();
}

}  // namespace hearth::cli
