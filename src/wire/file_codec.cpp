#include "wire/file_codec.h"

#include "base/base64.h"
#include "wire/file_path.h"
#include "wire/json_writer.h"
#include "wire/protocol_error.h"

#include <limits>
#include <utility>

namespace hearth::wire {
namespace {

// A name that is not UTF-8 travels as base64, under another key.
void append_bytes(std::string& out, std::string_view key, std::string_view bytes) {
  if (is_utf8(bytes)) return append_member(out, key, bytes);
  append_key(out, std::string(key) + "_base64");
  out += '"';
  append_base64(out, bytes);
  out += '"';
}

std::optional<std::string> take_optional_bytes(MemberReader& members, std::string_view key) {
  const std::string encoded_key = std::string(key) + "_base64";
  if (members.has(key)) return members.string(key);
  if (!members.has(encoded_key)) return std::nullopt;
  std::optional<std::string> bytes = decode_base64(members.string(encoded_key));
  if (!bytes) throw ProtocolError('"' + encoded_key + "\" must be base64");
  // So that each name has one spelling.
  if (is_utf8(*bytes)) throw ProtocolError('"' + encoded_key + "\" must not be UTF-8");
  return bytes;
}

std::string take_bytes(MemberReader& members, std::string_view key) {
  std::optional<std::string> bytes = take_optional_bytes(members, key);
  if (!bytes) throw ProtocolError('"' + std::string(key) + "\" is missing");
  return *std::move(bytes);
}

std::string take_path(MemberReader& members, std::string_view key) {
  std::string path = take_bytes(members, key);
  if (const std::string problem = problem_of_file_path(path); !problem.empty())
    throw ProtocolError('"' + std::string(key) + "\" " + problem);
  return path;
}

std::uint32_t small(std::string_view key, std::uint64_t value) {
  if (value > std::numeric_limits<std::uint32_t>::max())
    throw ProtocolError('"' + std::string(key) + "\" must have at most 32 bits");
  return static_cast<std::uint32_t>(value);
}

std::optional<std::uint32_t> take_mode(MemberReader& members) {
  const std::optional<std::uint64_t> mode = members.optional_count("mode");
  if (mode && *mode > 0777) throw ProtocolError("\"mode\" must be at most 511");
  return mode ? std::optional(static_cast<std::uint32_t>(*mode)) : std::nullopt;
}

ListFiles list_files(MemberReader& members) {
  ListFiles call;
  call.path = take_path(members, "path");
  call.depth = small("depth", members.count("depth"));
  if (call.depth == 0) throw ProtocolError("\"depth\" must be at least 1");
  call.glob = take_bytes(members, "glob");
  if (call.glob.size() > max_path_bytes) throw ProtocolError("\"glob\" is too long");
  call.limit = small("limit", members.count("limit"));
  if (call.limit == 0 || call.limit > max_listed_entries)
    throw ProtocolError("\"limit\" must be 1 to " + std::to_string(max_listed_entries));
  call.cursor = members.string("cursor");
  return call;
}

SetMode set_mode(MemberReader& members) {
  std::string path = take_path(members, "path");
  const std::optional<std::uint32_t> mode = take_mode(members);
  if (!mode) throw ProtocolError("\"mode\" is missing");
  return {std::move(path), *mode};
}

struct CallWriter {
  std::string& out;

