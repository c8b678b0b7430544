#include "builder/image_plan.h"

#include "base/error.h"
#include "base/id.h"
#include "builder/netrc.h"
#include "builder/tar_archive.h"
#include "docker/container_spec.h"
#include "os/read_file.h"
#include "os/trusted_path.h"
#include "registry/digest.h"

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>

namespace hearth::builder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t most_program_bytes = std::size_t{64} << 20;
constexpr const char* build_user = "10001:10001";
constexpr std::size_t most_wheel_bytes = std::size_t{4} << 30;

// Programs that help an attacker more than a script. They are removed after packages are installed.
// The target of a link is removed, too, if it is that program under another name (nc is
// nc.openbsd), but not if it is a different program that can do the same (busybox).
constexpr const char* remove_risky =
    R"(for program in curl wget gcc cc c++ g++ make nc netcat ncat; do \
  while path=$(command -v "$program"); do \
    real=$(readlink -f "$path"); \
    case "${real##*/}" in *"$program"*) \
      package=$(dpkg -S "$real" 2>/dev/null | head -n 1 | cut -d : -f 1); \
      [ -z "$package" ] || DEBIAN_FRONTEND=noninteractive apt-get purge -y "$package" >/dev/null 2>&1 || true; \
      rm -f "$real";; \
    esac; \
    rm -f "$path"; \
    [ ! -e "$path" ] || break; \
  done; \
done)";

// A container's user is known only when it is created, and its root is read-only: so /etc/passwd is
// a link to a directory over which each container has a file system of its own.
constexpr const char* add_user = R"(sed -i '/^sandbox:/d' /etc/passwd /etc/group; \
echo "sandbox:x:@:@:Hearth sandbox:/workspace:/sbin/nologin" >> /etc/passwd; \
echo "sandbox:x:@:" >> /etc/group; \
mkdir -p /workspace /tools /hearth/packages %; \
cp -L /etc/passwd &; cp & %/passwd; ln -sf %/passwd /etc/passwd)";

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string add_user_commands() {
  const std::string numbered = replaced(add_user, "@", std::to_string(docker::sandbox_gid));
  return replaced(replaced(numbered, "%", docker::user_directory), "&", docker::image_passwd);
}

std::string exec_form(const std::vector<std::string>& words) {
  return json::serialize(json::value_from(words));
}

std::string label(const char* name, const std::string& value) {
  return std::string("LABEL ") + name + '=' + json::serialize(json::value(value)) + '\n';
}

std::string requirements_of(const BuildPlan& plan) {
  std::string lines;
  for (const std::string& package : plan.packages) lines += package + '\n';
  return lines;
}

std::string credentials_of(const BuildPlan& plan, const ImageOptions& options) {
  return netrc_for(options.netrc, hosts_of_pip(options.pip, plan.packages));
}

// As the first stage sees them.
PipOptions pip_inside(const PipOptions& options) {
  PipOptions inside = options;
  for (std::size_t i = 0; i < inside.find_links.size(); ++i)
    inside.find_links[i] = "/build/wheels/" + std::to_string(i);
  return inside;
}

std::string compile_command(const std::string& tree) {
  std::string command = "python3";
  for (const std::string& word : compile_arguments({tree})) command += ' ' + word;
  return command;
}

// Debian's and Docker's images of a language without "-slim" have a compiler and headers.
std::string without_slim(std::string image) {
  constexpr std::string_view suffix = "-slim";
  if (image.ends_with(suffix)) image.resize(image.size() - suffix.size());
  return image;
}

