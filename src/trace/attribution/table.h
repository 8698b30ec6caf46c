// The sheet "Attribution".
#pragma once

#include <string>

#include "model/table.h"
#include "trace/attribution/attribution.h"

namespace assay::trace::attribution {

struct Labels {
  std::string a;
  std::string b;
};

// Returns a row for each cause, each followed by its details, and the total.
model::Table attribution_table(const Attribution& attribution, const Labels& labels);

// Returns "Of +32.7 ms a step, communication: bandwidth is +33.1, …", the largest parts first.
std::string attribution_in_words(const Attribution& attribution);

}  // namespace assay::trace::attribution
