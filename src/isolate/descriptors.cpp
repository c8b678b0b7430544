#include "isolate/descriptors.h"

#include "isolate/failure.h"

#include <unistd.h>

namespace hearth::isolate {

bool close_all_but(std::initializer_list<std::int32_t> kept) {
  constexpr unsigned first_after_standard = 3;
  unsigned first = first_after_standard;
  while (true) {
    unsigned next = ~0U;
    for (const std::int32_t fd : kept)
      if (const auto one = static_cast<unsigned>(fd); one >= first && one < next) next = one;
    const unsigned last = next == ~0U ? next : next - 1;
    if (next > first && ::close_range(first, last, 0) != 0)
      return fail("close the zygote's descriptors");
    if (next == ~0U) return true;
    first = next + 1;
  }
}

}  // namespace hearth::isolate
