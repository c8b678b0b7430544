// tests/support/postgres_server.h: a Postgres server of the test's own, which can be killed,
// stopped and frozen.
#pragma once

#include "base/error.h"
#include "tests/support/source_directory.h"
#include "tests/support/temporary_directory.h"

#include <array>
#include <cstdio>
#include <string>

namespace hearth::test {

class PostgresServer {
 public:
  PostgresServer() { run("start"); }
  ~PostgresServer() { run("kill"); }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // Returns what it printed.
  std::string run(const std::string& word) const {
    const std::string command = "HEARTH_POSTGRES_DIR=" + directory_.path().string() + " " +
                                source_directory() + "/scripts/postgres " + word;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) throw OsError("run " + command);
    std::string output;
    std::array<char, 256> buffer{};
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
    if (::pclose(pipe) != 0) throw Error("this failed: " + command);
    while (output.ends_with('\n')) output.pop_back();
    return output;
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace hearth::test
