// cli/saved_displays.h: figures and other displays of a script as files.
#pragma once

#include "wire/messages.h"

#include <cstddef>
#include <string>
#include <vector>

namespace hearth::cli {

struct SavedDisplay {
  std::string name;    // "figure" of an image, else "display"
  std::string ending;  // ".png"
  std::string bytes;
};

// Each form of it but plain text, which a terminal has shown.
std::vector<SavedDisplay> files_of(const wire::Display& display);

}  // namespace hearth::cli
