// session/manifest.h: what a snapshot holds, as text: a line for the whole, a line for each entry,
// and a line that proves that the lines before it are whole.
#pragma once

#include "session/kept_variables.h"
#include "session/sha256.h"
#include "session/tree.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::session {

struct ManifestEntry {
  std::string path{};
  TreeKind kind = TreeKind::file;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 0;
  std::string content{};  // the SHA-256 of a file, the target of a link
  bool operator==(const ManifestEntry&) const = default;
};

struct Manifest {
  std::int64_t generation = 0;
  std::uint64_t archive_bytes = 0;
  std::string archive_sha256{};
  std::string variables_sha256{};        // of the pickle; empty: there is none
  std::vector<std::string> variables{};  // names of those in it
  std::vector<std::string> lost_variables{};
  std::vector<ManifestEntry> entries{};  // in the order of the archive
};

std::string to_text(const Manifest& manifest);
// Nothing if the text is not whole.
std::optional<Manifest> manifest_in(std::string_view text);

// Empty if there is none.
std::string sum_of_pickle(const KeptVariables& variables);

// True if both have the same entries, in whatever order.
bool same_content(const Manifest& one, const Manifest& other);

// Gathers entries while their bytes pass by.
class ManifestBuilder {
 public:
  void begin(const TreeEntry& entry);
  void data(std::string_view bytes);
  std::vector<ManifestEntry> finish();

 private:
  void end_file();
  std::vector<ManifestEntry> entries_;
  std::optional<Sha256> digest_;
};

}  // namespace hearth::session
