// init/file_changes.h: requests about files that are one step: what they change, they change at
// once. All throw FileFailure.
#pragma once

#include "wire/messages.h"

#include <string>

namespace hearth::init {

wire::FileEntry stat_file(const std::string& root, const wire::StatFile& call);
void make_directory(const std::string& root, const wire::MakeDirectory& call);
void move_file(const std::string& root, const wire::MoveFile& call);
void set_mode(const std::string& root, const wire::SetMode& call);

}  // namespace hearth::init
