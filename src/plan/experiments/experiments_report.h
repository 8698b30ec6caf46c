// The table of several experiments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/table.h"
#include "plan/experiments/experiments_file.h"
#include "plan/search/search.h"

namespace assay::plan {

struct ExperimentResult {
  Experiment experiment;
  std::string model = {};                        // its name
  std::string version = {};                      // of the engine, that is planned for; "": unknown
  std::optional<Candidate> best = std::nullopt;  // std::nullopt: nothing can be served
  bool meets = false;                            // else `best` comes closest
  std::string refused = {};                      // why there is none
  std::vector<std::string> notes = {};           // sentences about it
};

// A row for each, in their order, with the best deployment of each.
model::Book experiments_book(const std::string& title,
                             const std::vector<ExperimentResult>& results);

}  // namespace assay::plan
