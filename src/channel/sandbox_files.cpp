#include "channel/sandbox_files.h"

#include "channel/data_stream.h"
#include "channel/file_answer.h"
#include "channel/sandbox_tree.h"
#include "wire/file_path.h"
#include "wire/protocol_error.h"

#include <utility>
#include <variant>

namespace hearth {
namespace {

using wire::FileProblem;

void check_path(const std::string& path) {
  if (const std::string problem = wire::problem_of_file_path(path); !problem.empty())
    throw FileError(FileProblem::invalid_path, "the path of a file in a sandbox " + problem);
}

}  // namespace

FileReader::FileReader() = default;
FileReader::FileReader(std::unique_ptr<DataStream> stream, wire::FileEntry entry)
    : stream_(std::move(stream)), entry_(std::move(entry)) {}
FileReader::FileReader(FileReader&& other) noexcept = default;
FileReader::~FileReader() = default;

Task<std::string> FileReader::next() {
  if (is_over_) co_return std::string();
  DataStream::Part part = co_await stream_->receive();
  if (auto* bytes = std::get_if<std::string>(&part)) co_return std::move(*bytes);
  is_over_ = true;
  if (!std::holds_alternative<wire::FileDone>(answer_in(std::move(part))))
    throw wire::ProtocolError("an answer to another request");
  co_return std::string();
}

FileWriter::FileWriter() = default;
FileWriter::FileWriter(std::unique_ptr<DataStream> stream) : stream_(std::move(stream)) {}
FileWriter::FileWriter(FileWriter&& other) noexcept = default;
FileWriter::~FileWriter() = default;

Task<> FileWriter::append(std::string_view bytes) {
  if (co_await stream_->write(bytes)) co_return;
  answer_in(co_await stream_->receive());
  throw wire::ProtocolError("an answer before the end of the data");
}

Task<wire::FileEntry> FileWriter::finish() {
  co_await stream_->end();
  wire::FileEntry entry = co_await receive_answer<wire::FileEntry>(*stream_);
  co_await receive_answer<wire::FileDone>(*stream_);
  co_return entry;
}

Task<std::unique_ptr<DataStream>> SandboxFiles::start(wire::FileCall call) {
  auto stream = std::make_unique<DataStream>(*channel_);
  co_await stream->open(wire::FileRequest{stream->id(), std::move(call)});
  co_return stream;
}

Task<FileReader> SandboxFiles::open(std::string path, std::uint64_t offset,
                                    std::optional<std::uint64_t> length) {
  check_path(path);
  std::unique_ptr<DataStream> stream =
      co_await start(wire::ReadFile{std::move(path), offset, length});
  wire::FileEntry entry = co_await receive_answer<wire::FileEntry>(*stream);
  co_return FileReader(std::move(stream), std::move(entry));
}

Task<std::string> SandboxFiles::read(std::string path, std::uint64_t max_bytes) {
  FileReader reader = co_await open(std::move(path), 0, max_bytes);
  if (reader.entry().size_bytes > max_bytes)
    throw FileError(FileProblem::too_large,
                    reader.entry().path + " has more than " + std::to_string(max_bytes) + " bytes");
  std::string content;
  for (std::string bytes = co_await reader.next(); !bytes.empty(); bytes = co_await reader.next())
    content += bytes;
  co_return content;
}

Task<FileWriter> SandboxFiles::create(std::string path, std::optional<std::uint32_t> mode) {
  check_path(path);
  if (mode) *mode &= 0777;
  co_return FileWriter(co_await start(wire::WriteFile{std::move(path), mode}));
}

Task<> SandboxFiles::ask(wire::FileCall call) {
  const std::unique_ptr<DataStream> stream = co_await start(std::move(call));
  co_await receive_answer<wire::FileDone>(*stream);
}

Task<wire::FileEntry> SandboxFiles::stat(std::string path) {
  check_path(path);
  const std::unique_ptr<DataStream> stream = co_await start(wire::StatFile{std::move(path)});
  wire::FileEntry entry = co_await receive_answer<wire::FileEntry>(*stream);
  co_await receive_answer<wire::FileDone>(*stream);
  co_return entry;
}

Task<wire::FileEntries> SandboxFiles::list(wire::ListFiles call) {
  check_path(call.path);
  const std::unique_ptr<DataStream> stream = co_await start(std::move(call));
  wire::FileEntries page = co_await receive_answer<wire::FileEntries>(*stream);
  co_await receive_answer<wire::FileDone>(*stream);
  co_return page;
}

Task<std::unique_ptr<TreeReader>> SandboxFiles::read_tree(std::string path, TreeLimits limits) {
  check_path(path);
  std::unique_ptr<DataStream> stream =
      co_await start(wire::ReadTree{std::move(path), limits.max_entries, limits.max_bytes});
  co_await receive_answer<wire::FileEntry>(*stream);
  co_return std::make_unique<SandboxTree>(std::move(stream), limits);
}

Task<> SandboxFiles::write_tree(std::string path, TreeReader& tree) {
  check_path(path);
  const std::unique_ptr<DataStream> stream = co_await start(wire::WriteTree{std::move(path)});
  co_await send_tree(*stream, tree);
}

Task<> SandboxFiles::make_directory(std::string path) {
  check_path(path);
  co_await ask(wire::MakeDirectory{std::move(path)});
}

Task<> SandboxFiles::move(std::string from, std::string to) {
  check_path(from);
  check_path(to);
  co_await ask(wire::MoveFile{std::move(from), std::move(to)});
}

Task<> SandboxFiles::set_mode(std::string path, std::uint32_t mode) {
  check_path(path);
  co_await ask(wire::SetMode{std::move(path), mode & 0777});
}

Task<> SandboxFiles::remove(std::string path, bool recursive) {
  check_path(path);
  co_await ask(wire::RemoveFile{std::move(path), recursive});
}

Task<wire::FileEntry> SandboxFiles::write(std::string path, std::string_view content,
                                          std::optional<std::uint32_t> mode) {
  FileWriter writer = co_await create(std::move(path), mode);
  co_await writer.append(content);
  co_return co_await writer.finish();
}

}  // namespace hearth
