// Tables of a search.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "plan/search/search.h"

namespace assay::plan {

// The picks, the frontier, and the workers without a price.
model::Book search_book(const std::string& title,
                        const SearchResult& result,
                        const SearchRequest& request,
                        const Picks& picks);

// The workers that are left out, by reason.
model::Table refused_table(const std::vector<Refused>& refused, bool names_engines = false);

}  // namespace assay::plan
