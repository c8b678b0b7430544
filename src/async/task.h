// async/task.h: what asynchronous code returns.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace hearth {

namespace asio = boost::asio;

template <typename T = void>
using Task = asio::awaitable<T>;

}  // namespace hearth
