#include "builder/build_environment.h"

#include "builder/build_steps.h"
#include "builder/manifest.h"
#include "builder/workshop.h"
#include "os/durable_files.h"
#include "os/file_lock.h"
#include "os/read_file.h"

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
          .preload = plan.preload};
}

// Of an environment that is whole. What a careless hand removed makes it another's to build.
std::optional<Manifest> manifest_at(const fs::path& place, const BuildPlan& plan) {
  std::error_code failed;
  if (!fs::exists(place / "manifest", failed)) return std::nullopt;
  auto manifest = parse_manifest(os::read_file(place / "manifest", most_manifest_bytes));
  const bool is_whole = manifest && manifest->checksum == plan.checksum &&
                        fs::is_directory(place / "tools", failed) &&
                        (plan.packages.empty() || fs::is_directory(place / "packages", failed));
  return is_whole ? manifest : std::nullopt;
}

void write_manifest(const fs::path& place, const BuildPlan& plan, const Python& python) {
  os::replace_file(
      place / "manifest",
      print_manifest({.checksum = plan.checksum,
                      .python = python,
                      .python_file = identity_of(python.executable).value_or(FileIdentity{}),
                      .packages = plan.packages}),
      0644);
}

// The interpreter that was used, if it still is what it was; else what there is now.
Python current_python(const std::optional<Manifest>& manifest, const BuildPlan& plan,
                      const BuildOptions& options) {
  if (manifest) {
    const auto python = ask_python(manifest->python.executable);
    if (python && python->abi == manifest->python.abi &&
        is_version(python->version, plan.python_version))
      return *python;
  }
  return find_python(plan.python_version, options.python_directories);
}

}  // namespace

fs::path prepare_environments(const BuildOptions& options) {
  const fs::path environments = environments_of(options);
  std::error_code failed;
  fs::create_directories(options.state_dir, failed);
  if (failed) throw OsError("create " + options.state_dir.string(), failed.value());
  if (!fs::is_directory(environments, failed)) {
    try {
      os::make_directory(environments, 0755);
    } catch (const OsError& error) {
      if (error.code != EEXIST) throw;
    }
  }
  return environments;
}

std::optional<Environment> find_environment(const BuildPlan& plan, const BuildOptions& options) {
  const fs::path place = environments_of(options) / plan.checksum;
  const auto manifest = manifest_at(place, plan);
  if (!manifest || identity_of(manifest->python.executable) != manifest->python_file)
    return std::nullopt;
  return environment_at(place, plan, manifest->python);
}

Environment build_environment(const BuildPlan& plan, const BuildOptions& options,
                              const std::stop_token& stop, const BuildLog::OnLine& on_line) {
  const fs::path environments = prepare_environments(options);
  const fs::path place = environments / plan.checksum;
  const auto lock = os::FileLock::acquire(environments / (".lock-" + plan.checksum), stop);
  if (!lock) throw BuildStopped();
  // Another process may have built it while this one waited.
  if (auto found = find_environment(plan, options)) return std::move(*found);

  const auto manifest = manifest_at(place, plan);
  const Python python = current_python(manifest, plan, options);
  if (manifest && manifest->python.abi == python.abi) {
    write_manifest(place, plan, python);  // packages fit: only the interpreter's file is another
    return environment_at(place, plan, python);
  }
  remove_left_workshops(environments);
  const Workshop workshop(environments);
  const fs::path fresh = workshop.path() / "environment";
  run_build_steps(plan, options, {.python = python, .home = workshop.path(), .place = fresh}, stop,
                  on_line);
  // Everything but the manifest first, so that it never stands beside less than the whole.
  os::sync_file_system(fresh);
  write_manifest(fresh, plan, python);
  os::put_in_place(fresh, place);
  return environment_at(place, plan, python);
}

}  // namespace hearth::builder
