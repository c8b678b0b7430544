// settings/settings_fields.h: the keys of hearth.toml by name, said once; see blueprint/fields.h.
#pragma once

#include "settings/settings.h"

#include <string_view>

namespace hearth::settings {

template <blueprint::MaybeConst<LogSettings> Self, typename Visit>
void for_each_field(Self& log, Visit&& visit) {
  visit("level", log.level);
  visit("format", log.format);
}

template <blueprint::MaybeConst<StateSettings> Self, typename Visit>
void for_each_field(Self& state, Visit&& visit) {
  visit("dir", state.dir);
}

template <blueprint::MaybeConst<PoolSettings> Self, typename Visit>
void for_each_field(Self& pool, Visit&& visit) {
  visit("backend", pool.backend);
  visit("max_overflow", pool.max_overflow);
  visit("max_uses", pool.max_uses);
  visit("checkout_timeout_ms", pool.checkout_timeout_ms);
  visit("memory_budget_mb", pool.memory_budget_mb);
  visit("idle_memory_mb", pool.idle_memory_mb);
  visit("max_age_sec", pool.max_age_sec);
  visit("probe_after_sec", pool.probe_after_sec);
  visit("replacement_delay_ms", pool.replacement_delay_ms);
}

template <blueprint::MaybeConst<BuilderSettings> Self, typename Visit>
void for_each_field(Self& builder, Visit&& visit) {
  visit("index_url", builder.index_url);
  visit("find_links", builder.find_links);
  visit("no_index", builder.no_index);
  visit("allow_source_builds", builder.allow_source_builds);
  visit("build_timeout_sec", builder.build_timeout_sec);
  visit("build_memory_mb", builder.build_memory_mb);
}

template <blueprint::MaybeConst<NativeSettings> Self, typename Visit>
void for_each_field(Self& native, Visit&& visit) {
  visit("allow_degraded", native.allow_degraded);
  visit("zygote", native.zygote);
  visit("large_pages", native.large_pages);
}

template <blueprint::MaybeConst<DockerSettings> Self, typename Visit>
void for_each_field(Self& docker, Visit&& visit) {
  visit("host", docker.host);
  visit("runtime", docker.runtime);
  visit("base_image", docker.base_image);
  visit("build_image", docker.build_image);
  visit("image_prefix", docker.image_prefix);
  visit("build_network", docker.build_network);
  visit("tools", docker.tools);
}

template <blueprint::MaybeConst<SessionSettings> Self, typename Visit>
void for_each_field(Self& session, Visit&& visit) {
  visit("max_sandboxes", session.max_sandboxes);
  visit("max_live", session.max_live);
  visit("idle_timeout_ms", session.idle_timeout_ms);
  visit("sweep_interval_ms", session.sweep_interval_ms);
  visit("gone_for_sec", session.gone_for_sec);
  visit("snapshots_dir", session.snapshots_dir);
  visit("max_snapshot_mb", session.max_snapshot_mb);
  visit("max_snapshot_files", session.max_snapshot_files);
}

template <blueprint::MaybeConst<StoreSettings> Self, typename Visit>
void for_each_field(Self& store, Visit&& visit) {
  visit("url", store.url);
  visit("time_limit_ms", store.time_limit_ms);
}

template <blueprint::MaybeConst<SecretSource> Self, typename Visit>
void for_each_field(Self& source, Visit&& visit) {
  visit("env", source.env);
  visit("file", source.file);
}

template <blueprint::MaybeConst<ToolDeclaration> Self, typename Visit>
void for_each_field(Self& tool, Visit&& visit) {
  visit("name", tool.config.name);
  visit("file", tool.file);
  visit("blueprints", tool.config.blueprints);
  visit("packages", tool.config.packages);
  visit("secrets", tool.config.secrets);
}

// The sections whose keys the environment and the command line may override.
template <blueprint::MaybeConst<Settings> Self, typename Visit>
void for_each_section(Self& settings, Visit&& visit) {
  visit("log", settings.log);
  visit("state", settings.state);
  visit("pool", settings.pool);
  visit("builder", settings.builder);
  visit("native", settings.native);
  visit("docker", settings.docker);
  visit("session", settings.session);
  visit("store", settings.store);
}

template <blueprint::MaybeConst<Settings> Self, typename Visit>
void for_each_field(Self& settings, Visit&& visit) {
  for_each_section(settings, visit);
  visit("host_path_map", settings.host_path_map);
  visit("secrets", settings.secrets);
  visit("blueprint", settings.blueprints);
  visit("tool", settings.tools);
}

}  // namespace hearth::settings
