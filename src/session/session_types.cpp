#include "session/session_types.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace hearth::session {

std::int64_t system_wall_clock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

PublicState public_state(store::SessionState state) {
  switch (state) {
    case store::SessionState::cold:
      return PublicState::paused;
    case store::SessionState::warming:
      return PublicState::starting;
    case store::SessionState::running:
      return PublicState::busy;
    case store::SessionState::warm:
    case store::SessionState::waiting:
      break;
  }
  return PublicState::idle;
}

std::string to_json(const SessionStats& stats) {
  const boost::json::object object{{"total", stats.total},
                                   {"cold", stats.cold},
                                   {"warming", stats.warming},
                                   {"warm", stats.warm},
                                   {"waiting", stats.waiting},
                                   {"running", stats.running},
                                   {"maxCapacity", stats.max_capacity},
                                   {"resumeWarmHits", stats.resume_warm_hits},
                                   {"resumeColdHits", stats.resume_cold_hits}};
  return boost::json::serialize(object);
}

}  // namespace hearth::session
