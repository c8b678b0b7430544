// The main of every test program.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int tests_started = 0;

struct CountingListener : doctest::IReporter {
  explicit CountingListener(const doctest::ContextOptions& /*options*/) {}
  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_start(const doctest::TestCaseData& /*data*/) override { ++tests_started; }
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*error*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*signature*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}
};
DOCTEST_REGISTER_LISTENER("counting", 1, CountingListener);

// What CTest takes for "not run".
constexpr int skipped = 77;

// Without root there is no engine (scripts/docker-engine); in CI that is a failure, not a reason.
bool lacks_its_engine() {
  const char* ci = std::getenv("CI");
  return std::getenv("HEARTH_TEST_DOCKER") != nullptr && ::geteuid() != 0 &&
         (ci == nullptr || std::strcmp(ci, "true") != 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (lacks_its_engine()) {
    std::fputs("not run: tests with Docker need root\n", stderr);
    return skipped;
  }
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;
  // A filter that matches nothing would otherwise count as a pass.
  if (tests_started == 0) {
    std::fputs("no test case ran\n", stderr);
    return 1;
  }
  return result;
}
