// native/background_thread.h: a thread for work that may wait until turns leave it the CPU.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <sys/resource.h>

namespace hearth::native {

// Its destructor waits until all work is done.
class BackgroundThread {
 public:
  BackgroundThread() {
    constexpr int lower_priority = 10;
    boost::asio::post(pool_, [] { ::setpriority(PRIO_PROCESS, 0, lower_priority); });
  }

  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;
  ~BackgroundThread() { pool_.join(); }

  boost::asio::thread_pool& pool() { return pool_; }

 private:
  boost::asio::thread_pool pool_{1};
};

}  // namespace hearth::native
