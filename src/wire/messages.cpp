#include "wire/messages.h"

namespace hearth::wire {

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::completed:
      return "completed";
    case Ending::failed:
      return "failed";
    case Ending::timed_out:
      return "timed_out";
    case Ending::output_limit:
      return "output_limit";
    case Ending::cancelled:
      return "cancelled";
    case Ending::exited:
      return "exited";
    case Ending::signalled:
      return "signalled";
    case Ending::missing_secret:
      return "missing_secret";
    case Ending::refused:
      return "refused";
  }
  return "refused";
}

std::string_view name_of(Mode mode) { return mode == Mode::plan ? "plan" : "interactive"; }

namespace {

struct TypeName {
  std::string_view operator()(const Ready& /*event*/) const { return "ready"; }
  std::string_view operator()(const Stdout& /*event*/) const { return "stdout"; }
  std::string_view operator()(const Stderr& /*event*/) const { return "stderr"; }
  std::string_view operator()(const Log& /*event*/) const { return "log"; }
  std::string_view operator()(const Intermediate& /*event*/) const { return "intermediate"; }
  std::string_view operator()(const Display& /*event*/) const { return "display"; }
  std::string_view operator()(const FinalResult& /*event*/) const { return "final_result"; }
  std::string_view operator()(const ScriptError& /*event*/) const { return "error"; }
  std::string_view operator()(const ScriptDone& /*event*/) const { return "script_done"; }
  std::string_view operator()(const ResetDone& /*event*/) const { return "reset_done"; }
  std::string_view operator()(const Pong& /*event*/) const { return "pong"; }
  std::string_view operator()(const FileWritten& /*event*/) const { return "file_written"; }
};

}  // namespace

std::string_view type_of(const EventBody& body) { return std::visit(TypeName{}, body); }

}  // namespace hearth::wire
