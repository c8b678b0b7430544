#include "builder/netrc.h"

#include "blueprint/requirement.h"

#include <algorithm>
#include <cctype>

namespace hearth::builder {
namespace {

constexpr std::string_view blank = " \t\r\n";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

// Of `https://user@host:port/path`; empty if it names none.
std::string host_in(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  url.remove_prefix(url.rfind('@') + 1);  // npos + 1 is 0
  if (url.starts_with('[')) return lower_case(url.substr(1, url.find(']') - 1));
  return lower_case(url.substr(0, url.find(':')));
}

std::string url_in(const std::string& package) try {
  return blueprint::parse_requirement(package).url;
} catch (const blueprint::RequirementError&) {
  return {};  // pip will say what is wrong with it
}

// Words as Python's module `netrc` reads them. They are passed on as they are written, quotes and
// backslashes included, whose meaning depends on the version of Python.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // Empty at the end.
  std::string_view next() {
    at_ = std::min(text_.find_first_not_of(blank, at_), text_.size());
    const std::size_t begin = at_;
    const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
    if (is_quoted) ++at_;
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (is_quoted ? letter == '"' : blank.find(letter) != std::string_view::npos) break;
      at_ += letter == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + (is_quoted ? 1 : 0), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  void skip_line() { skip_to("\n"); }
  // A macro ends at an empty line.
  void skip_macro() { skip_to("\n\n"); }
  void put_back(std::string_view word) {
    at_ = static_cast<std::size_t>(word.data() - text_.data());
  }

 private:
  void skip_to(std::string_view end) { at_ = std::min(text_.find(end, at_), text_.size()); }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool has_value(std::string_view word) {
  return word == "login" || word == "user" || word == "account" || word == "password";
}

// What follows the name of an entry, up to a word that is not part of it.
std::string rest_of_entry(Words& words) {
  std::string rest;
  while (true) {
    const std::string_view word = words.next();
    if (word.starts_with('#')) {
      words.skip_line();
      continue;
    }
    if (!has_value(word)) {
      words.put_back(word);
      return rest;
    }
    rest += ' ' + std::string(word) + ' ' + std::string(words.next());
  }
}

}  // namespace

std::vector<std::string> hosts_of_pip(const PipOptions& options,
                                      const std::vector<std::string>& packages) {
  std::vector<std::string> hosts;
  if (!options.no_index && options.index_url.empty())
    hosts = {"pypi.org", "files.pythonhosted.org"};
  if (!options.no_index) hosts.push_back(host_in(options.index_url));
  for (const std::string& package : packages) hosts.push_back(host_in(url_in(package)));
  std::erase(hosts, "");
  return hosts;
}

std::string netrc_for(std::string_view netrc, const std::vector<std::string>& hosts) {
  std::string kept;
  Words words(netrc);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word.starts_with('#')) {
      words.skip_line();
    } else if (word == "macdef") {
      words.skip_macro();
    } else if (word == "default") {
      rest_of_entry(words);
    } else if (word == "machine") {
      const std::string_view host = words.next();
      const std::string rest = rest_of_entry(words);
      if (std::find(hosts.begin(), hosts.end(), lower_case(host)) != hosts.end())
        kept += "machine " + std::string(host) + rest + '\n';
    } else {
      break;
    }
  }
  return kept;
}

}  // namespace hearth::builder
