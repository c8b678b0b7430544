#include "init/file_requests.h"

#include "init/directory_listing.h"
#include "init/file_changes.h"
#include "init/file_reading.h"
#include "init/file_removal.h"
#include "init/file_writing.h"
#include "init/tree_reading.h"
#include "init/tree_writing.h"
#include "wire/protocol_error.h"

#include <variant>

namespace hearth::init {
namespace {

using wire::FileProblem;

class Begin {
 public:
  Begin(StreamPort& stream_port, const std::string& root_path)
      : port_(stream_port), root_(root_path) {}

  std::unique_ptr<StreamWork> operator()(const wire::ReadFile& call) const {
    return std::make_unique<FileReading>(port_, root_, call);
  }
  std::unique_ptr<StreamWork> operator()(const wire::WriteFile& call) const {
    return std::make_unique<FileWriting>(port_, root_, call);
  }
  std::unique_ptr<StreamWork> operator()(const wire::ListFiles& call) const {
    return std::make_unique<DirectoryListing>(port_, root_, call);
  }
  std::unique_ptr<StreamWork> operator()(const wire::RemoveFile& call) const {
    return std::make_unique<FileRemoval>(port_, root_, call);
  }
  std::unique_ptr<StreamWork> operator()(const wire::ReadTree& call) const {
    return std::make_unique<TreeReading>(port_, root_, call);
  }
  std::unique_ptr<StreamWork> operator()(const wire::WriteTree& call) const {
    return std::make_unique<TreeWriting>(port_, root_, call);
  }
  std::unique_ptr<StreamWork> operator()(const wire::StatFile& call) const {
    FileWork::answer(port_, stat_file(root_, call));
    return over();
  }
  std::unique_ptr<StreamWork> operator()(const wire::MakeDirectory& call) const {
    make_directory(root_, call);
    return over();
  }
  std::unique_ptr<StreamWork> operator()(const wire::MoveFile& call) const {
    move_file(root_, call);
    return over();
  }
  std::unique_ptr<StreamWork> operator()(const wire::SetMode& call) const {
    set_mode(root_, call);
    return over();
  }

 private:
  std::unique_ptr<StreamWork> over() const {
    FileWork::done(port_);
    return nullptr;
  }

  StreamPort& port_;
  const std::string& root_;
};

// As in "cannot read data.csv".
struct Doing {
  std::string operator()(const wire::ReadFile& call) const { return "cannot read " + call.path; }
  std::string operator()(const wire::WriteFile& call) const { return "cannot write " + call.path; }
  std::string operator()(const wire::StatFile& call) const { return "cannot look at " + call.path; }
  std::string operator()(const wire::ListFiles& call) const { return "cannot list " + call.path; }
  std::string operator()(const wire::MakeDirectory& call) const {
    return "cannot make the directory " + call.path;
  }
  std::string operator()(const wire::MoveFile& call) const { return "cannot move " + call.from; }
  std::string operator()(const wire::SetMode& call) const {
    return "cannot change the mode of " + call.path;
  }
  std::string operator()(const wire::RemoveFile& call) const {
    return "cannot remove " + call.path;
  }
  std::string operator()(const wire::ReadTree& call) const {
    return "cannot read the tree " + call.path;
  }
  std::string operator()(const wire::WriteTree& call) const {
    return "cannot write the tree " + call.path;
  }
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
  return std::visit(Begin(port, root_), call);
} catch (const FileFailure& failure) {
  FileWork::fail(port, failure.problem, std::visit(Doing{}, call) + ": " + failure.what());
  return nullptr;
}

}  // namespace hearth::init
