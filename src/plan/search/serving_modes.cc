#include "plan/search/serving_modes.h"

#include <fmt/core.h>

#include <iterator>
#include <string>
#include <utility>

namespace assay::plan {
namespace {

std::string links_of(const store::SystemFacts& facts) {
  constexpr double kGiga = 1e9;
  constexpr double kMsPerS = 1e3;
  return fmt::format("{:g} GB/s of each GPU within a node and {:g} between nodes, after {:.3g} ms",
                     facts.peaks.link_bytes_per_s / kGiga, facts.between_nodes_bytes_per_s / kGiga,
                     kMsPerS * facts.peer_latency_s);
}

// How caches are sent. No system's file has measured it.
std::string transfer_note(const PoolSystem& prefill, const PoolSystem& decode) {
  std::string note =
      fmt::format("caches are sent at {} ({}", links_of(*prefill.facts), prefill.facts->name);
  if (prefill.facts != decode.facts) {
    note += fmt::format("), or {} ({}), whichever is slower", links_of(*decode.facts),
                        decode.facts->name);
  } else {
    note += ")";
  }
  return note + ": links' own figures, not a measured transfer";
}

void append(SearchResult& to, SearchResult from) {
  to.priced += from.priced;
  to.candidates.insert(to.candidates.end(), std::make_move_iterator(from.candidates.begin()),
                       std::make_move_iterator(from.candidates.end()));
  to.notes.insert(to.notes.end(), from.notes.begin(), from.notes.end());
  if (to.refused.empty()) to.refused = std::move(from.refused);
}

}  // namespace

core::Result<SearchResult> search_modes(const serving::Model& model,
                                        const SearchRequest& request,
                                        ServingMode mode,
                                        const PoolSystem& system,
                                        const PoolSystem& decode_system) {
  if (mode == ServingMode::kAggregated) return search(model, request, *system.tables);
  core::Result<SearchResult> split = search_disaggregated(model, request, system, decode_system);
  if (split.ok()) split.value().notes.push_back(transfer_note(system, decode_system));
  if (mode == ServingMode::kDisaggregated) return split;
  core::Result<SearchResult> whole = search(model, request, *system.tables);
  if (!whole.ok() && !split.ok()) return whole.error();
  SearchResult both;
  for (core::Result<SearchResult>* one : {&whole, &split}) {
    if (one->ok()) {
      append(both, std::move(one->value()));
    } else {
      both.notes.push_back(one->error().message);
    }
  }
  return both;
}

}  // namespace assay::plan
