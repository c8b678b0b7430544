#include "store/schema.h"

namespace hearth::store {

std::span<const Migration> migrations() {
  static const std::vector<Migration> all = {
      {
          "CREATE TABLE sessions ("
          " id TEXT PRIMARY KEY,"
          " owner TEXT NOT NULL,"
          " blueprint TEXT NOT NULL,"
          " state TEXT NOT NULL,"
          " generation BIGINT NOT NULL,"
          " created_at BIGINT NOT NULL,"
          " last_used_at BIGINT NOT NULL,"
          " expires_at BIGINT,"
          " interrupted BIGINT NOT NULL,"
          " details TEXT NOT NULL)",
          "CREATE INDEX sessions_by_age ON sessions (created_at, id)",
          "CREATE INDEX sessions_by_eviction ON sessions (" HEARTH_EVICTION_TIER
          ", last_used_at, id) WHERE state IN ('cold', 'warm', 'waiting')",
          "CREATE INDEX sessions_by_expiry ON sessions (expires_at) WHERE expires_at IS NOT NULL",
          "CREATE TABLE removed_sessions ("
          " id TEXT PRIMARY KEY,"
          " owner TEXT NOT NULL,"
          " removed_at BIGINT NOT NULL,"
          " reason TEXT NOT NULL)",
          "CREATE INDEX removed_sessions_by_age ON removed_sessions (removed_at)",
      },
  };
  return all;
}

}  // namespace hearth::store
