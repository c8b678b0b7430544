#include "docker/docker_engine.h"

#include "base/id.h"
#include "base/joined.h"
#include "base/log.h"
#include "docker/container_spec.h"
#include "docker/json_path.h"
#include "os/durable_files.h"
#include "os/trusted_path.h"
#include "seccomp/engine_profile.h"

#include <boost/json.hpp>

#include <unistd.h>

#include <set>
#include <system_error>
#include <utility>

namespace hearth::docker {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t id_digits = 32;
// Killing and removing a container takes 0.1 s; many at once wait for each other.
constexpr std::chrono::seconds removal_limit{30};

std::string label_filter(const std::string& label) {
  return url_encode(json::serialize(json::object{{"label", json::array{label}}}));
}

std::vector<std::string> keys_of(const json::object& object) {
  std::vector<std::string> keys;
  for (const auto& member : object) keys.emplace_back(member.key());
  return keys;
}

// The id of the installation that has this state directory.
std::string owner_of(const fs::path& directory) {
  const fs::path file = directory / "owner";
  std::error_code failed;
  os::make_trusted_directory(directory.parent_path(), 0755);
  os::make_private_directory(directory);
  if (!fs::exists(file)) {
    // link() is atomic: the first process decides for all.
    const fs::path fresh = directory / ("owner-" + random_id());
    os::write_new_file(fresh, random_id(), 0644);
    const bool is_there = ::link(fresh.c_str(), file.c_str()) == 0 || errno == EEXIST;
    const OsError error("create " + file.string());
    fs::remove(fresh, failed);
    if (!is_there) throw OsError(error);
  }
  std::string owner = os::read_trusted_file(file, id_digits);
  if (!is_hexadecimal(owner, id_digits))
    throw Error(file.string() + " does not name an installation: remove it to get a new name");
  return owner;
}

}  // namespace

std::string describe_engine(const EngineIdentity& identity, const json::value& info) {
  std::string words = identity.version + " (API " + identity.api_version + ')';
  if (const std::string version = text_at(info, {"CgroupVersion"}); !version.empty())
    words += ", cgroups " + version;
  if (const std::string driver = text_at(info, {"Driver"}); !driver.empty()) words += ", " + driver;
  const json::object* runtimes = at(info, {"Runtimes"}).if_object();
  if (runtimes == nullptr) return words;
  std::vector<std::string> names = keys_of(*runtimes);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("io.containerd."); });
  return words + ", runtimes " + joined(names, ", ");
}

DockerEngine::DockerEngine(DockerEngineOptions options)
    : options_(std::move(options)),
      client_(options_.address),
      seccomp_profile_(seccomp::engine_profile()) {}

DockerEngine::~DockerEngine() {
  std::error_code ignored;
  fs::remove(lock_of(instance_), ignored);
}

bool DockerEngine::has_recursive_read_only() const {
  constexpr int since_minor = 44;
  const std::string& version = identity_.api_version;
  return std::stoi(version.substr(version.find('.') + 1)) >= since_minor;
}

fs::path DockerEngine::lock_of(const std::string& instance) const {
  return options_.state_dir / "docker" / ("instance-" + instance);
}

std::map<std::string, std::string> DockerEngine::labels(const std::string& blueprint_name) const {
  return {{owner_label, owner_}, {instance_label, instance_}, {blueprint_label, blueprint_name}};
}

Task<Mutex::Lock> DockerEngine::permit_to_start() {
  for (Mutex& lane : lanes_)
    if (!lane.is_locked()) co_return co_await lane.lock();
  co_return co_await lanes_[next_lane_++ % lanes_.size()].lock();
}

std::string DockerEngine::unique_name() const {
  return "hearth-" + instance_.substr(0, 8) + '-' + random_id();
}

// Other processes use the same engine. No lock: that two draw the same one of a hundred million ids
// between their question and their creation is too unlikely.
Task<ContainerUids::Lease> DockerEngine::take_uid() {
  std::vector<ContainerUids::Lease> used_by_others;  // held, so that none is drawn twice
  while (true) {
    ContainerUids::Lease lease = uids_.take();
    const std::string label = std::string(uid_label) + '=' + std::to_string(lease.uid());
    const EngineAnswer found =
        co_await client_.call({.path = "/containers/json?all=1&filters=" + label_filter(label)});
    const json::array* list = found.body.if_array();
    if (list == nullptr) throw EngineUnreachable("the Docker engine lists no containers");
    if (list->empty()) co_return lease;
    used_by_others.push_back(std::move(lease));
  }
}

