// cli/session_view.h: sessions as `hearth session` shows them.
#pragma once

#include "session/session_types.h"

#include <boost/json/object.hpp>

#include <string>
#include <vector>

namespace hearth::cli {

boost::json::object session_json(const session::SessionView& view);
std::string session_lines(const session::SessionView& view);
std::string session_table(const std::vector<session::SessionView>& views);
boost::json::object resumed_json(const session::ResumeAnswer& answer);
std::string stats_lines(const session::SessionStats& stats);

}  // namespace hearth::cli
