// blueprint/checks.h: the checks that several validators share.
#pragma once

#include "blueprint/problem.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::blueprint {

// The upper bounds keep later arithmetic (mebibytes to bytes) from overflowing and catch slips.
void check_range(Problems& problems, std::string_view field, std::int64_t value,
                 std::int64_t lowest, std::int64_t highest);

void check_ports(Problems& problems, const std::string& field,
                 const std::vector<std::int64_t>& ports);

// `[a-z0-9][a-z0-9_.-]{0,62}`, and no other than an image may have: fits into an image's name, a
// host name and a path.
void check_blueprint_name(Problems& problems, const std::string& field, std::string_view name);

// What engines accept as the name of an image without registry and tag: letters and digits with
// single separators between them.
bool is_image_path(std::string_view path);

void check_requirements(Problems& problems, std::string_view field,
                        const std::vector<std::string>& requirements);

void check_secret_names(Problems& problems, std::string_view field,
                        const std::vector<std::string>& names);

void check_no_duplicates(Problems& problems, std::string_view field,
                         const std::vector<std::string>& values);

}  // namespace hearth::blueprint
