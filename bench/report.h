// bench/report.h: figures beside their references, as a table for people and as JSON.
#pragma once

#include <string>
#include <vector>

namespace hearth::bench {

// `samples` is sorted by the call. `share` 0.5 is the median.
double percentile(std::vector<double>& samples, double share);

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::string reference;  // what it is compared with, taken in the same run
  double reference_value = 0;
  std::string goal;  // in words, for the reader
};

class Report {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  std::string table() const;
  std::string json() const;

 private:
  std::vector<Row> rows_;
};

}  // namespace hearth::bench
