#include "settings/syntax_error.h"

#include "blueprint/problem.h"
#include "settings/advice.h"
#include "settings/known_keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace hearth::settings {
namespace {

using blueprint::in_quotes;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

bool is_bare(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}

// What is open where the parser gave up: a string, brackets around values.
struct Open {
  std::size_t at = 0;
  std::string_view closing{};
};

// Reads TOML up to an offset. Brackets of headers are no values.
class Reader {
 public:
  Reader(std::string_view text, std::size_t end) : text_(text), end_(std::min(end, text.size())) {
    while (at_ < end_) step();
  }

  const std::optional<Open>& string() const { return string_; }
  const std::vector<Open>& brackets() const { return brackets_; }

 private:
  void step() {
    const char letter = text_[at_];
    if (letter == '"' || letter == '\'') return skip_string(letter);
    if (letter == '#') {
      at_ = std::min(text_.find('\n', at_), end_);
      return;
    }
    if (letter == '=') after_equals_ = true;
    if (letter == '\n' && brackets_.empty()) after_equals_ = false;
    if (after_equals_ && letter == '[') brackets_.push_back({at_, "]"});
    if (after_equals_ && letter == '{') brackets_.push_back({at_, "}"});
    if ((letter == ']' || letter == '}') && !brackets_.empty()) brackets_.pop_back();
    ++at_;
  }

  void skip_string(char quote) {
    const std::size_t begin = at_;
    const bool is_long = text_.substr(at_, 3) == std::string(3, quote);
    const std::string_view closing = is_long          ? (quote == '"' ? "\"\"\"" : "'''")
                                     : (quote == '"') ? "\""
                                                      : "'";
    at_ += closing.size();
    while (at_ < end_) {
      if (text_.substr(at_, closing.size()) == closing) {
        at_ += closing.size();
        while (is_long && at_ < end_ && text_[at_] == quote) ++at_;
        if (at_ <= end_) return;
        break;
      }
      at_ += text_[at_] == '\\' && quote == '"' ? 2 : 1;
    }
    string_ = Open{begin, closing};
  }

  std::string_view text_;
  std::size_t end_;
  std::size_t at_ = 0;
  bool after_equals_ = false;
  std::optional<Open> string_;
  std::vector<Open> brackets_;
};

class Explanation {
 public:
  Explanation(const SourceText& source, SyntaxError found)
      : source_(source),
        text_(source.text()),
        found_(std::move(found)),
        at_(offset_of(found_.line, found_.column)),
        line_begin_(at_ == 0 ? 0 : text_.rfind('\n', at_ - 1) + 1),
        line_(text_.substr(line_begin_, text_.find('\n', line_begin_) - line_begin_)),
        open_(text_, at_) {}

  SyntaxError take() {
    for (const auto look :
         {&Explanation::string, &Explanation::escape, &Explanation::bracket, &Explanation::header,
          &Explanation::repeated, &Explanation::equals, &Explanation::value})
      if (auto better = (this->*look)()) return *std::move(better);
    // "Error while parsing value: " says what its reader sees.
    constexpr std::string_view preface = "Error while parsing ";
    if (found_.message.starts_with(preface)) found_.message.erase(0, preface.size());
    return std::move(found_);
  }

 private:
  using Better = std::optional<SyntaxError>;

  std::size_t offset_of(std::size_t line, std::size_t column) const {
    std::size_t at = 0;
    for (std::size_t number = 1; number < line && at != text_.npos; ++number)
      at = text_.find('\n', at) == text_.npos ? text_.size() : text_.find('\n', at) + 1;
    for (std::size_t count = 1; count < column && at < text_.size() && text_[at] != '\n'; ++count)
      at += character_size(text_.substr(at));
    return std::min(at, text_.size());
  }

  SyntaxError at(std::size_t offset, std::string message) const {
    SyntaxError error{.line = 1, .column = 1, .message = std::move(message)};
    for (std::size_t i = 0; i < offset;) {
      const std::size_t size = character_size(text_.substr(i));
      error.column = text_[i] == '\n' ? 1 : error.column + 1;
      error.line += text_[i] == '\n' ? 1 : 0;
      i += size;
    }
    return error;
  }

  bool is_at_line_end() const { return at_ >= text_.size() || text_[at_] == '\n'; }
  bool says(std::string_view words) const {
    return found_.message.find(words) != std::string::npos;
  }
  // What was written may be repeated.
  bool is_shown() const { return !source_.excerpt(found_.line, found_.column).text.empty(); }

  Better string() {
    if (!open_.string() || !(is_at_line_end() || text_[at_] == '\r')) return {};
    const std::string closing(open_.string()->closing);
    return at(open_.string()->at, closing.size() == 1
                                      ? "the string that begins here does not end: a closing " +
                                            closing + " is missing on its line"
                                      : "the string that begins here does not end: a closing " +
                                            closing + " is missing");
  }

  Better escape() {
    if (!open_.string() || !says("unknown escape")) return {};
    return at(open_.string()->at,
              "a backslash means something in this string; write '...' instead of \"...\", or two "
              "backslashes for one");
  }

  // A line that begins another key or section, while a list is open.
  bool begins_anew() const {
    const std::string_view line = trimmed(line_);
    if (line.starts_with('[')) return line.ends_with(']');
    std::size_t size = 0;
    while (size < line.size() && (is_bare(line[size]) || line[size] == '.')) ++size;
    return size > 0 && trimmed(line.substr(size)).starts_with('=');
  }

