#include "builder/build_environment.h"

#include "builder/build_steps.h"
#include "builder/manifest.h"
#include "builder/workshop.h"
#include "os/durable_files.h"
#include "os/file_lock.h"
#include "os/trusted_path.h"

#include <system_error>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_manifest_bytes = 1'048'576;

fs::path environments_of(const BuildOptions& options) { return options.state_dir / "environments"; }

Environment environment_at(const fs::path& place, const BuildPlan& plan, const Python& python) {
  return {.checksum = plan.checksum,
          .packages = plan.packages.empty() ? fs::path() : place / "packages",
          .tools = place / "tools",
          .python = python.executable,
          .python_version = python.version,
          .preload = plan.preload};
}

// Of an environment that is whole. What a careless hand removed makes it another's to build.
std::optional<Manifest> manifest_at(const fs::path& place, const BuildPlan& plan) {
  std::error_code failed;
  if (!fs::exists(place / "manifest", failed)) return std::nullopt;
  auto manifest = parse_manifest(os::read_trusted_file(place / "manifest", most_manifest_bytes));
  const bool is_whole = manifest && manifest->checksum == plan.checksum &&
                        fs::is_directory(place / "tools", failed) &&
                        (plan.packages.empty() || fs::is_directory(place / "packages", failed));
  if (!is_whole) return std::nullopt;
  os::require_trusted_files(place / "tools");
  if (!plan.packages.empty()) os::require_trusted_files(place / "packages");
  return manifest;
}

Manifest manifest_of(const BuildPlan& plan, const Python& python) {
  return {.checksum = plan.checksum,
          .python = python,
          .python_file = identity_of(python.executable).value_or(FileIdentity{}),
          .packages = plan.packages};
}

void write_manifest(const fs::path& place, const BuildPlan& plan, const Python& python) {
  os::replace_file(place / "manifest", print_manifest(manifest_of(plan, python)), 0644);
}

// Without the directories of wheels that are not there: another user could put one in place later.
BuildOptions with_trusted_wheels(BuildOptions options) {
  std::erase_if(options.pip.find_links, [](const fs::path& directory) {
    std::error_code failed;
    return !fs::exists(directory, failed);
  });
  for (const fs::path& directory : options.pip.find_links) os::require_trusted_files(directory);
  return options;
}

Python current_python(const BuildPlan& plan) {
  if (auto python = ask_meant_python(plan.python)) return *std::move(python);
  throw PythonNotFound(plan.python);
}

}  // namespace

BuildPlan with_python(BuildPlan plan, const BuildOptions& options) {
  if (plan.python.empty())
    plan.python = find_python(plan.python_version, options.python_directories).executable;
  else if (auto reason = os::distrust_of_python(plan.python))
    throw os::UntrustedPath(*reason);
  plan.checksum = environment_checksum(plan.checksum, plan.python);
  return plan;
}

fs::path prepare_environments(const BuildOptions& options) {
  const fs::path environments = environments_of(options);
  os::make_trusted_directory(options.state_dir, 0755);
  // Tools and packages may be private; a sandbox is shown copies that it can read.
  os::make_private_directory(environments);
  return environments;
}

fs::path prepare_locks(const BuildOptions& options) {
  fs::path locks = options.state_dir / "locks";
  os::make_private_directory(locks);
  return locks;
}

std::optional<Environment> find_environment(const BuildPlan& plan, const BuildOptions& options) {
  const fs::path place = environments_of(options) / plan.checksum;
  const auto manifest = manifest_at(place, plan);
  if (!manifest || manifest->python.executable != plan.python ||
      identity_of(plan.python) != manifest->python_file)
    return std::nullopt;
  return environment_at(place, plan, manifest->python);
}

Environment build_environment(const BuildPlan& plan, const BuildOptions& options,
                              const std::stop_token& stop, const BuildLog::OnLine& on_line) {
  const fs::path environments = prepare_environments(options);
  const fs::path place = environments / plan.checksum;
  const auto lock =
      os::FileLock::acquire(prepare_locks(options) / ("build-" + plan.checksum), stop);
  if (!lock) throw BuildStopped();
  // Another process may have built it while this one waited.
  if (auto found = find_environment(plan, options); found && !plan.is_anew)
    return std::move(*found);

  const auto manifest = plan.is_anew ? std::nullopt : manifest_at(place, plan);
  const Python python = current_python(plan);
  if (manifest && manifest->python.abi == python.abi) {
    // Packages fit: only the interpreter's file is another, or it is found by a version manager.
    if (*manifest != manifest_of(plan, python)) write_manifest(place, plan, python);
    return environment_at(place, plan, python);
  }
  const BuildOptions checked = with_trusted_wheels(options);
  remove_left_workshops(environments);
  const Workshop workshop(environments);
  const fs::path fresh = workshop.path() / "environment";
  run_build_steps(plan, checked, {.python = python, .home = workshop.path(), .place = fresh}, stop,
                  on_line);
  // Everything but the manifest first, so that it never stands beside less than the whole.
  os::sync_file_system(fresh);
  write_manifest(fresh, plan, python);
  os::put_in_place(fresh, place);
  return environment_at(place, plan, python);
}

}  // namespace hearth::builder
