#include "api/problem.h"

#include "backend/errors.h"
#include "pool/errors.h"
#include "session/errors.h"
#include "session/snapshots.h"
#include "settings/diagnostic.h"
#include "store/errors.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace hearth;
using api::ProblemCode;

namespace {

template <typename Failure>
ProblemCode code_of(Failure failure) {
  return api::problem_of(std::make_exception_ptr(std::move(failure))).code;
}

}  // namespace

TEST_CASE("each failure has one of the codes that callers know") {
  CHECK(code_of(backend::BackendUnavailable("no")) == ProblemCode::backend_unavailable);
  CHECK(code_of(backend::ReadyTimeout("no")) == ProblemCode::backend_unavailable);
  CHECK(code_of(backend::SpawnError("no")) == ProblemCode::backend_unavailable);
  CHECK(code_of(backend::SpawnError("no", "Traceback")) == ProblemCode::unprocessable);
  CHECK(code_of(backend::BuildError("no", "log")) == ProblemCode::unprocessable);
  CHECK(code_of(pool::CapacityReached("no")) == ProblemCode::capacity);
  CHECK(code_of(blueprint::ConfigError("it", {})) == ProblemCode::invalid_request);
  CHECK(code_of(session::SessionNotFound("ses_1")) == ProblemCode::not_found);
  CHECK(code_of(session::SessionGone("ses_1", "deleted", 0)) == ProblemCode::gone);
  CHECK(code_of(session::SessionBusy("ses_1")) == ProblemCode::conflict);
  CHECK(code_of(session::SnapshotDamaged("ses_1", 2, "torn", 1)) == ProblemCode::snapshot_damaged);
  CHECK(code_of(session::SnapshotTooLarge("no")) == ProblemCode::too_large);
  CHECK(code_of(store::StoreInUse("no")) == ProblemCode::conflict);
  CHECK(code_of(store::StoreUnavailable("no")) == ProblemCode::backend_unavailable);
  CHECK(code_of(std::runtime_error("no")) == ProblemCode::internal);
}

TEST_CASE("a configuration's problems are told with their places") {
  const settings::SettingsError error(
      {{.file = "hearth.toml", .line = 3, .key = "pool.size", .message = "is wrong"}});
  const api::Problem problem = api::problem_of(std::make_exception_ptr(error));
  CHECK(problem.code == ProblemCode::invalid_request);
  REQUIRE(problem.errors.size() == 1);
  CHECK(problem.errors[0].field == "pool.size");
  CHECK(problem.errors[0].message == "hearth.toml:3: is wrong");
}

TEST_CASE("a problem is one line of JSON") {
  CHECK(api::error_line({ProblemCode::unprocessable, "cannot build", "pip\nfailed"}) ==
        R"({"type":"error","code":"unprocessable","detail":"cannot build","log":"pip\nfailed"})"
        "\n");
  CHECK(api::error_line({ProblemCode::invalid_request, "no", {}, {{"code", "is missing"}}}) ==
        R"({"type":"error","code":"invalid_request","detail":"no",)"
        R"("errors":[{"field":"code","message":"is missing"}]})"
        "\n");
}
