// Any bytes as a blueprint's JSON: refused with a typed error, or read, written and read again
// without a difference.
#include "blueprint/config_json.h"
#include "blueprint/json_text.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace hearth::blueprint;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const SandboxConfig config = sandbox_config_from_json(text);
    if (sandbox_config_from_json(to_json(config)) != config) std::abort();
    if (!is_isolated(config) && allowlist_env(config.network_policy).empty()) std::abort();
  } catch (const JsonError& error) {
    if (error.line == 0) std::abort();
  } catch (const ConfigError& error) {
    if (error.problems.empty()) std::abort();
  }
  return 0;
}
