// Deployments of a search with the columns of the public planner's CSV files, for programs that
// read those.
#pragma once

#include <string>

#include "model/serving/model.h"
#include "model/table.h"
#include "plan/search/search.h"

namespace assay::plan {

struct PublicSubject {
  const serving::Model& model;
  std::string system;
  std::string decode_system = {};  // "": as `system`
  std::string version = {};        // of the engine; "": the newest
  CacheType cache = CacheType::kEngine;
};

// A row for each deployment that was decided, the picks first; figures are those of one copy. Of
// disaggregated ones the columns "(p)" and "(d)" have the pools, and tp and the like are empty.
// Columns that the public planner's files do not have are rank (of a pick), frontier, replicas and
// the ends of error bars.
model::Table public_table(const PublicSubject& subject,
                          const SearchResult& result,
                          const SearchRequest& request,
                          const Picks& picks);

}  // namespace assay::plan
