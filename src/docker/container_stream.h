// docker/container_stream.h: the conversation with an attached container.
#pragma once

#include "channel/message_stream.h"
#include "docker/http_connection.h"
#include "docker/line_reader.h"

#include <array>
#include <functional>
#include <string>

namespace hearth::docker {

class ContainerStream : public MessageStream {
 public:
  // `at_end` is awaited before fill() reports the end of the stream, so that the reason is known by
  // then. Not after hang_up().
  using AtEnd = std::function<Task<>()>;
  ContainerStream(HttpConnection::Hijacked connection, AtEnd at_end);

  std::optional<wire::MessageReader::Message> next() override;
  Task<bool> fill() override;
  bool inside_message() const override { return lines_.inside_message(); }
  std::size_t write_now(std::string_view bytes) override;
  Task<> writable() override;

  // Ends it at once, also a waiting fill(). Init exits when its stream ends.
  void hang_up();
  // What the container said last on standard error.
  const std::string& last_words() const { return last_words_; }

 private:
  void keep_errors();

  HttpConnection::Socket socket_;
  AtEnd at_end_;
  DockerLineReader lines_;
  std::string last_words_;
  bool hung_up_ = false;
  std::array<char, std::size_t{64} << 10> chunk_;
};

}  // namespace hearth::docker
