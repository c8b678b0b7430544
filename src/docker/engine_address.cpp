#include "docker/engine_address.h"

#include "base/error.h"
#include "os/in_container.h"

#include <cerrno>
#include <charconv>
#include <cstring>

namespace hearth::docker {
namespace {

constexpr std::string_view usual_socket = "/var/run/docker.sock";

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error("the engine's address \"" + std::string(text) + "\" " + why);
}

EngineAddress parse_tcp(std::string_view text, std::string_view rest) {
  const std::size_t colon = rest.rfind(':');
  std::string_view host = rest.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  if (host != "::1" && !host.starts_with("127."))
    refuse(text, "is not on this machine: only a loopback address is safe without TLS");
  const std::string_view digits =
      colon == std::string_view::npos ? std::string_view("2375") : rest.substr(colon + 1);
  EngineAddress address{.host = std::string(host)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc() || end != digits.data() + digits.size() || address.port == 0)
    refuse(text, "has no port from 1 to 65535");
  return address;
}

}  // namespace

std::string EngineAddress::text() const {
  if (!socket.empty()) return "unix://" + socket;
  const bool is_v6 = host.find(':') != std::string::npos;
  return "tcp://" + (is_v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

EngineAddress parse_engine_address(std::string_view text) {
  constexpr std::string_view local = "unix://";
  constexpr std::string_view remote = "tcp://";
  if (text.starts_with(local)) {
    const std::string_view path = text.substr(local.size());
    if (!path.starts_with('/')) refuse(text, "needs an absolute path after unix://");
    return {.socket = std::string(path)};
  }
  if (text.starts_with(remote)) return parse_tcp(text, text.substr(remote.size()));
  refuse(text, "must begin with unix:// or tcp://");
}

EngineAddress choose_engine_address(const std::string& configured,
                                    const std::map<std::string, std::string>& environment) {
  if (!configured.empty()) return parse_engine_address(configured);
  const auto found = environment.find("DOCKER_HOST");
  if (found != environment.end() && !found->second.empty())
    return parse_engine_address(found->second);
  return {.socket = std::string(usual_socket)};
}

std::string explain_unreachable(const EngineAddress& address, int error_number, bool in_container) {
  std::string text = "the Docker engine at " + address.text() + " cannot be reached (" +
                     std::strerror(error_number) + "): ";
  if (address.socket.empty())
    return text + "start an engine that listens there, or set DOCKER_HOST to where one does";
  if (error_number == EACCES || error_number == EPERM)
    return text + (in_container ? "run this container with the group that owns the socket "
                                  "(--group-add), or as root"
                                : "add this user to the group that owns the socket (usermod -aG "
                                  "docker NAME, then log in again), or run as root");
  if (error_number == ENOENT && in_container)
    return text + "this is a container without the host's socket: start it with -v " +
           address.socket + ':' + address.socket;
  if (error_number == ENOENT)
    return text + "install and start Docker, or set DOCKER_HOST to where an engine listens";
  return text + "start the engine (systemctl start docker)";
}

bool runs_in_container() { return os::runs_in_container(); }

}  // namespace hearth::docker
