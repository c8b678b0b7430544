// async/cleanup.h: an awaited clean-up after work, whether the work succeeds, fails or is
// cancelled. (C++ forbids co_await in a destructor and in a catch block.)
#pragma once

#include "async/task.h"

#include <optional>
#include <utility>

namespace hearth {

// Runs `work`, then `clean_up` to its end, even if the task is or was cancelled. Then throws what
// `work` threw, or else what `clean_up` threw. A cancellation during the clean-up takes effect
// where the caller waits next.
Task<> then_clean_up(Task<> work, Task<> clean_up);

// The same, but `clean_up` runs only if `work` throws.
Task<> or_clean_up(Task<> work, Task<> clean_up);

namespace detail {

template <typename T>
Task<> keep_result(Task<T> work, std::optional<T>& result) {
  result.emplace(co_await std::move(work));
}

}  // namespace detail

template <typename T>
Task<T> then_clean_up(Task<T> work, Task<> clean_up) {
  std::optional<T> result;
  co_await then_clean_up(detail::keep_result(std::move(work), result), std::move(clean_up));
  co_return std::move(*result);
}

template <typename T>
Task<T> or_clean_up(Task<T> work, Task<> clean_up) {
  std::optional<T> result;
  co_await or_clean_up(detail::keep_result(std::move(work), result), std::move(clean_up));
  co_return std::move(*result);
}

}  // namespace hearth
