// tests/support/failure_kind.h: what kind of exception somebody caught and kept.
#pragma once

#include <exception>

namespace hearth::test {

template <typename Failure>
bool is_failure(const std::exception_ptr& caught) {
  try {
    if (caught) std::rethrow_exception(caught);
  } catch (const Failure&) {
    return true;
  } catch (...) {
    return false;
  }
  return false;
}

}  // namespace hearth::test
