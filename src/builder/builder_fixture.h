// builder/builder_fixture.h: for the tests: a registry, a state directory, packages, and a builder
// on a loop.
#pragma once

#include "builder/native_builder.h"
#include "os/read_file.h"
#include "tests/support/python_packages.h"
#include "tests/support/run_task.h"
#include "tests/support/temporary_directory.h"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace hearth::builder {

inline std::string python_of_this_machine() {
  static const Python python = find_python("3", usual_python_directories());
  return python.version.substr(0, python.version.rfind('.'));
}

struct Fixture {
  Fixture() {
    std::filesystem::create_directory(wheels());
    options.build.state_dir = root.path() / "state";
    options.build.pip = {.find_links = {wheels()}, .no_index = true};
  }

  std::filesystem::path wheels() const { return root.path() / "wheels"; }
  std::filesystem::path environments() const { return options.build.state_dir / "environments"; }
  std::filesystem::path place(const std::string& name = "box") const {
    BuildPlan plan = plan_of(registry, name);
    plan.checksum = environment_checksum(registry, name, options.build.pip);
    return environments() / with_python(plan, options.build).checksum;
  }

  void add_sandbox(std::vector<std::string> packages, const std::string& name = "box") {
    registry.register_blueprint(
        {.name = name, .python_version = python, .dependencies = std::move(packages)});
  }
  void add_tool(const std::string& name, std::string source,
                const std::string& blueprint_name = "box") {
    registry.register_tool(
        {.config = {.name = name, .blueprints = {blueprint_name}}, .source = std::move(source)});
  }

  // By a new builder, as after a restart.
  Environment ensure(const std::string& name = "box") {
    asio::io_context loop;
    NativeBuilder builder(loop.get_executor(), registry, options);
    return test::run_task(loop, builder.ensure_environment(name, [this](const std::string& line) {
      progress.push_back(line);
    }));
  }

  BuildError failure() {
    try {
      ensure();
    } catch (const BuildError& error) {
      return error;
    }
    FAIL("it was built");
    return {"", ""};
  }

  bool reported(const std::string& text) const {
    return std::any_of(progress.begin(), progress.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

  // What stands beside the environments: nothing but locks, when all is well.
  std::vector<std::string> left_over() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(environments())) {
      const std::string name = entry.path().filename();
      if (name.starts_with('.') && !name.starts_with(".lock-")) names.push_back(name);
    }
    return names;
  }

  test::TemporaryDirectory root;
  std::string python = python_of_this_machine();
  registry::ToolRegistry registry;
  NativeBuilderOptions options;
  std::vector<std::string> progress;
};

}  // namespace hearth::builder
