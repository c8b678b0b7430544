#include "init/file_work.h"

#include "files/file_failure.h"

namespace hearth::init {

template <typename Step>
void FileWork::guard(Step step) {
  if (port_.is_closed()) return;
  try {
    step();
  } catch (const files::FileFailure& failure) {
    fail(port_, failure.problem, doing_ + ": " + failure.what());
  }
}

void FileWork::advance() {
  guard([this] { work(); });
}

void FileWork::take(std::string_view bytes) {
  guard([this, bytes] { write(bytes); });
}

void FileWork::take_end() {
  guard([this] { finish(); });
}

void FileWork::interrupt() {
  fail(port_, wire::FileProblem::busy, doing_ + ": the sandbox is reset");
}

void FileWork::answer(StreamPort& port, wire::FileEntry entry) {
  port.send(wire::FileAnswer{port.id(), std::move(entry)});
}

void FileWork::done(StreamPort& port) {
  port.send(wire::FileAnswer{port.id(), wire::FileDone{}});
  port.close();
}

void FileWork::fail(StreamPort& port, wire::FileProblem problem, std::string message) {
  port.send(wire::FileAnswer{port.id(), wire::FileFailed{problem, std::move(message)}});
  port.close();
}

}  // namespace hearth::init