  Better bracket() {
    if (open_.brackets().empty()) return {};
    const Open& inner = open_.brackets().back();
    if (inner.closing == "}" && (is_at_line_end() || inner.at < line_begin_))
      return at(inner.at, "the table that begins here does not end on its line: a } is missing");
    // A section that follows looks like a list in it.
    const Open& outer = open_.brackets().front();
    if (outer.closing == "]" && (at_ >= text_.size() || (outer.at < line_begin_ && begins_anew())))
      return at(outer.at, "the list that begins here does not end: a ] is missing");
    if (says("expected comma") && !is_at_line_end()) {
      found_.message = "a comma is missing before this";
      return found_;
    }
    return {};
  }

  Better header() {
    const std::string_view line = trimmed(line_);
    if (!line.starts_with('[') || !says("table header") || says("redefine")) return {};
    const std::size_t begin = line.find_first_not_of("[ \t");
    if (begin == line.npos) return {};
    const std::string_view rest = line.substr(begin);
    const std::string section(trimmed(rest.substr(0, rest.find(']'))));
    const std::string meant =
        header_of(section).empty()
            ? std::string(line.substr(0, begin)) + section + (line.starts_with("[[") ? "]]" : "]")
            : header_of(section);
    const std::size_t close = line.find(']');
    const std::size_t after = close == line.npos ? close : line.find_first_not_of("] \t", close);
    if (after != line.npos && line[after] != '#' && is_shown())
      return at(line_begin_, "nothing may follow " + meant + " on its line");
    if (!is_shown()) return {};
    return at(line_begin_ + line_.find('['), "a section begins with " + meant);
  }

  Better repeated() {
    const std::size_t redefined = found_.message.find("cannot redefine existing ");
    if (redefined == std::string::npos) return {};
    const std::size_t quote = found_.message.find('\'', redefined);
    const std::size_t end = found_.message.find('\'', quote + 1);
    const std::string name = found_.message.substr(quote + 1, end - quote - 1);
    const std::string header = header_of(name);
    if (says("as array-of-tables") || header.starts_with("[["))
      found_.message = "stands beside [" + name + "]; write [[" + name + "]] each time";
    else if (says("table header"))
      found_.message = "this section stands there twice; write its keys below one [" + name + ']';
    else
      found_.message = name + " is set twice in its section";
    return found_;
  }

  Better equals() {
    if (!says("expected '='")) return {};
    const std::string_view key = trimmed(line_.substr(0, line_.find_first_of("=:")));
    const bool is_key = !key.empty() && std::all_of(key.begin(), key.end(), is_bare);
    if (text_.substr(at_, 1) == ":" && is_key) {
      found_.message = "write = instead of :, and a section as [" + std::string(key) + ']';
      if (!trimmed(line_.substr(line_.find(':') + 1)).empty())
        found_.message = "write = instead of :";
    } else {
      found_.message = "a key, = and its value stand on one line";
    }
    return found_;
  }

  // The word that stands where a value should, which is where `begin` points afterwards.
  std::string_view word_at(std::size_t& begin) const {
    while (begin > line_begin_ &&
           std::string_view("=[{,").find(text_[begin - 1]) == std::string_view::npos)
      --begin;
    while (begin < text_.size() && (text_[begin] == ' ' || text_[begin] == '\t')) ++begin;
    const std::size_t end = text_.find_first_of(",]}#\n", begin);
    return trimmed(text_.substr(begin, end - begin));
  }

  std::string key_of_line() const { return std::string(trimmed(line_.substr(0, line_.find('=')))); }

  std::string advice_for(std::string_view word) const {
    for (const std::string_view yes : {"True", "TRUE", "yes", "Yes", "on", "On"})
      if (word == yes) return "write true";
    for (const std::string_view no : {"False", "FALSE", "no", "No", "off", "Off"})
      if (word == no) return "write false";
    for (const std::string_view none : {"None", "null", "nil", "Null", "NULL"})
      if (word == none) return "a key without a value is left out";
    if (const auto number = quantity(key_of_line(), word))
      return "write " + std::to_string(*number) + ", without a unit";
    // Credentials may be in a URL.
    if (!is_shown() || word.size() > 60 || word.find_first_of("@:") != word.npos)
      return "a string is in quotes";
    std::string plain;
    constexpr std::array<std::string_view, 5> typeset{"“", "”", "„", "‘", "’"};
    for (std::size_t i = 0; i < word.size();) {
      const std::string_view character = word.substr(i, character_size(word.substr(i)));
      if (std::find(typeset.begin(), typeset.end(), character) == typeset.end()) plain += character;
      i += character.size();
    }
    if (plain.find_first_of("\"'\\") != plain.npos) return "a string is in quotes";
    return "a string is in quotes: write " + in_quotes(plain);
  }

  Better value() {
    if (line_.find('=') == line_.npos && open_.brackets().empty()) return {};
    if (says("expected value, saw")) return at(at_, "the value after = is missing");
    const bool is_value = says("value:") || says("boolean:") || says("floating-point:") ||
                          says("integer:") || says("date") || says("time");
    if (!is_value || open_.string()) return {};
    std::size_t begin = at_;
    const std::string_view word = word_at(begin);
    if (word.empty()) return {};
    return at(begin, advice_for(word));
  }

  const SourceText& source_;
  std::string_view text_;
  SyntaxError found_;
  std::size_t at_;
  std::size_t line_begin_;
  std::string_view line_;
  Reader open_;
};

}  // namespace

SyntaxError explained(const SourceText& source, SyntaxError found) {
  return Explanation(source, std::move(found)).take();
}

}  // namespace hearth::settings
