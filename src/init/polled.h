// init/polled.h: the list of descriptors that the loop waits for.
#pragma once

#include <poll.h>

#include <algorithm>
#include <vector>

namespace hearth::init {

// A closed descriptor, -1, is left out.
inline void watch(std::vector<pollfd>& polled, int fd, short events) {
  if (fd >= 0) polled.push_back({fd, events, 0});
}

inline bool has_event(const std::vector<pollfd>& polled, int fd) {
  return fd >= 0 && std::any_of(polled.begin(), polled.end(), [fd](const pollfd& one) {
           return one.fd == fd && one.revents != 0;
         });
}

}  // namespace hearth::init
