#include "builder/netrc.h"

#include <doctest/doctest.h>

using namespace hearth::builder;

TEST_CASE("a build gets the credentials of its index and of no other host") {
  const std::string netrc =
      "machine index.example login me password one\n"
      "machine Other.example\n  login me\n  password two\n"
      "default login anyone password three\n";
  CHECK(netrc_for(netrc, {"index.example"}) == "machine index.example login me password one\n");
  CHECK(netrc_for(netrc, {"other.example"}) == "machine Other.example login me password two\n");
  CHECK(netrc_for(netrc, {}).empty());
  CHECK(netrc_for(netrc, {"default"}).empty());
  CHECK(netrc_for("", {"index.example"}).empty());
}

TEST_CASE("credentials pass as they are written, and neither comments, macros nor slips hide any") {
  const std::vector<std::string> hosts = {"a", "b"};
  CHECK(netrc_for(R"(machine a login "my \" self" password pass\ word)", hosts) ==
        R"(machine a login "my \" self" password pass\ word)"
        "\n");
  CHECK(netrc_for("# machine a login no\nmachine a # machine b\n login x password #y", hosts) ==
        "machine a login x password #y\n");
  CHECK(netrc_for("macdef init\nmachine a login no\n\nmachine b login x", hosts) ==
        "machine b login x\n");
  CHECK(netrc_for("default password machine machine a login x", hosts) == "machine a login x\n");
  CHECK(netrc_for("machine a login x nonsense\nmachine b login x", hosts) == "machine a login x\n");
  CHECK(netrc_for("machine", hosts).empty());
  CHECK(netrc_for("machine a login \"unfinished", hosts) == "machine a login \"unfinished\n");
  CHECK(netrc_for("machine a login x\\", hosts) == "machine a login x\\\n");
}

TEST_CASE("the hosts of a build are those of its index and of direct references") {
  using Hosts = std::vector<std::string>;
  CHECK(hosts_of_pip({}, {"tiny"}) == Hosts{"pypi.org", "files.pythonhosted.org"});
  CHECK(hosts_of_pip({.index_url = "https://Index.example:8443/simple"}, {"tiny>=1"}) ==
        Hosts{"index.example"});
  CHECK(hosts_of_pip({.index_url = "http://[::1]:8080/simple"}, {}) == Hosts{"::1"});
  CHECK(hosts_of_pip({.index_url = "file:///srv/index"}, {}) == Hosts{});
  CHECK(hosts_of_pip({.index_url = "https://index.example", .no_index = true},
                     {"a @ https://a.example:1/a.tgz", "b @ git+ssh://git@b.example/b@v1",
                      "c @ file:///c", "not a requirement"}) == Hosts{"a.example", "b.example"});
}
