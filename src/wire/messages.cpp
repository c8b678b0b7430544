#include "wire/messages.h"

namespace hearth::wire {

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
  std::string_view operator()(const FileAnswer& event) const { return type_of(event); }
  std::string_view operator()(const Window& /*event*/) const { return "window"; }
  std::string_view operator()(const Started& /*event*/) const { return "started"; }
  std::string_view operator()(const End& /*event*/) const { return "end"; }
  std::string_view operator()(const CommandList& /*event*/) const { return "commands"; }
  std::string_view operator()(const Position& /*event*/) const { return "position"; }
};

}  // namespace

std::string_view type_of(const EventBody& body) { return std::visit(TypeName{}, body); }

}  // namespace hearth::wire
