// tests/support/source_directory.h: where the source tree is, for tests that read its documents and
// scripts.
#pragma once

#include <string>

namespace hearth::test {

std::string source_directory();

}  // namespace hearth::test