  void operator()(const ReadFile& call) const {
    append_bytes(out, "path", call.path);
    append_number(out, "offset", call.offset);
    if (call.length) append_number(out, "length", *call.length);
  }
  void operator()(const WriteFile& call) const {
    append_bytes(out, "path", call.path);
    if (call.mode) append_number(out, "mode", *call.mode);
  }
  void operator()(const StatFile& call) const { append_bytes(out, "path", call.path); }
  void operator()(const ListFiles& call) const {
    append_bytes(out, "path", call.path);
    append_number(out, "depth", call.depth);
    append_bytes(out, "glob", call.glob);
    append_number(out, "limit", call.limit);
    append_member(out, "cursor", call.cursor);
  }
  void operator()(const MakeDirectory& call) const { append_bytes(out, "path", call.path); }
  void operator()(const MoveFile& call) const {
    append_bytes(out, "from", call.from);
    append_bytes(out, "to", call.to);
  }
  void operator()(const SetMode& call) const {
    append_bytes(out, "path", call.path);
    append_number(out, "mode", call.mode);
  }
  void operator()(const RemoveFile& call) const {
    append_bytes(out, "path", call.path);
    append_member(out, "recursive", call.recursive);
  }
  void operator()(const ReadTree& call) const {
    append_bytes(out, "path", call.path);
    append_number(out, "max_entries", call.max_entries);
    append_number(out, "max_bytes", call.max_bytes);
  }
  void operator()(const WriteTree& call) const { append_bytes(out, "path", call.path); }
};

}  // namespace

void append_entry(std::string& out, const FileEntry& entry) {
  out += R"({"type":")";
  out += enum_name(entry.kind);
  out += '"';
  append_bytes(out, "path", entry.path);
  append_number(out, "size_bytes", entry.size_bytes);
  append_number(out, "mode", entry.mode);
  append_number(out, "modified_ns", entry.modified_ns);
  if (entry.kind == FileKind::symlink) append_bytes(out, "target", entry.target);
  out += '}';
}

FileEntry decode_entry(std::string_view text) {
  MemberReader members(text);
  FileEntry entry;
  const std::string kind = members.string("type");
  const std::optional<FileKind> known = enum_value<FileKind>(kind);
  if (!known) throw ProtocolError("unknown type of file \"" + kind.substr(0, 40) + '"');
  entry.kind = *known;
  entry.path = take_path(members, "path");
  entry.size_bytes = members.count("size_bytes");
  entry.mode = small("mode", members.count("mode"));
  const std::optional<std::int64_t> modified = members.optional_integer("modified_ns");
  if (!modified) throw ProtocolError("\"modified_ns\" is missing");
  entry.modified_ns = *modified;
  if (entry.kind == FileKind::symlink) {
    std::optional<std::string> target = take_optional_bytes(members, "target");
    if (!target) throw ProtocolError("\"target\" is missing");
    entry.target = *std::move(target);
  }
  members.finish();
  return entry;
}

namespace {

struct AnswerWriter {
  std::string& out;

  void operator()(const FileEntry& entry) const {
    append_key(out, "entry");
    append_entry(out, entry);
  }
  void operator()(const FileEntries& answer) const {
    append_key(out, "entries");
    out += '[';
    for (const FileEntry& entry : answer.entries) {
      if (&entry != &answer.entries.front()) out += ',';
      append_entry(out, entry);
    }
    out += ']';
    append_member(out, "cursor", answer.cursor);
  }
  void operator()(const FileDone& /*answer*/) const {}
  void operator()(const FileFailed& answer) const {
    append_member(out, "error", enum_name(answer.problem));
    append_member(out, "message", answer.message);
  }
};

FileEntries decode_entries(MemberReader& members) {
  FileEntries page;
  const std::string list = members.json("entries", JsonKind::array);
  for (const JsonMember& element : parse_array(list, max_listed_entries)) {
    if (element.kind != JsonKind::object) throw ProtocolError("an entry is not an object");
    page.entries.push_back(decode_entry(element.text));
  }
  page.cursor = members.string("cursor");
  return page;
}

FileFailed decode_failed(MemberReader& members) {
  const std::string name = members.string("error");
  const std::optional<FileProblem> problem = enum_value<FileProblem>(name);
  if (!problem) throw ProtocolError("unknown error of files \"" + name.substr(0, 40) + '"');
  return {*problem, members.string("message")};
}

}  // namespace

StreamId take_stream(MemberReader& members, std::string_view key) {
  return small(key, members.count(key));
}

