// init/file_work.h: a request about files that takes more than a moment.
#pragma once

#include "init/open_streams.h"
#include "init/stream_port.h"
#include "wire/messages.h"

#include <string>
#include <string_view>
#include <utility>

namespace hearth::init {

// What its functions throw as FileFailure becomes the last answer.
class FileWork : public StreamWork {
 public:
  // `doing` as in "cannot read data.csv", for messages.
  FileWork(StreamPort& port, std::string doing) : port_(port), doing_(std::move(doing)) {}

  void advance() final;
  void take(std::string_view bytes) final;
  void take_end() final;
  void interrupt() final;

  // The answers of a request, the last of which closes the port.
  static void answer(StreamPort& port, wire::FileEntry entry);
  static void done(StreamPort& port);
  static void fail(StreamPort& port, wire::FileProblem problem, std::string message);

 protected:
  virtual void work() {}
  // Called for a request that has no data, too: it then ignores them.
  virtual void write(std::string_view /*bytes*/) {}
  virtual void finish() {}
  StreamPort& port() { return port_; }
  const StreamPort& port() const { return port_; }

 private:
  template <typename Step>
  void guard(Step step);

  StreamPort& port_;
  std::string doing_;
};

}  // namespace hearth::init
