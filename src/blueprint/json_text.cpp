#include "blueprint/json_text.h"

#include "base/json_escape.h"
#include "blueprint/problem.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hearth::blueprint {
namespace {

namespace json = boost::json;

// Builds the value while Boost's parser reads. The names are Boost's.
class Handler {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

  const std::string& complaint() const { return complaint_; }
  json::value release() { return stack_.release(); }

  bool on_document_begin(json::error_code& /*ec*/) {
    stack_.reset();
    return true;
  }
  bool on_document_end(json::error_code& /*ec*/) { return true; }
  bool on_object_begin(json::error_code& /*ec*/) {
    keys_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t count, json::error_code& /*ec*/) {
    keys_.pop_back();
    stack_.push_object(count);
    return true;
  }
  bool on_array_begin(json::error_code& /*ec*/) { return true; }
  bool on_array_end(std::size_t count, json::error_code& /*ec*/) {
    stack_.push_array(count);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t /*total*/, json::error_code& /*ec*/) {
    part_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view last, std::size_t /*total*/, json::error_code& ec) {
    part_.append(last.data(), last.size());
    std::string key = std::exchange(part_, {});
    stack_.push_key(key);
    if (keys_.back().insert(key).second) return true;
    return fail(ec, "the key " + in_quotes(key) + " is repeated");
  }
  bool on_string_part(json::string_view part, std::size_t /*total*/, json::error_code& /*ec*/) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view last, std::size_t /*total*/, json::error_code& /*ec*/) {
    stack_.push_string(last);
    return true;
  }
  bool on_number_part(json::string_view part, json::error_code& /*ec*/) {
    part_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t number, json::string_view /*text*/, json::error_code& /*ec*/) {
    part_.clear();
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, json::string_view /*text*/, json::error_code& /*ec*/) {
    part_.clear();
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double /*imprecise*/, json::string_view text, json::error_code& ec) {
    part_.append(text.data(), text.size());
    const std::string digits = std::exchange(part_, {});
    double number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec != std::errc()) return fail(ec, in_quotes(digits) + " is out of range");
    stack_.push_double(number);
    return true;
  }
  bool on_bool(bool value, json::error_code& /*ec*/) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(json::error_code& /*ec*/) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(json::string_view /*part*/, json::error_code& /*ec*/) { return true; }
  bool on_comment(json::string_view /*last*/, json::error_code& /*ec*/) { return true; }

 private:
  bool fail(json::error_code& ec, std::string complaint) {
    complaint_ = std::move(complaint);
    ec = json::error::syntax;
    return false;
  }

  json::value_stack stack_;
  std::string part_;
  std::string complaint_;
  std::vector<std::unordered_set<std::string>> keys_;  // of every object that is open
};

[[noreturn]] void throw_at(std::string_view text, std::size_t offset, const std::string& what) {
  const std::string_view before = text.substr(0, offset);
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw JsonError(what, line, before.size() - line_start + 1);
}

bool is_short_list(const json::array& array) {
  return array.size() <= 8 && std::none_of(array.begin(), array.end(), [](const json::value& item) {
           return item.is_object() || item.is_array();
         });
}

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void print(const json::value& value) {
    if (const auto* object = value.if_object()) return print_object(*object);
    if (const auto* array = value.if_array()) return print_array(*array);
    if (const auto* string = value.if_string()) return append_json_string(out_, *string);
    if (const auto* boolean = value.if_bool()) {
      out_ += *boolean ? "true" : "false";
    } else if (const auto* integer = value.if_int64()) {
      out_ += std::to_string(*integer);
    } else if (const auto* natural = value.if_uint64()) {
      out_ += std::to_string(*natural);
    } else if (const auto* number = value.if_double(); number && std::isfinite(*number)) {
      out_ += print_number(*number);
    } else {
      out_ += "null";
    }
  }

 private:
  void line_break() {
    out_ += '\n';
    out_.append(depth_ * 2, ' ');
  }

  void print_object(const json::object& object) {
    if (object.empty()) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    ++depth_;
    for (auto member = object.begin(); member != object.end(); ++member) {
      if (member != object.begin()) out_ += ',';
      line_break();
      append_json_string(out_, member->key());
      out_ += ": ";
      print(member->value());
    }
    --depth_;
    line_break();
    out_ += '}';
  }

  void print_array(const json::array& array) {
    const bool one_line = is_short_list(array);
    out_ += '[';
    ++depth_;
    for (auto item = array.begin(); item != array.end(); ++item) {
      if (item != array.begin()) out_ += one_line ? ", " : ",";
      if (!one_line) line_break();
      print(*item);
    }
    --depth_;
    if (!one_line) line_break();
    out_ += ']';
  }

  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace

JsonError::JsonError(const std::string& what, std::size_t at_line, std::size_t at_column)
    : Error(fmt::format("line {}, column {}: {}", at_line, at_column, what)),
      line(at_line),
      column(at_column) {}

json::value parse_json(std::string_view text) {
  json::basic_parser<Handler> parser{json::parse_options{}};
  json::error_code failure;
  const std::size_t consumed = parser.write_some(false, text.data(), text.size(), failure);
  if (failure) {
    const std::string& complaint = parser.handler().complaint();
    throw_at(text, consumed, complaint.empty() ? failure.message() : complaint);
  }
  if (consumed != text.size()) throw_at(text, consumed, "nothing may follow the value");
  return parser.handler().release();
}

std::string print_json(const json::value& value) {
  Printer printer;
  printer.print(value);
  return printer.take();
}

std::string print_number(double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

}  // namespace hearth::blueprint
