// init/file_requests.h: takes the host's requests about files. They are executed as the user of the
// scripts, behind the same mounts and filters as init itself has, and may do no more than a script.
#pragma once

#include "init/open_streams.h"
#include "wire/messages.h"

#include <memory>
#include <string>
#include <utility>

namespace hearth::init {

class FileRequests {
 public:
  // `root`: what relative paths are relative to. `streams` must outlive it.
  FileRequests(std::string root, OpenStreams& streams)
      : root_(std::move(root)), streams_(streams) {}

  // Throws ProtocolError if the stream is open already. `is_resetting`: refuses.
  void accept(const wire::FileRequest& request, bool is_resetting);

 private:
  std::unique_ptr<StreamWork> begin(StreamPort& port, const wire::FileCall& call) const;

  std::string root_;
  OpenStreams& streams_;
};

}  // namespace hearth::init
