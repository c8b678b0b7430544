#include "base/secret.h"

#include <string.h>

namespace hearth {

// A short text is inside the object, and a move leaves it there.
void Secret::wipe() noexcept {
  text_.resize(text_.capacity());
  ::explicit_bzero(text_.data(), text_.size());
  text_.clear();
}

}  // namespace hearth
