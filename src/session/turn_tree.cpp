#include "session/turn_tree.h"

#include "base/base64.h"
#include "session/turn_tree_scripts.h"
#include "wire/protocol_error.h"

#include <fmt/format.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <charconv>
#include <utility>
#include <vector>

namespace hearth::session {
namespace {

namespace json = boost::json;

constexpr std::uint64_t batch_bytes = 4 << 20;
// Base64 and line ends around that, and one piece more.
constexpr std::uint64_t most_output_bytes = 8 << 20;
constexpr double turn_seconds = 60;

[[noreturn]] void reject(const std::string& why) {
  throw wire::ProtocolError("the workspace of a sandbox: " + why);
}

std::string bytes_in(std::string_view base64) {
  std::optional<std::string> bytes = decode_base64(base64);
  if (!bytes) reject("bytes that are not Base64");
  return *std::move(bytes);
}

Task<std::string> output_of(execution::ScriptExecutor& executor, std::string script,
                            const char* what) {
  wire::RunRequest request;
  request.script = std::move(script);
  request.timeout_seconds = turn_seconds;
  request.max_output_bytes = most_output_bytes;
  execution::ExecutionResult result = co_await executor.run(std::move(request));
  if (result.verdict == execution::Verdict::ok) co_return std::move(result.stdout_text);
  std::string why =
      result.error ? result.error->name + ": " + result.error->message : result.detail;
  throw Error(fmt::format("the workspace could not be {}: {} {}", what,
                          execution::name_of(result.verdict), why));
}

// ---- in

class Operations {
 public:
  void add(const std::string& operation) {
    if (!text_.empty()) text_ += ',';
    text_ += operation;
  }
  std::size_t size() const { return text_.size(); }
  bool is_empty() const { return text_.empty(); }
  std::string take_script() {
    return fmt::format("{}\nmain({}, r'''[{}]''')\n", write_tree_script, "'/workspace'",
                       std::exchange(text_, {}));
  }

 private:
  std::string text_;
};

std::string in_base64(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

// The text has nothing in it but JSON of letters, digits and "+/=-", which needs no escapes in
// Python.
std::string operation(char kind, const TreeEntry& entry) {
  return fmt::format(R"({{"k":"{}","p":"{}","m":{},"t":{},"l":"{}"}})", kind, in_base64(entry.path),
                     entry.mode & 0777U, entry.modified_ns, in_base64(entry.target));
}

class TreeWriter {
 public:
  explicit TreeWriter(backend::Sandbox& sandbox) : executor_(sandbox) {}

  Task<> write(TreeReader& tree) {
    std::vector<TreeEntry> directories;
    while (std::optional<TreeEntry> entry = co_await tree.next()) {
      if (entry->kind == TreeKind::file) {
        co_await write_file(*entry, tree);
      } else {
        operations_.add(operation(entry->kind == TreeKind::directory ? 'd' : 'l', *entry));
        co_await flush_if_full();
      }
      if (entry->kind == TreeKind::directory) directories.push_back(*std::move(entry));
    }
    // Their modes and times last, the innermost first: they may forbid what is written into them.
    while (!directories.empty()) {
      operations_.add(operation('m', directories.back()));
      directories.pop_back();
      co_await flush_if_full();
    }
    co_await flush();
  }

 private:
  Task<> write_file(const TreeEntry& entry, TreeReader& tree) {
    operations_.add(operation('f', entry));
    for (std::string bytes = co_await tree.read(); !bytes.empty(); bytes = co_await tree.read()) {
      operations_.add(R"({"k":"b","b":")" + in_base64(bytes) + R"("})");
      if (operations_.size() < batch_bytes) continue;
      co_await flush();
      operations_.add(operation('a', entry));
    }
    operations_.add(operation('e', entry));
    co_await flush_if_full();
  }
  Task<> flush_if_full() {
    if (operations_.size() >= batch_bytes) co_await flush();
  }
  Task<> flush() {
    if (operations_.is_empty()) co_return;
    co_await output_of(executor_, operations_.take_script(), "restored");
  }

  execution::ScriptExecutor executor_;
  Operations operations_;
};

}  // namespace

// ---- out

Task<std::optional<TreeEntry>> TurnTree::next() {
  while (true) {
    co_await fill();
    if (pieces_.empty()) co_return std::nullopt;
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (piece.entry) co_return std::move(piece.entry);
  }
}

Task<std::string> TurnTree::read() {
  co_await fill();
  if (pieces_.empty() || pieces_.front().entry) co_return std::string();
  std::string bytes = std::move(pieces_.front().bytes);
  pieces_.pop_front();
  co_return bytes;
}

Task<> TurnTree::fill() {
  if (!pieces_.empty() || is_over_) co_return;
  std::string script = fmt::format("{}\nmain(b'/workspace', {}, {}, {})\n", read_tree_script,
                                   entry_, offset_, batch_bytes);
  const std::string output = co_await output_of(executor_, std::move(script), "read");
  const std::pair before{entry_, offset_};
  bool has_end = false;
  std::string_view rest = output;
  while (!rest.empty() && !has_end) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) reject("a line without an end");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    has_end = line.starts_with("N ") || line == "Z";
    take_line(line);
  }
  if (!has_end || !rest.empty()) reject("an answer that is not whole");
  if (!is_over_ && std::pair{entry_, offset_} <= before) reject("an answer that goes nowhere");
}

void TurnTree::take_line(std::string_view line) {
  if (line.starts_with("D ")) {
    std::string bytes = bytes_in(line.substr(2));
    if (bytes.empty()) reject("a piece without bytes");
    pieces_.push_back({.bytes = std::move(bytes)});
  } else if (line.starts_with("E ")) {
    boost::system::error_code error;
    const json::value value = json::parse(json::string_view(line.substr(2)), error);
    if (error || !value.is_object()) reject("an entry that is not JSON");
    take_entry(value.get_object());
  } else if (line == "Z") {
    is_over_ = true;
  } else if (line.starts_with("N ")) {
    const char* end = line.data() + line.size();
    const auto entry = std::from_chars(line.data() + 2, end, entry_);
    const bool has_both = entry.ec == std::errc() && entry.ptr != end && *entry.ptr == ' ';
    if (!has_both || std::from_chars(entry.ptr + 1, end, offset_).ptr != end)
      reject("a place that is none");
  } else {
    reject("an unknown line");
  }
}

void TurnTree::take_entry(const json::object& object) try {
  TreeEntry entry;
  entry.path = bytes_in(object.at("path").as_string());
  const auto kind = enum_value<TreeKind>(std::string_view(object.at("type").as_string()));
  if (!kind) reject("an entry of an unknown type");
  entry.kind = *kind;
  entry.mode = object.at("mode").to_number<std::uint32_t>() & 0777U;
  entry.modified_ns = object.at("mtime").to_number<std::int64_t>();
  if (entry.kind == TreeKind::file) entry.size_bytes = object.at("size").to_number<std::uint64_t>();
  if (entry.kind == TreeKind::symlink) entry.target = bytes_in(object.at("target").as_string());
  pieces_.push_back({.entry = std::move(entry)});
} catch (const wire::ProtocolError&) {
  throw;
} catch (const std::exception&) {
  reject("an entry that lacks something");
}

Task<> write_by_turns(backend::Sandbox& sandbox, TreeReader& tree) {
  TreeWriter writer(sandbox);
  co_await writer.write(tree);
}

}  // namespace hearth::session
