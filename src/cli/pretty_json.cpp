#include "cli/pretty_json.h"

namespace hearth::cli {
namespace {

constexpr std::size_t most_on_one_line = 72;

class Printer {
 public:
  explicit Printer(std::string_view json) : rest_(json) {}

  std::string print() {
    value(0);
    return std::move(out_);
  }

 private:
  // The value that begins here, up to its end.
  std::string_view extent() const {
    std::size_t depth = 0;
    bool inside_string = false;
    for (std::size_t at = 0; at < rest_.size(); ++at) {
      const char byte = rest_[at];
      if (inside_string) {
        if (byte == '\\') {
          ++at;
        } else if (byte == '"') {
          inside_string = false;
        }
      } else if (byte == '"') {
        inside_string = true;
      } else if (byte == '{' || byte == '[') {
        ++depth;
      } else if (byte == '}' || byte == ']' || byte == ',') {
        if (depth == 0) return rest_.substr(0, at);
        if (byte != ',') --depth;
      } else if (byte == ':' && depth == 0) {
        return rest_.substr(0, at);
      }
    }
    return rest_;
  }

  void copy(std::string_view text) {
    out_ += text;
    rest_.remove_prefix(text.size());
  }

  void new_line(std::size_t depth) { out_ += '\n' + std::string(2 * depth, ' '); }

  void spaced(std::string_view text) {
    bool inside_string = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
      out_ += text[at];
      if (inside_string && text[at] == '\\')
        out_ += text[++at];
      else if (text[at] == '"')
        inside_string = !inside_string;
      else if (!inside_string && (text[at] == ',' || text[at] == ':'))
        out_ += ' ';
    }
    rest_.remove_prefix(text.size());
  }

  void value(std::size_t depth) {
    const std::string_view whole = extent();
    if (whole.empty() || (whole[0] != '{' && whole[0] != '[')) return copy(whole);
    if (whole.size() <= most_on_one_line) return spaced(whole);
    copy(whole.substr(0, 1));
    while (true) {
      new_line(depth + 1);
      if (whole[0] == '{') {
        copy(extent());
        copy(":");
        out_ += ' ';
      }
      value(depth + 1);
      if (!rest_.starts_with(',')) break;
      copy(",");
    }
    new_line(depth);
    copy(rest_.substr(0, 1));
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

std::string pretty_json(std::string_view json) { return Printer(json).print(); }

}  // namespace hearth::cli
