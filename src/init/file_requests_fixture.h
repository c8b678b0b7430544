// init/file_requests_fixture.h: a directory as a workspace, and requests about its files as a host
// would make them.
#pragma once

#include "init/file_requests.h"
#include "os/pairs.h"
#include "tests/support/temporary_directory.h"
#include "wire/decode.h"
#include "wire/message_reader.h"

#include <sys/socket.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth::init {

// What one request was answered.
struct Answers {
  std::optional<wire::FileEntry> entry;
  wire::FileEntries page;
  std::string data;
  std::string error;  // the kind, a colon and the message; empty for FileDone
  std::uint64_t granted = 0;
  bool is_over = false;
};

struct Workspace {
  test::TemporaryDirectory directory;
  os::SocketPair pair = os::make_socket_pair(SOCK_STREAM);
  HostLink host{pair.ours.get(), pair.ours.get()};
  OpenStreams streams{host};
  FileRequests files{directory.path(), streams};
  wire::StreamId next = 1;

  std::filesystem::path at(const std::string& name) const { return directory.path() / name; }

  // Adds what init has said of a stream since the last call.
  void collect(Answers& answers) {
    wire::MessageReader reader(1 << 20);
    reader.append(std::exchange(host.outgoing(), {}));
    while (const auto message = reader.next()) {
      CHECK_FALSE(answers.is_over);
      if (message->stream) {
        answers.data += message->text;
        continue;
      }
      const wire::Event event = wire::decode_event(message->text);
      if (const auto* window = std::get_if<wire::Window>(&event.body)) {
        answers.granted += window->bytes;
        continue;
      }
      const auto& body = std::get<wire::FileAnswer>(event.body).body;
      if (const auto* entry = std::get_if<wire::FileEntry>(&body)) {
        answers.entry = *entry;
        continue;
      }
      if (const auto* page = std::get_if<wire::FileEntries>(&body)) {
        answers.page = *page;
        continue;
      }
      answers.is_over = true;
      if (const auto* failed = std::get_if<wire::FileFailed>(&body))
        answers.error = std::string(enum_name(failed->problem)) + ": " + failed->message;
    }
  }

  Answers write(const wire::WriteFile& call, const std::vector<std::string>& pieces) {
    Answers answers;
    const wire::StreamId id = next++;
    files.accept({id, call}, false);
    for (const std::string& piece : pieces) streams.take_data(id, piece);
    streams.accept(wire::End{id});
    collect(answers);
    CHECK(answers.is_over);
    CHECK_FALSE(streams.is_open(id));
    return answers;
  }
  std::string write(const std::string& path, const std::string& data) {
    return write(wire::WriteFile{path}, {data}).error;
  }

  Answers read(const wire::ReadFile& call) { return ask(call); }
  Answers ask(const wire::FileCall& call) {
    Answers answers;
    const wire::StreamId id = next++;
    files.accept({id, call}, false);
    collect(answers);
    while (streams.is_ready()) {
      streams.advance();
      const std::size_t before = answers.data.size();
      collect(answers);
      if (answers.data.size() > before)
        streams.accept(wire::Window{id, answers.data.size() - before});
    }
    CHECK(answers.is_over);
    return answers;
  }

  // The paths of all pages, each page of `limit`.
  std::vector<std::string> list(wire::ListFiles call) {
    std::vector<std::string> paths;
    do {
      const Answers answers = ask(call);
      CHECK(answers.error == "");
      CHECK(answers.page.entries.size() <= call.limit);
      for (const wire::FileEntry& entry : answers.page.entries) paths.push_back(entry.path);
      call.cursor = answers.page.cursor;
    } while (!call.cursor.empty());
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  std::size_t names() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory.path()), {}));
  }
};

}  // namespace hearth::init
