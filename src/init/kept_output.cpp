#include "init/kept_output.h"

#include "init/limits.h"

#include <algorithm>
#include <utility>

namespace hearth::init {
namespace {

std::size_t place_of(std::uint64_t position) {
  return static_cast<std::size_t>(position % wire::kept_output_bytes);
}

}  // namespace

std::size_t KeptOutput::room(Stream /*stream*/) const { return read_chunk_bytes; }

void KeptOutput::add(Stream /*stream*/, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t place = place_of(end_);
    const std::size_t size = std::min(bytes.size(), wire::kept_output_bytes - place);
    if (ring_.size() < place + size) ring_.resize(place + size);
    std::copy_n(bytes.data(), size, ring_.data() + place);
    end_ += size;
    bytes.remove_prefix(size);
  }
}

std::string_view KeptOutput::piece_at(std::uint64_t position) const {
  const std::size_t place = place_of(position);
  return std::string_view(ring_).substr(place).substr(0, static_cast<std::size_t>(end_ - position));
}

class KeptOutput::Reader : public StreamWork {
 public:
  Reader(std::shared_ptr<const KeptOutput> output, std::uint64_t from, StreamPort& port)
      : output_(std::move(output)), port_(port), next_(std::min(from, output_->end_)) {}

  bool is_ready() const override {
    return !has_said_position_ || (port_.room() > 0 && next_ < output_->end_) ||
           (output_->is_finished_ && next_ == output_->end_);
  }

  void advance() override {
    if (next_ < output_->begin() || !has_said_position_) {
      next_ = std::max(next_, output_->begin());
      has_said_position_ = true;
      port_.send(wire::Position{port_.id(), next_});
    } else if (next_ < output_->end_) {
      const std::string_view piece = output_->piece_at(next_).substr(0, port_.room());
      port_.send_data(piece);
      next_ += piece.size();
    } else {
      interrupt();
    }
  }

  void interrupt() override {
    port_.send(wire::End{port_.id()});
    port_.close();
  }

 private:
  std::shared_ptr<const KeptOutput> output_;
  StreamPort& port_;
  std::uint64_t next_;
  bool has_said_position_ = false;
};

std::unique_ptr<StreamWork> KeptOutput::reader_of(std::shared_ptr<const KeptOutput> output,
                                                  std::uint64_t from, StreamPort& port) {
  return std::make_unique<Reader>(std::move(output), from, port);
}

}  // namespace hearth::init
