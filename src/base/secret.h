// base/secret.h: a text that must not appear in a log, an error or a reply. It has no formatter, no
// operator<<, no JSON writer and no conversion to a string, so printing one does not compile.
#pragma once

#include <string>
#include <utility>

namespace hearth {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }
  Secret& operator=(Secret other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  // The memory is overwritten. Copies that the library or the kernel made are out of reach.
  ~Secret() { wipe(); }

  // The text itself. Only for what goes into a sandbox.
  const std::string& reveal() const { return text_; }

  bool operator==(const Secret&) const = default;

 private:
  void wipe() noexcept;

  std::string text_;
};

}  // namespace hearth
