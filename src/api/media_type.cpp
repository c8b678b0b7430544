#include "api/media_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace hearth::api {
namespace {

// Of several endings of a type, the usual one first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 27> types{{
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".svg", "image/svg+xml"},
    {".pdf", "application/pdf"},
    {".html", "text/html"},
    {".htm", "text/html"},
    {".md", "text/markdown"},
    {".tex", "text/latex"},
    {".txt", "text/plain"},
    {".log", "text/plain"},
    {".csv", "text/csv"},
    {".tsv", "text/tab-separated-values"},
    {".css", "text/css"},
    {".js", "text/javascript"},
    {".py", "text/x-python"},
    {".json", "application/json"},
    {".xml", "application/xml"},
    {".zip", "application/zip"},
    {".gz", "application/gzip"},
    {".tar", "application/x-tar"},
    {".parquet", "application/vnd.apache.parquet"},
    {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {".mp4", "video/mp4"},
    {".wav", "audio/wav"},
}};

bool ends_with_any_case(std::string_view path, std::string_view ending) {
  return path.size() > ending.size() &&
         std::equal(ending.begin(), ending.end(), path.end() - static_cast<long>(ending.size()),
                    [](char wanted, char found) {
                      return wanted == std::tolower(static_cast<unsigned char>(found));
                    });
}

}  // namespace

std::string_view media_type_of(std::string_view path) {
  for (const auto& [ending, type] : types)
    if (ends_with_any_case(path, ending)) return type;
  return "application/octet-stream";
}

std::string_view ending_of(std::string_view media_type) {
  for (const auto& [ending, type] : types)
    if (type == media_type) return ending;
  return {};
}

}  // namespace hearth::api
