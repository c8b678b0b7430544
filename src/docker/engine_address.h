// docker/engine_address.h: where a Docker engine listens.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hearth::docker {

struct EngineAddress {
  std::string socket{};  // the path of a Unix socket; else
  std::string host{};    // an address of this machine, and
  std::uint16_t port = 0;

  std::string text() const;  // as it is written in DOCKER_HOST
  bool operator==(const EngineAddress&) const = default;
};

// unix://PATH, or tcp://ADDRESS:PORT of this machine. Of no other machine: without TLS, everything
// on the way could control the engine. Throws Error.
EngineAddress parse_engine_address(std::string_view text);

// `configured` if it is not empty, else $DOCKER_HOST, else the usual socket. Throws Error.
EngineAddress choose_engine_address(const std::string& configured,
                                    const std::map<std::string, std::string>& environment);

// Why a connection to `address` failed with `error_number`, and what to do about it.
std::string explain_unreachable(const EngineAddress& address, int error_number, bool in_container);

// Whether this process runs in a container of its own.
bool runs_in_container();

}  // namespace hearth::docker
