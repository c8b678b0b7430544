#include "store/session_record.h"

#include "base/id.h"

namespace hearth::store {
namespace {

constexpr std::string_view id_prefix = "ses_";

}  // namespace

std::string new_session_id() { return std::string(id_prefix) + random_id(); }

bool is_session_id(std::string_view text) {
  return text.starts_with(id_prefix) && is_hexadecimal(text.substr(id_prefix.size()), 32);
}

}  // namespace hearth::store