std::string packages_stage(const BuildPlan& plan, const ImageOptions& options,
                           const std::string& stage) {
  std::string text = "FROM " + image_for_packages(plan, options) + " AS packages\n" +
                     label(image_blueprint_label, plan.blueprint) + label(image_stage_label, stage);
  // Packages may run code when they are installed: as a user that owns nothing but the result.
  const std::string user = build_user;
  text += "USER root\nCOPY --chown=" + user + " build /build\nRUN mkdir /packages && chown " +
          user + " /packages\nUSER " + user + "\nENV HOME=/tmp PIP_CONFIG_FILE=/dev/null";
  if (!options.pip.index_url.empty())
    text += " PIP_INDEX_URL=" + json::serialize(json::value(options.pip.index_url));
  if (!credentials_of(plan, options).empty()) text += " NETRC=/build/netrc";
  std::vector<std::string> pip{"python3"};
  const auto arguments =
      pip_arguments(pip_inside(options.pip), "/packages", "/build/requirements.txt");
  pip.insert(pip.end(), arguments.begin(), arguments.end());
  // Installing wheels needs no second process, and so no code of a package can run.
  const std::string alone = "ulimit -p 1 2>/dev/null || ulimit -u 1; exec \"$@\"";
  if (!options.pip.allow_source_builds) pip.insert(pip.begin(), {"/bin/sh", "-c", alone, "sh"});
  text += "\nRUN " + exec_form(pip) + "\nRUN " + compile_command("/packages");
  // What a package holds for other Pythons does not compile, and does no harm. Its files become
  // root's in the image: none may be set-uid.
  return text + "; chmod -R a-s,u=rwX,go=rX /packages\n\n";
}

std::string dockerfile_of(const BuildPlan& plan, const ImageOptions& options,
                          const std::string& stage, const std::string& recipe) {
  std::string text;
  if (!plan.packages.empty()) text += packages_stage(plan, options, stage);
  text += "FROM " + base_image(plan, options) + "\nUSER root\n";
  if (!plan.packages.empty())
    text += "COPY --from=packages --chown=0:0 /packages /hearth/packages\n";
  text += "COPY hearth /hearth\nCOPY tools /tools\n";
  // A Python that cannot do this compiles the harness whenever a container starts.
  text += "RUN " + compile_command("/hearth/executor_harness") + " || true; \\\n";
  text += std::string("set -e; ") + remove_risky + "; \\\n" + add_user_commands() + '\n';
  text += label(image_blueprint_label, plan.blueprint);
  text += label(image_checksum_label, plan.checksum);
  if (!recipe.empty()) text += label(image_recipe_label, recipe);
  text += "USER sandbox\nWORKDIR /workspace\nENTRYPOINT " +
          exec_form(docker::init_command(plan.preload, {},
                                         {"--confined", docker::confinement_under("")})) +
          '\n';
  return text;
}

// After `end` its images are leftovers, whichever process finds them.
std::string stage_until(std::chrono::system_clock::time_point end) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(end.time_since_epoch());
  return std::to_string(seconds.count()) + '-' + random_id();
}

std::vector<fs::path> files_in(const fs::path& directory,
                               const std::function<bool(const fs::directory_entry&)>& is_wanted) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed))
    if (is_wanted(entry)) files.push_back(entry.path());
  if (failed) throw OsError("read the files in " + directory.string(), failed.value());
  std::sort(files.begin(), files.end());
  return files;
}

struct ProgramFile {
  std::string name;  // under /hearth in the image
  std::string content;
  unsigned mode;
};

// Without the bytecode beside the harness, which is for the Pythons of this machine.
std::vector<ProgramFile> program_files(const backend::Programs& programs) {
  std::vector<ProgramFile> files{
      {"hearth-init", os::read_file(programs.init, most_program_bytes), 0755}};
  const std::vector<fs::path> modules =
      files_in(programs.harness,
               [](const fs::directory_entry& entry) { return entry.path().extension() == ".py"; });
  for (const fs::path& module : modules)
    files.push_back({"executor_harness/" + module.filename().string(),
                     os::read_file(module, most_program_bytes), 0644});
  return files;
}

