// Any bytes as a tree from a sandbox, written onto the host: nothing appears outside of its
// directory, and nothing in it that is a device, has a set-uid bit, or is a link that leads out.
//
// The first byte says how the rest is read: as the stream itself, or as short orders for entries,
// which reach further than a stream that a fuzzer has to spell.
#include "files/directory_walk.h"
#include "files/tree_writer.h"
#include "tests/support/temporary_directory.h"
#include "wire/protocol_error.h"
#include "wire/tree_stream.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

using namespace hearth;
using namespace hearth::files;
namespace fs = std::filesystem;

namespace {

// What is there before: links out of the target that were not made by the tree, files, a directory.
struct Place {
  test::TemporaryDirectory directory;
  fs::path target = fs::canonical(directory.path()) / "target";
  fs::path outside = directory.path() / "outside";

  Place() {
    fs::create_directory(outside);
    std::ofstream(outside / "f") << "untouched";
  }
  void renew() const {
    fs::remove_all(target);
    fs::create_directories(target / "d");
    std::ofstream(target / "f") << "there before";
    fs::create_directory_symlink("../outside", target / "out");
    fs::create_directory_symlink("../../outside", target / "d/out");
  }
  void remove_links_of_before() const {
    for (const auto& [name, leads_to] :
         {std::pair{"out", "../outside"}, {"d/out", "../../outside"}}) {
      std::error_code none;
      if (fs::read_symlink(target / name, none) == leads_to) fs::remove(target / name);
    }
  }

  void check() const {
    if (std::distance(fs::directory_iterator(directory.path()), {}) != 2) std::abort();
    if (std::distance(fs::directory_iterator(outside), {}) != 1) std::abort();
    std::ifstream in(outside / "f");
    if (std::string{std::istreambuf_iterator<char>(in), {}} != "untouched") std::abort();
    remove_links_of_before();
    for (const auto& entry : fs::recursive_directory_iterator(target)) check(entry.path());
  }
  void check(const fs::path& path) const {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) std::abort();
    const bool is_known =
        S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode);
    if (!is_known || (!S_ISLNK(status.st_mode) && (status.st_mode & 07000) != 0)) std::abort();
    // As the kernel resolves it, not as the writer judged it.
    std::error_code dangles;
    const fs::path leads_to = fs::canonical(path, dangles);
    if (!dangles && leads_to != target && !leads_to.string().starts_with(target.string() + '/'))
      std::abort();
  }
};

void take(TreeWriter& writer, const wire::TreeStreamReader::Piece& piece) {
  if (piece.entry) {
    writer.begin(*piece.entry);
  } else {
    writer.data(piece.bytes);
  }
}

void write_stream(TreeWriter& writer, std::string_view bytes) {
  wire::TreeStreamReader reader;
  while (!bytes.empty()) {
    reader.append(bytes.substr(0, 100));
    bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 100));
    while (const auto piece = reader.next()) take(writer, *piece);
  }
}

// Six bytes for an entry: its kind, its path of at most three components, its mode, its target.
void write_orders(TreeWriter& writer, std::string_view bytes) {
  static const std::array<std::string, 12> components{"d",
                                                      "f",
                                                      "out",
                                                      "x",
                                                      "..",
                                                      ".",
                                                      "",
                                                      "y",
                                                      std::string(255, 'n'),
                                                      std::string(256, 'n'),
                                                      std::string("..\0", 3),
                                                      "\xff"};
  static const std::array<std::string, 12> targets{
      "..", "../outside", "/",         "d/..", "d/../..", "x",
      "f",  "",           "../../out", ".",    "out/f",   std::string("..\0x", 4)};
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  for (; bytes.size() >= 6; bytes.remove_prefix(6)) {
    wire::FileEntry entry;
    entry.kind = static_cast<wire::FileKind>(at(0) % 4);
    entry.path = components[at(1) % components.size()];
    for (const std::size_t part : {2, 3})
      if (at(part) % 2 == 1) entry.path += '/' + components[at(part) / 2 % components.size()];
    entry.mode = at(4) * 16U;
    entry.target = targets[at(5) % targets.size()];
    entry.size_bytes = entry.kind == wire::FileKind::file ? at(5) % 3 : 0;
    writer.begin(entry);
    if (entry.size_bytes > 0) writer.data(std::string_view("hi").substr(0, entry.size_bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  place.renew();
  try {
    TreeWriter writer(open_directory(AT_FDCWD, place.target.c_str()),
                      bytes[0] % 4 < 2 ? TreeRules::onto_host : TreeRules::onto_host_replacing);
    if (bytes[0] % 2 == 0) {
      write_stream(writer, bytes.substr(1));
    } else {
      write_orders(writer, bytes.substr(1));
    }
    writer.finish();
  } catch (const wire::ProtocolError&) {  // NOLINT: what a hostile sandbox is worth
  } catch (const FileFailure&) {          // NOLINT
  }
  place.check();
  return 0;
}
