#include "settings/known_keys.h"

#include "settings/settings_fields.h"

#include <type_traits>

namespace hearth::settings {
namespace {

using blueprint::member_of;

template <typename T>
struct ElementOf {
  using Type = void;
};
template <typename T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};

class Catalogue {
 public:
  template <typename Struct>
  void add(const Struct& fields, const std::string& section, bool is_list) {
    for_each_field(fields, [&]<typename Field>(std::string_view name, const Field& field) {
      using Element = typename ElementOf<Field>::Type;
      if constexpr (blueprint::Described<Field>) {
        add_section(field, member_of(section, name), false);
      } else if constexpr (blueprint::Described<Element>) {
        add_section(Element{}, member_of(section, name), true);
      } else if (section.empty()) {
        keys_.push_back({std::string(name)});  // a table of the user's own keys
      } else {
        keys_.push_back({section, std::string(name), is_list});
      }
    });
  }

  std::vector<KnownKey> take() { return std::move(keys_); }

 private:
  template <typename Struct>
  void add_section(const Struct& fields, const std::string& section, bool is_list) {
    keys_.push_back({section, {}, is_list});
    add(fields, section, is_list);
  }

  std::vector<KnownKey> keys_;
};

std::vector<KnownKey> list_keys() {
  Catalogue catalogue;
  catalogue.add(Settings{}, {}, false);
  return catalogue.take();
}

}  // namespace

std::string KnownKey::header() const {
  return is_list ? "[[" + section + "]]" : '[' + section + ']';
}

const std::vector<KnownKey>& known_keys() {
  static const std::vector<KnownKey> keys = list_keys();
  return keys;
}

std::string header_of(const std::string& section) {
  for (const KnownKey& known : known_keys())
    if (known.key.empty() && known.section == section) return known.header();
  return {};
}

}  // namespace hearth::settings
