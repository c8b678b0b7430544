// base/scope_exit.h: calls a function at the end of a scope, however that is left.
#pragma once

#include <utility>

namespace hearth {

// `on_exit` must not throw.
template <typename Function>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(Function on_exit) : on_exit_(std::move(on_exit)) {}
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;
  ~ScopeExit() { on_exit_(); }

 private:
  Function on_exit_;
};

}  // namespace hearth
