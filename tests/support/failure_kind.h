// tests/support/failure_kind.h: the kind of an exception that was caught and kept.
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
