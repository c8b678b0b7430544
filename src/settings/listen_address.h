// settings/listen_address.h: `host:port`, where a server listens.
#pragma once

#include <string>
#include <string_view>

namespace hearth::settings {

// Empty when it is an IP address (IPv6 in brackets) or `localhost`, and a port; else what is wrong,
// to be read after the key. Port 0 lets the kernel choose.
std::string problem_of_listen_address(std::string_view text);

}  // namespace hearth::settings
