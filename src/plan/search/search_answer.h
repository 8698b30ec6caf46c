// What a search found, in sentences.
#pragma once

#include <string>
#include <vector>

#include "plan/search/search.h"

namespace assay::plan {

struct SearchSubject {
  std::string model;    // "qwen3-32b"
  std::string system;   // "h200_sxm"
  std::string command;  // what `plan files` is told besides the deployment
  // Of the instances that decode, where it is another one.
  std::string decode_system = {};
};

struct SearchAnswer {
  std::string sentence;  // the deployment to run, its figures and how sure they are
  std::vector<std::string> why;
  std::vector<std::string> next;
  std::vector<std::string> warnings;
};

// Precondition: the search has a candidate.
SearchAnswer answer_of(const SearchSubject& subject,
                       const SearchResult& result,
                       const SearchRequest& request,
                       const Picks& picks);

// "4 copies of tp 2, 32 requests in flight on each"
std::string deployment_text(const Candidate& candidate);

// "11.7 ms (80 %: 11.3 to 14.2)"
std::string with_bar(double value, const std::string& unit, const ErrorBar& bar);

}  // namespace assay::plan
