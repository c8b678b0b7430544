#include "init/confinement.h"

#include "base/error.h"

#include <doctest/doctest.h>

namespace hearth::init {
namespace {

constexpr const char* everything = "caps,no-new-privs,seccomp,user,read-only";

Confinement closed() {
  return {
      "Name:\thearth-init\n"
      "Uid:\t10001\t10001\t10001\t10001\n"
      "Gid:\t10001\t10001\t10001\t10001\n"
      "CapInh:\t0000000000000000\n"
      "CapPrm:\t0000000000000000\n"
      "CapEff:\t0000000000000000\n"
      "CapBnd:\t0000000000000000\n"
      "CapAmb:\t0000000000000000\n"
      "NoNewPrivs:\t1\n"
      "Seccomp:\t2\n"
      "Seccomp_filters:\t1\n",
      true};
}

std::string found_in(std::string_view line, std::string_view instead) {
  Confinement found = closed();
  const std::size_t at = found.status.find(line);
  REQUIRE(at != std::string::npos);
  found.status.replace(at, line.size(), instead);
  return missing_confinement(everything, found);
}

}  // namespace

TEST_CASE("what is closed as ordered lacks nothing") {
  CHECK(missing_confinement(everything, closed()).empty());
  CHECK(missing_confinement("", Confinement{}).empty());
}

TEST_CASE("each missing protection is named") {
  CHECK(found_in("CapBnd:\t0000000000000000", "CapBnd:\t00000000a80425fb") ==
        "it has capabilities");
  CHECK(found_in("NoNewPrivs:\t1", "NoNewPrivs:\t0") == "programs may gain privileges");
  CHECK(found_in("Seccomp:\t2", "Seccomp:\t0") == "system calls are not filtered");
  CHECK(found_in("Uid:\t10001\t10001\t10001", "Uid:\t10001\t10001\t0") == "it runs as root");
  CHECK(found_in("Gid:\t10001", "Gid:\t0") == "it runs as root");
  Confinement writable = closed();
  writable.root_is_read_only = false;
  CHECK(missing_confinement(everything, writable) == "its root file system can be written to");
  CHECK(missing_confinement("caps,seccomp", writable).empty());
}

TEST_CASE("what the kernel does not tell is missing") {
  CHECK(missing_confinement(everything, {"", true}) ==
        "it has capabilities; programs may gain privileges; system calls are not filtered; "
        "it runs as root");
  CHECK_THROWS_AS(missing_confinement("caps,landlock", closed()), Error);
}

}  // namespace hearth::init