Task<std::shared_ptr<DockerEngine>> DockerEngine::open(DockerEngineOptions options) {
  std::shared_ptr<DockerEngine> engine(new DockerEngine(std::move(options)));
  co_await engine->look();
  engine->owner_ = owner_of(engine->options_.state_dir / "docker");
  engine->instance_ = random_id();
  engine->alive_ = os::FileLock::try_acquire(engine->lock_of(engine->instance_));
  engine->shown_tools_.emplace(engine->options_.state_dir, engine->instance_);
  co_await engine->reconcile();
  co_return engine;
}

Task<> DockerEngine::look() {
  identity_ = co_await client_.ping();
  const EngineAnswer info = co_await client_.call({.path = "/info"});
  if (!info.body.is_object()) throw EngineUnreachable("what answers is no Docker engine");
  if (const std::uint64_t count = number_at(info.body, {"NCPU"}); count > 0)
    cores_ = static_cast<double>(count);
  limits_swap_ = at(info.body, {"SwapLimit"}) != json::value(false);
  kernel_ = text_at(info.body, {"KernelVersion"});
  if (!limits_swap_)
    log::warning(
        "Docker engine cannot limit swap: what sandboxes have in memory may reach its disk");
  uids_ = ContainerUids(uids_of_engine(info.body));
  if (options_.runtime.empty()) co_return;
  const json::object* known = at(info.body, {"Runtimes"}).if_object();
  if (known == nullptr || known->contains(options_.runtime)) co_return;
  throw Error("the Docker engine has no runtime \"" + options_.runtime + "\"; it has " +
              joined(keys_of(*known), ", "));
}

// A leftover that cannot be removed does not prevent the start: the next start retries.
Task<bool> DockerEngine::remove_leftover(std::string path) try {
  // 409: it is being removed already.
  co_await client_.call({.method = "DELETE",
                         .path = std::move(path),
                         .limit = removal_limit,
                         .accepted = {404, 409}});
  co_return true;
} catch (const EngineError& error) {
  log::warning("leftover of an earlier process cannot be removed", {{"error", error.what()}});
  co_return false;
} catch (const EngineTimeout& error) {
  log::warning("leftover of an earlier process cannot be removed", {{"error", error.what()}});
  co_return false;
}

Task<> DockerEngine::reconcile() {
  const std::string filter = label_filter(std::string(owner_label) + '=' + owner_);
  struct Kind {
    const char* list;
    const char* path;
    const char* options;
  };
  std::set<std::string> living{instance_};
  std::map<std::string, os::FileLock> dead;
  const auto is_dead = [&](const std::string& instance) {
    // A label is text of the engine, and this one becomes the name of a file.
    if (!is_hexadecimal(instance, id_digits) || living.contains(instance)) return false;
    if (dead.contains(instance)) return true;
    // A live process holds its lock from before its first container until after its last.
    std::optional<os::FileLock> lock = os::FileLock::try_acquire(lock_of(instance));
    if (!lock) {
      living.insert(instance);
      return false;
    }
    dead.emplace(instance, std::move(*lock));
    return true;
  };
  std::set<std::string> stubborn;
  std::size_t removed = 0;
  for (const Kind& kind : {Kind{"/containers/json?all=1&filters=", "/containers/", "?force=1&v=1"},
                           Kind{"/networks?filters=", "/networks/", ""}}) {
    const EngineAnswer found = co_await client_.call({.path = kind.list + filter});
    const json::array* list = found.body.if_array();
    if (list == nullptr) continue;
    for (const json::value& one : *list) {
      const std::string id = id_at(one, {"Id"});
      if (id.empty() || !is_dead(text_at(one, {"Labels", instance_label}))) continue;
      if (co_await remove_leftover(kind.path + id + kind.options)) {
        ++removed;
      } else {
        stubborn.insert(text_at(one, {"Labels", instance_label}));
      }
    }
  }
  for (const std::string& instance : ShownTools::instances(options_.state_dir))
    if (is_dead(instance)) ShownTools::remove(options_.state_dir, instance);
  std::error_code ignored;
  for (const auto& [instance, lock] : dead)
    if (!stubborn.contains(instance)) fs::remove(lock_of(instance), ignored);
  if (removed > 0)
    log::info("leftovers of earlier processes removed from the Docker engine",
              {{"count", removed}});
}

}  // namespace hearth::docker
