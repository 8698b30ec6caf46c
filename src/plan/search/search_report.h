// Tables of a search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/table.h"
#include "plan/search/search.h"

namespace assay::plan {

// Error bars as pairs of columns, with what a step's time goes to: for programs. Or as one text
// beside each figure: for readers.
enum class BarColumns : std::uint8_t { kPairs, kTexts };

// The picks, the frontier, and the workers without a price.
model::Book search_book(const std::string& title,
                        const SearchResult& result,
                        const SearchRequest& request,
                        const Picks& picks,
                        BarColumns bars = BarColumns::kPairs);

// Whether the tables say which engine a row is of.
bool has_several_engines(const SearchResult& result);

// Columns that a table has only where there is something to tell.
struct ToldColumns {
  bool engine = false;
  bool energy = false;
  bool step_tokens = false;      // that were tried
  bool tpot = true;              // false: answers have one token
  Speculation speculation = {};  // of all rows
};

ToldColumns told_columns(const SearchResult& result, const SearchRequest& request);

// Why there is no column of tokens per joule; "" where there is.
std::string missing_energy_note(const SearchResult& result);

// What such a column counts, and how much of it is of a model; or why there is none.
std::string energy_note(const SearchResult& result);

// A row for each candidate, with what a benchmark sees where that is known.
model::Table candidates_table(std::string name,
                              std::string title,
                              const std::vector<Candidate>& candidates,
                              BarColumns bars,
                              const ToldColumns& told = {});

// What of the deployment counts with the rate of a link, because no table has a
// measured one: "stages" of a pipeline, "caches" that are sent to instances that decode, or both;
// "" where all is measured.
std::string unmeasured_links(const Candidate& one);

// "TTFT <= 500 ms and TPOT <= 12 ms with a chance of 50 %"
std::string limits_text(const SearchRequest& request);

// How that chance is meant.
std::string confidence_note();

// Says of which lengths the requests are.
std::string lengths_note(const SearchRequest& request);

// "11.3 to 14.2", or "" where nobody knows.
std::string bar_text(const ErrorBar& bar, double prediction, const char* between = " to ");

// The workers that are left out, by reason.
model::Table refused_table(const std::vector<Refused>& refused, bool names_engines = false);

}  // namespace assay::plan
