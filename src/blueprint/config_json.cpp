#include "blueprint/config_json.h"

#include "blueprint/decode.h"
#include "blueprint/encode.h"
#include "blueprint/json_text.h"

#include <utility>

namespace hearth::blueprint {

std::string to_json(const SandboxConfig& config) { return print_json(encode(config)); }

SandboxConfig sandbox_config_from_json(std::string_view text) {
  const boost::json::value tree = parse_json(text);
  Decoder decoder;
  SandboxConfig config;
  decoder.read(tree, Path{}, config);
  if (!decoder.problems().empty()) {
    // A value that could not be read keeps its default, so these say nothing wrong.
    append_under(decoder.problems(), "", problems_of(config));
    throw ConfigError("blueprint " + in_quotes(config.name), std::move(decoder.problems()));
  }
  return validated(std::move(config));
}

}  // namespace hearth::blueprint