void append_members(std::string& out, const FileRequest& request) {
  append_number(out, "stream", request.stream);
  std::visit(CallWriter{out}, request.call);
}

void append_members(std::string& out, const FileAnswer& answer) {
  append_number(out, "stream", answer.stream);
  std::visit(AnswerWriter{out}, answer.body);
}

// Braced initialisers are evaluated from left to right, so the members are taken in the written
// order.
std::optional<FileRequest> decode_file_request(std::string_view type, MemberReader& members) {
  if (type == "read_file")
    return FileRequest{take_stream(members),
                       ReadFile{take_path(members, "path"), members.count("offset"),
                                members.optional_count("length")}};
  if (type == "write_file")
    return FileRequest{take_stream(members),
                       WriteFile{take_path(members, "path"), take_mode(members)}};
  if (type == "stat_file")
    return FileRequest{take_stream(members), StatFile{take_path(members, "path")}};
  if (type == "list_files") return FileRequest{take_stream(members), list_files(members)};
  if (type == "make_directory")
    return FileRequest{take_stream(members), MakeDirectory{take_path(members, "path")}};
  if (type == "move_file")
    return FileRequest{take_stream(members),
                       MoveFile{take_path(members, "from"), take_path(members, "to")}};
  if (type == "set_mode") return FileRequest{take_stream(members), set_mode(members)};
  if (type == "remove_file")
    return FileRequest{take_stream(members),
                       RemoveFile{take_path(members, "path"), members.boolean("recursive")}};
  if (type == "read_tree")
    return FileRequest{take_stream(members),
                       ReadTree{take_path(members, "path"), members.count("max_entries"),
                                members.count("max_bytes")}};
  if (type == "write_tree")
    return FileRequest{take_stream(members), WriteTree{take_path(members, "path")}};
  return std::nullopt;
}

std::optional<FileAnswer> decode_file_answer(std::string_view type, MemberReader& members) {
  if (type == "file_entry")
    return FileAnswer{take_stream(members), decode_entry(members.json("entry", JsonKind::object))};
  if (type == "file_entries") return FileAnswer{take_stream(members), decode_entries(members)};
  if (type == "file_done") return FileAnswer{take_stream(members), FileDone{}};
  if (type == "file_failed") return FileAnswer{take_stream(members), decode_failed(members)};
  return std::nullopt;
}

namespace {

struct CallName {
  std::string_view operator()(const ReadFile& /*call*/) const { return "read_file"; }
  std::string_view operator()(const WriteFile& /*call*/) const { return "write_file"; }
  std::string_view operator()(const StatFile& /*call*/) const { return "stat_file"; }
  std::string_view operator()(const ListFiles& /*call*/) const { return "list_files"; }
  std::string_view operator()(const MakeDirectory& /*call*/) const { return "make_directory"; }
  std::string_view operator()(const MoveFile& /*call*/) const { return "move_file"; }
  std::string_view operator()(const SetMode& /*call*/) const { return "set_mode"; }
  std::string_view operator()(const RemoveFile& /*call*/) const { return "remove_file"; }
  std::string_view operator()(const ReadTree& /*call*/) const { return "read_tree"; }
  std::string_view operator()(const WriteTree& /*call*/) const { return "write_tree"; }
};

struct AnswerName {
  std::string_view operator()(const FileEntry& /*answer*/) const { return "file_entry"; }
  std::string_view operator()(const FileEntries& /*answer*/) const { return "file_entries"; }
  std::string_view operator()(const FileDone& /*answer*/) const { return "file_done"; }
  std::string_view operator()(const FileFailed& /*answer*/) const { return "file_failed"; }
};

}  // namespace

std::string_view type_of(const FileCall& call) { return std::visit(CallName{}, call); }
std::string_view type_of(const FileAnswer& answer) { return std::visit(AnswerName{}, answer.body); }

}  // namespace hearth::wire
