#include "blueprint/sandbox_config.h"

#include <doctest/doctest.h>

using namespace hearth::blueprint;

namespace {

std::string complaint_about(const FileResource& resource) {
  std::string all;
  for (const Problem& problem : problems_of(resource)) all += to_string(problem) + '\n';
  return all;
}

std::string complaint_about_target(const std::string& container_path) {
  return complaint_about({.host_path = "/srv/data", .container_path = container_path});
}

}  // namespace

TEST_CASE("C15: a file resource is read-only unless said otherwise") {
  const FileResource resource{.host_path = "/srv/docs", .container_path = "/data/docs"};
  CHECK(resource.read_only);
  CHECK_FALSE(resource.docker_host_path);
  CHECK(problems_of(resource).empty());
}

TEST_CASE("C16: the source is the resolved path, else docker_host_path, else host_path") {
  FileResource resource{.host_path = "/app/docs", .container_path = "/data/docs"};
  CHECK(mount_of(resource).source == "/app/docs");
  CHECK(mount_of(resource, "/resolved").source == "/resolved");
  resource.docker_host_path = "/srv/docs";
  CHECK(mount_of(resource).source == "/srv/docs");
  CHECK(mount_of(resource, "/resolved").source == "/resolved");
}

TEST_CASE("C25: a mount has its source, target and mode from one file resource") {
  const FileResource read_only{.host_path = "/a", .container_path = "/data/a"};
  const FileResource writable{.host_path = "/b",
                              .container_path = "/data//b/",
                              .read_only = false,
                              .docker_host_path = "/c"};
  CHECK(mount_of(read_only) == Mount{.source = "/a", .target = "/data/a", .read_only = true});
  CHECK(mount_of(writable) ==
        Mount{.source = "/c", .target = "/data/b", .read_only = false, .is_engines = true});
}

TEST_CASE("container paths that are relative are refused") {
  CHECK(complaint_about_target("data/x") == "container_path must be absolute, is \"data/x\"\n");
  CHECK(complaint_about_target("") == "container_path is missing\n");
}

TEST_CASE("paths of the host with dots are refused") {
  const auto complaint = [](const char* path) {
    return complaint_about(
        {.host_path = path, .container_path = "/data", .docker_host_path = path});
  };
  for (const char* path : {"/srv/..", "/srv/../etc", "/./proc/self/cwd", "/srv/."}) {
    CHECK(complaint(path).find("host_path must not contain") != std::string::npos);
    CHECK(complaint(path).find("docker_host_path must not contain") != std::string::npos);
  }
  CHECK(complaint("/srv/..x/.hidden").empty());
}

TEST_CASE("container paths with dots are refused") {
  for (const char* path : {"/data/..", "/data/../etc", "/..", "/data/./x", "/."}) {
    CHECK(complaint_about_target(path).find("must not contain \"..\" or \".\"") !=
          std::string::npos);
  }
  CHECK(complaint_about_target("/data/..x").empty());
  CHECK(complaint_about_target("/data/x..y/.hidden").empty());
}

TEST_CASE("container paths that shadow what every sandbox needs are refused") {
  for (const char* path :
       {"/", "//", "/proc", "/proc/", "//proc", "/proc/self", "/workspace", "/workspace/data",
        "/tools", "/tools/x.py", "/sys", "/dev", "/dev/null", "/tmp", "/tmp/x", "/usr", "/etc"}) {
    INFO(path);
    CHECK(complaint_about_target(path).find("container_path is \"" + std::string(path)) == 0);
  }
  for (const char* path : {"/procedures", "/workspaces", "/tools2", "/data", "/etc/ssl/extra"}) {
    INFO(path);
    CHECK(complaint_about_target(path).empty());
  }
}

TEST_CASE("container paths get one spelling") {
  CHECK(validated(FileResource{.host_path = "/a//b/", .container_path = "//data///x/"}) ==
        FileResource{.host_path = "/a/b", .container_path = "/data/x"});
}

TEST_CASE("host paths that are relative, empty or hold control characters are refused") {
  CHECK(complaint_about({.host_path = "a", .container_path = "/data"}) ==
        "host_path must be absolute, is \"a\"\n");
  CHECK(complaint_about({.host_path = "", .container_path = "/data"}) == "host_path is missing\n");
  CHECK(complaint_about({.host_path = "/a\nb", .container_path = "/data"}).find("control") !=
        std::string::npos);
  CHECK(complaint_about({.host_path = "/a", .container_path = "/data", .docker_host_path = "b"}) ==
        "docker_host_path must be absolute, is \"b\"\n");
}