void add_programs(registry::Digest& digest, const backend::Programs& programs) {
  for (const ProgramFile& program : program_files(programs)) {
    digest.add(program.name);
    digest.add(program.content);
  }
}

}  // namespace

std::string base_image(const BuildPlan& plan, const ImageOptions& options) {
  return replaced(options.base_image, "{version}", plan.python_version);
}

std::string image_for_packages(const BuildPlan& plan, const ImageOptions& options) {
  if (!options.pip.allow_source_builds) return base_image(plan, options);
  if (options.build_image.empty()) return without_slim(base_image(plan, options));
  return replaced(options.build_image, "{version}", plan.python_version);
}

BuildPlan image_build_plan(const registry::ToolRegistry& registry, std::string blueprint,
                           const ImageOptions& options) {
  BuildPlan plan = plan_of(registry, std::move(blueprint));
  if (options.has_tools) return plan;
  plan.tools.clear();
  plan.checksum = registry.checksum_without_tools(plan.blueprint);
  return plan;
}

std::string image_tag(const BuildPlan& plan, const ImageOptions& options) {
  registry::Digest checksum;
  checksum.add(plan.checksum);
  if (!plan.packages.empty()) add_sources(checksum, options.pip);
  add_programs(checksum, options.programs);
  return options.prefix + plan.blueprint + ':' + checksum.finish();
}

ImagePlan plan_image(const BuildPlan& plan, const ImageOptions& options) {
  // Callers with and without credentials must agree on what an image is.
  ImageOptions without_credentials = options;
  without_credentials.netrc.clear();
  registry::Digest recipe;
  recipe.add(dockerfile_of(plan, without_credentials, {}, {}));
  recipe.add(requirements_of(plan));
  if (!plan.packages.empty()) add_sources(recipe, options.pip);
  add_programs(recipe, options.programs);
  for (const BuildPlan::ToolFile& tool : plan.tools) {
    recipe.add(tool.name);
    recipe.add(tool.source);
  }
  ImagePlan image;
  image.tag = image_tag(plan, options);
  image.recipe = recipe.finish();
  image.stage = stage_until(std::chrono::system_clock::now() + options.build_timeout);
  image.dockerfile = dockerfile_of(plan, options, image.stage, image.recipe);
  image.needs_network = !plan.packages.empty() && !options.pip.no_index;
  return image;
}

std::string image_context(const BuildPlan& plan, const ImageOptions& options,
                          const ImagePlan& image) {
  TarArchive tar;
  tar.add_file("Dockerfile", image.dockerfile);
  tar.add_directory("hearth/executor_harness");
  for (const ProgramFile& program : program_files(options.programs))
    tar.add_file("hearth/" + program.name, program.content, program.mode);
  tar.add_directory("tools");
  for (const BuildPlan::ToolFile& tool : plan.tools)
    tar.add_file("tools/" + tool.name + ".py", tool.source);
  if (plan.packages.empty()) return tar.finish();
  tar.add_file("build/requirements.txt", requirements_of(plan));
  if (const std::string netrc = credentials_of(plan, options); !netrc.empty())
    tar.add_file("build/netrc", netrc, 0600);
  for (std::size_t i = 0; i < options.pip.find_links.size(); ++i) {
    const std::string directory = "build/wheels/" + std::to_string(i);
    tar.add_directory(directory);
    os::require_trusted_files(options.pip.find_links[i]);
    for (const fs::path& wheel : archives_in(options.pip.find_links[i], options.pip))
      tar.add_file(directory + '/' + wheel.filename().string(),
                   os::read_file(wheel, most_wheel_bytes));
  }
  return tar.finish();
}

bool is_stage_over(std::string_view stage, std::chrono::system_clock::time_point now) {
  std::int64_t until = 0;
  std::from_chars(stage.data(), stage.data() + stage.size(), until);
  constexpr std::int64_t clocks_differ = 60;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  return until + clocks_differ < seconds.count();
}

}  // namespace hearth::builder
