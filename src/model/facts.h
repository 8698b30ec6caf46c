// The conditions of a run: driver, GPUs, libraries, clocks. They are stored beside the run's traces
// and compared between runs, so that a difference between machines is not mistaken for one between
// settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/table.h"

namespace assay::model {

struct Fact {
  enum class Compare {
    kExactly,  // another value makes another measurement, such as a library's version
    kWithin,   // numbers that may differ by `tolerance_percent`, such as a clock under load
    kNot,      // worth knowing but expected to vary, such as a temperature
  };

  std::string item;  // "GPU 0 SM clock under load"; unique among the facts of a run
  Cell value;
  std::string unit = {};
  Compare compare = Compare::kExactly;
  double tolerance_percent = 0;
};

using Facts = std::vector<Fact>;

// The name of the table of facts, and the file of a run that holds the table.
inline constexpr const char* kEnvironmentTable = "environment";
inline constexpr const char* kRunRecordFile = "sweep_run.json";
// The file of a sweep that says what it runs.
inline constexpr const char* kSweepPlanFile = "sweep.json";

// Returns a table with the columns item, value, unit and compare ("exactly", "within 3 %", "not").
Table facts_table(const Facts& facts);

// Reads a table made by facts_table. Rows that do not say how they compare are not compared. A null
// `table` has no facts.
Facts facts_of(const Table* table);

struct FactDifference {
  std::string item;
  std::string first;  // with units; "(unknown)" for an item that one side lacks
  std::string second;
};

// Returns the items that should agree and do not; none when either side has no facts at all.
std::vector<FactDifference> differences(const Facts& first, const Facts& second);

}  // namespace assay::model
