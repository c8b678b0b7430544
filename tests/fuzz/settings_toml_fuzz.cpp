// Any bytes as hearth.toml: refused with places in the file, or loaded, printed and loaded again
// without a difference.
#include "settings/load.h"
#include "settings/print_toml.h"

#include <cstdint>
#include <cstdlib>
#include <string>

using namespace hearth::settings;

namespace {

LoadedSettings load(std::string text) {
  return load_settings({"/etc/hearth/hearth.toml", std::move(text), {}, {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Settings settings = load({reinterpret_cast<const char*>(data), size}).settings;
    if (load(print_toml(settings, {})).settings != settings) std::abort();
  } catch (const SettingsError& error) {
    if (error.diagnostics.empty()) std::abort();
    for (const Diagnostic& diagnostic : error.diagnostics) {
      if (diagnostic.line == 0 || render(diagnostic, true).empty()) std::abort();
    }
  }
  return 0;
}
