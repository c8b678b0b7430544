#include "init/file_requests.h"

#include "init/file_failure.h"
#include "init/file_reading.h"
#include "init/file_writing.h"
#include "wire/protocol_error.h"

#include <variant>

namespace hearth::init {
namespace {

using wire::FileProblem;

struct Begin {
  StreamPort& port;
  const std::string& root;

  std::unique_ptr<StreamWork> operator()(const wire::ReadFile& call) const {
    return std::make_unique<FileReading>(port, root, call);
  }
  std::unique_ptr<StreamWork> operator()(const wire::WriteFile& call) const {
    return std::make_unique<FileWriting>(port, root, call);
  }
};

// As in "cannot read data.csv".
struct Doing {
  std::string operator()(const wire::ReadFile& call) const { return "cannot read " + call.path; }
  std::string operator()(const wire::WriteFile& call) const { return "cannot write " + call.path; }
};

}  // namespace

void FileRequests::accept(const wire::FileRequest& request, bool is_resetting) {
  if (streams_.is_open(request.stream)) throw wire::ProtocolError("the stream is open already");
  if (is_resetting || streams_.is_full()) {
    StreamPort port = streams_.refused(request.stream);
    return FileWork::fail(port, FileProblem::busy,
                          std::visit(Doing{}, request.call) + ": the sandbox is busy");
  }
  streams_.open(request.stream, [&](StreamPort& port) { return begin(port, request.call); });
}

std::unique_ptr<StreamWork> FileRequests::begin(StreamPort& port, const wire::FileCall& call) const
    try {
  return std::visit(Begin{port, root_}, call);
} catch (const FileFailure& failure) {
  FileWork::fail(port, failure.problem, std::visit(Doing{}, call) + ": " + failure.what());
  return nullptr;
}

}  // namespace hearth::init
