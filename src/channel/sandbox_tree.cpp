#include "channel/sandbox_tree.h"

#include "base/error.h"
#include "channel/file_answer.h"
#include "wire/protocol_error.h"

#include <utility>
#include <variant>

namespace hearth {

using wire::FileKind;
using wire::FileProblem;

SandboxTree::SandboxTree(std::unique_ptr<DataStream> stream, TreeLimits limits)
    : stream_(std::move(stream)), limits_(limits) {}

// A piece, unless it is over.
Task<> SandboxTree::fill() {
  while (!piece_ && !is_over_) {
    piece_ = pieces_.next();
    if (piece_) co_return;
    DataStream::Part part = co_await stream_->receive();
    if (const auto* bytes = std::get_if<std::string>(&part)) {
      pieces_.append(*bytes);
      continue;
    }
    is_over_ = true;
    if (!std::holds_alternative<wire::FileDone>(answer_in(std::move(part))) || !pieces_.is_whole())
      throw wire::ProtocolError("a tree that ends inside of an entry");
  }
}

Task<std::optional<wire::FileEntry>> SandboxTree::next() {
  while (true) {
    co_await fill();
    if (is_over_) co_return std::nullopt;
    std::optional<wire::FileEntry> entry = std::move(piece_->entry);
    piece_.reset();
    if (!entry) continue;
    check(*entry);
    co_return entry;
  }
}

// The sandbox ends a tree at the limits itself.
void SandboxTree::check(wire::FileEntry& entry) {
  entry.mode &= 0777;
  if (entry.kind != FileKind::file) entry.size_bytes = 0;
  if (limits_.max_entries == 0 || entry.size_bytes > limits_.max_bytes)
    throw wire::ProtocolError("a tree beyond its limits");
  --limits_.max_entries;
  limits_.max_bytes -= entry.size_bytes;
}

Task<std::string> SandboxTree::read() {
  co_await fill();
  if (is_over_ || piece_->entry) co_return std::string();
  std::string bytes(piece_->bytes);
  piece_.reset();
  co_return bytes;
}

namespace {

Task<> send(DataStream& stream, std::string& bytes) {
  if (!co_await stream.write(bytes)) {
    answer_in(co_await stream.receive());
    throw wire::ProtocolError("an answer before the end of the data");
  }
  bytes.clear();
}

Task<> send_file(DataStream& stream, TreeReader& tree, const wire::FileEntry& entry,
                 std::string& gathered) {
  std::uint64_t left = entry.size_bytes;
  for (std::string bytes = co_await tree.read(); !bytes.empty(); bytes = co_await tree.read()) {
    if (bytes.size() > left) throw Error(entry.path + " has more bytes than it was said to have");
    left -= bytes.size();
    gathered += bytes;
    if (gathered.size() >= wire::max_frame_bytes) co_await send(stream, gathered);
  }
  if (left > 0) throw Error(entry.path + " has fewer bytes than it was said to have");
}

}  // namespace

Task<> send_tree(DataStream& stream, TreeReader& tree) {
  std::string gathered;
  while (const std::optional<wire::FileEntry> entry = co_await tree.next()) {
    wire::append_tree_line(gathered, *entry);
    if (entry->kind == FileKind::file) co_await send_file(stream, tree, *entry, gathered);
    if (gathered.size() >= wire::max_frame_bytes) co_await send(stream, gathered);
  }
  if (!gathered.empty()) co_await send(stream, gathered);
  co_await stream.end();
  co_await receive_answer<wire::FileDone>(stream);
}

}  // namespace hearth
