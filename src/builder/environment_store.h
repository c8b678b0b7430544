// builder/environment_store.h: which environments there are, and which may go. In the calling
// thread.
#pragma once

#include "builder/build_environment.h"
#include "builder/sandbox_builder.h"
#include "builder/use_records.h"
#include "os/file_lock.h"

#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace hearth::builder {

// While this lock is held, by any number of holders, that environment is not removed, whether it
// exists yet or not. Nothing when asked to stop.
std::optional<os::FileLock> use_environment(const BuildOptions& options,
                                            const std::string& checksum,
                                            const std::stop_token& stop);

std::vector<Built> list_environments(const BuildOptions& options,
                                     const std::set<std::string>& wanted);

// Removes those that are neither wanted nor in use, as `how` says; returns their directories.
std::vector<std::string> prune_environments(const BuildOptions& options,
                                            const std::set<std::string>& wanted, Prune how);

// While this lock is held, nothing else uses that environment. Nothing when something does.
std::optional<os::FileLock> own_environment(const BuildOptions& options,
                                            const std::string& checksum);

UseRecords records_of(const BuildOptions& options);

}  // namespace hearth::builder
