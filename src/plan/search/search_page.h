// The page of a search: the deployment to run first, then what it was chosen from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/table.h"
#include "plan/search/search.h"
#include "plan/search/search_answer.h"
#include "report/page.h"

namespace assay::plan {

struct SearchPageRequest {
  SearchSubject subject;
  std::string title;
  std::vector<std::pair<std::string, std::string>> provenance = {};
};

// A page refers to its tables, which stand here.
class SearchPage {
 public:
  SearchPage(const SearchPageRequest& made_for,
             const SearchResult& result,
             const SearchRequest& request,
             const Picks& picks);
  SearchPage(const SearchPage&) = delete;
  SearchPage& operator=(const SearchPage&) = delete;

  [[nodiscard]] const report::Page& page() const { return page_; }

 private:
  void add_charts(const SearchResult& result, const SearchRequest& request, const Picks& picks);
  void add_tables(const std::string& of_energy);

  model::Table all_;
  model::Table refused_;
  report::Page page_;
};

}  // namespace assay::plan
