#include "tests/support/source_directory.h"

namespace hearth::test {

std::string source_directory() { return HEARTH_SOURCE_DIR; }

}  // namespace hearth::test
