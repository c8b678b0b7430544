#include "runtime/native_backend.h"

#include "async/cleanup.h"
#include "backend/mount_check.h"
#include "backend/writable_mount.h"
#include "base/joined.h"
#include "base/language.h"
#include "base/log.h"
#include "builder/find_python.h"
#include "docker/engine_address.h"
#include "native/cgroup_mounts.h"
#include "native/group_access.h"
#include "native/machine_facts.h"
#include "os/trusted_path.h"
#include "runtime/build_options.h"

#include <unistd.h>

#include <set>
#include <utility>

namespace hearth::runtime {
namespace {

// An ordinary user's groups stay in its sandboxes.
void judge_group_access(const std::vector<blueprint::Mount>& mounts) {
  const native::Credentials own = native::own_credentials();
  for (const blueprint::Mount& mount : mounts) {
    const auto file = native::file_that_depends_on_group(mount.source, own);
    if (file == mount.source)
      throw Error("the mount of " + mount.source + " is refused: only a supplementary group of " +
                  "this user may use it, and sandboxes are not meant to have such");
    if (file)
      log::warning("scripts can use a file of a mount by a supplementary group of this user",
                   {{"mount", mount.source}, {"file", file->string()}});
  }
}

// The one in use without a configuration first, then all that a blueprint may ask for.
backend::Finding pythons_finding() {
  const builder::UsualPython usual = builder::find_usual_python();
  std::string used = "none without a configuration";
  if (usual.python) used = usual.python->version + " (" + usual.python->executable.string() + ")";
  std::set<std::string> others;
  for (const std::filesystem::path& directory : builder::usual_python_directories())
    for (int minor = 8; minor < 20; ++minor) {
      const std::filesystem::path program = directory / ("python3." + std::to_string(minor));
      if (::access(program.c_str(), X_OK) != 0 || os::distrust_of_found_program(program)) continue;
      const auto python = builder::ask_python(program);
      if (python && (!usual.python || python->executable != usual.python->executable))
        others.insert(python->version + " (" + python->executable.string() + ")");
    }
  backend::Finding finding{.what = "Python", .found = used};
  for (const std::string& other : others) finding.found += "\nalso " + other;
  for (const std::string& reason : usual.passed_over) finding.found += "\nnot " + reason;
  if (usual.python || !others.empty()) return finding;
  return {.what = "Python",
          .found = "none",
          .state = backend::Finding::State::missing,
          .consequence = "no script can run",
          .remedy = "apt-get install python3"};
}

// Of a language with an interpreter. A sandbox sees the programs of the system only.
backend::Finding finding_of(const Language& language) {
  const std::string program = language.interpreter.front();
  for (const char* directory : {"/usr/local/bin/", "/usr/bin/"})
    if (::access((directory + program).c_str(), X_OK) == 0)
      return {.what = program, .found = directory + program};
  return {.what = program,
          .found = "none: no scripts in " + std::string(language.name) + " (apt-get install " +
                   std::string(language.package) + ")"};
}

// An engine that is there although native sandboxes are wanted: it is not shown to them.
std::vector<std::string> engine_socket(const BackendContext& context) try {
  return {docker::choose_engine_address(context.settings.docker.host, context.env).socket};
} catch (const Error&) {
  return {};  // an engine elsewhere, by ssh say
}

}  // namespace

NativeBackend::NativeBackend(asio::any_io_executor executor, const registry::ToolRegistry& registry,
                             NativeBackendOptions options)
    : executor_(std::move(executor)),
      registry_(registry),
      options_(std::move(options)),
      builder_(executor_, registry, options_.builder) {
  options_.hidden.push_back(builder_.state_dir().string());
}

std::optional<std::uint64_t> NativeBackend::memory_limit_bytes() const {
  return native::own_memory_limit_bytes(native::own_cgroup_mounts());
}

Task<std::vector<backend::Finding>> NativeBackend::examine() {
  std::vector<backend::Finding> findings = native::findings_of(native::gather_machine_facts());
  findings.push_back(pythons_finding());
  for (const Language& language : languages())
    if (!language.interpreter.empty()) findings.push_back(finding_of(language));
  co_return findings;
}

Task<std::string> NativeBackend::build(std::string blueprint, backend::Freshness freshness,
                                       OnProgress on_progress) {
  if (freshness == backend::Freshness::anew)
    return builder_.rebuild_sandbox(std::move(blueprint), std::move(on_progress));
  return builder_.ensure_sandbox(std::move(blueprint), std::move(on_progress));
}

Task<std::unique_ptr<backend::SandboxSource>> NativeBackend::open(
    std::string blueprint, std::vector<blueprint::Mount> /*mounts*/, OnProgress on_progress) {
  const blueprint::SandboxConfig& config = registry_.blueprint(blueprint);
  std::vector<blueprint::Mount> mounts;
  for (const blueprint::FileResource& resource : config.resources)
    mounts.push_back({resource.host_path, resource.container_path, resource.read_only});
  mounts = backend::resolve_mounts(std::move(mounts), options_.hidden, backend::Mounter::hearth);
  if (::geteuid() != 0) judge_group_access(mounts);
  if (!machine_) machine_ = native::open_native_machine(options_.machine);
  backend::require_writable(mounts, {.is_caller = !machine_->users.uids});
  const builder::Environment built =
      co_await builder_.ensure_environment(blueprint, std::move(on_progress));
  native::ZygoteContent environment{built.python,  built.packages,    built.tools,
                                    built.preload, std::move(mounts), built.python_version};
  auto source =
      std::make_unique<native::NativeSource>(executor_, machine_, config, std::move(environment));
  // Cancelled or not: a source must be closed.
  co_await or_clean_up(source->start(), source->close());
  co_return source;
}

std::optional<backend::Interpreter> usual_native_python() {
  builder::UsualPython usual = builder::find_usual_python();
  for (const std::string& reason : usual.passed_over)
    log::warning("Python is passed over", {{"reason", reason}});
  if (!usual.python) return std::nullopt;
  return backend::Interpreter{usual.python->version, usual.python->executable.string()};
}

backend::Interpreter named_native_python(const std::string& path) {
  const auto python = builder::ask_meant_python(std::filesystem::absolute(path));
  if (!python) throw builder::PythonNotFound(path);
  if (!builder::is_visible(python->executable))
    throw Error(python->executable.string() + ' ' + builder::invisible_words);
  return {python->version, python->executable.string()};
}

std::unique_ptr<backend::Backend> open_native_backend(const BackendContext& context) {
  NativeBackendOptions options;
  options.builder.build = build_options(context);
  options.machine.programs = context.programs;
  options.machine.allow_degraded = context.settings.native.allow_degraded;
  options.machine.limits = context.limits;
  if (context.settings.native.zygote == settings::Zygote::per_sandbox)
    options.machine.zygotes = native::Zygotes::per_sandbox;
  options.machine.use_large_pages =
      context.settings.native.large_pages == settings::LargePages::automatic;
  options.hidden = engine_socket(context);
  return std::make_unique<NativeBackend>(context.executor, context.registry, std::move(options));
}

}  // namespace hearth::runtime
