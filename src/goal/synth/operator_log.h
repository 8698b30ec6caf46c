// Asks for the times of operators, and keeps what was answered for the summary of a made job.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/synth/operator_times.h"
#include "model/table.h"

namespace assay::goal {

class OperatorLog {
 public:
  explicit OperatorLog(OperatorTimes& times) : times_(times) {}

  // `what`: "forward", "input gradient", "weight gradient". Attention to chunks has a launch for
  // each length of them, and the time of all.
  core::Result<LaunchTime> time(const std::string& what,
                                const serving::OperatorUse& use,
                                const LaunchAmounts& amounts);

  // The times that follow from another's by a factor, for the table: `factor` of `of`.
  void note_multiple(const std::string& what,
                     const serving::OperatorUse& use,
                     const LaunchTime& of,
                     double factor);

  // One row for each operator and what of it: its time, where that comes from, and how surely.
  [[nodiscard]] model::Table table() const;

  // Rows whose times were derived or extrapolated.
  [[nodiscard]] std::size_t num_derived() const;

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::string role;
    std::string what;
    std::string key;
    double ns = 0;
    std::string source;
    std::string derived;  // "" for what was measured with these columns, at or between these sizes
  };

  core::Result<LaunchTime> launch(const std::string& what,
                                  const serving::OperatorUse& use,
                                  const LaunchAmounts& amounts);
  void add(Row row);

  OperatorTimes& times_;
  std::vector<Row> rows_;
  std::map<std::string, LaunchTime> known_;
};

}  // namespace assay::goal
