#include "plan/search/serving_modes.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"

namespace assay::plan {
namespace {

std::string links_of(const store::SystemFacts& facts) {
  constexpr double kGiga = 1e9;
  constexpr double kMsPerS = 1e3;
  const store::SystemFacts::SendingRate within = facts.sending_rate(1);
  return fmt::format(
      "{:.4g} GB/s of each GPU within a node{} and {:g} between nodes, after {:.3g} ms",
      within.bytes_per_s / kGiga, within.is_measured ? " (measured between 2 GPUs)" : "",
      facts.between_nodes_bytes_per_s / kGiga, kMsPerS * facts.peer_latency_s);
}

// How caches are sent: no system's file has a measured transfer of one.
std::string transfer_note(const PoolSystem& prefill, const PoolSystem& decode) {
  std::string note =
      fmt::format("caches are sent at {} ({}", links_of(*prefill.facts), prefill.facts->name);
  if (prefill.facts != decode.facts) {
    note += fmt::format("), or {} ({}), whichever is slower", links_of(*decode.facts),
                        decode.facts->name);
  } else {
    note += ")";
  }
  const bool is_measured =
      prefill.facts == decode.facts && prefill.facts->sending_rate(1).is_measured;
  return note + (is_measured ? ": no transfer of a cache was measured"
                             : ": links' own figures, not a measured transfer");
}

void append(SearchResult& to, SearchResult from) {
  to.priced += from.priced;
  for (Candidate& candidate : from.candidates)
    candidate.benchmark += to.benchmarks.size();
  to.benchmarks.insert(to.benchmarks.end(), from.benchmarks.begin(), from.benchmarks.end());
  to.candidates.insert(to.candidates.end(), std::make_move_iterator(from.candidates.begin()),
                       std::make_move_iterator(from.candidates.end()));
  to.notes.insert(to.notes.end(), from.notes.begin(), from.notes.end());
  // A mode refuses what the other one does.
  const bool is_told = std::any_of(to.refused.begin(), to.refused.end(), [&](const Refused& one) {
    return !from.refused.empty() && one.engine == from.refused.front().engine;
  });
  if (!is_told)
    to.refused.insert(to.refused.end(), std::make_move_iterator(from.refused.begin()),
                      std::make_move_iterator(from.refused.end()));
}

bool is_calibrated(const EngineSystems& engine) {
  return engine.system.calibration_errors.has_value() ||
         !(engine.system.calibration == Calibration());
}

SearchRequest request_of_engine(const SearchRequest& request, const EngineSystems& engine) {
  SearchRequest of_engine = request;
  of_engine.calibration = engine.system.calibration;
  of_engine.calibration_errors = engine.system.calibration_errors;
  return of_engine;
}

// Engines whose calibrations differ are searched one after the other. Error: none has a candidate.
core::Result<SearchResult> search_calibrated(const serving::Model& model,
                                             const SearchRequest& request,
                                             std::span<const EngineSystems> engines) {
  SearchResult all;
  std::vector<std::string> errors;
  for (const EngineSystems& one : engines) {
    const SearchedEngine searched{one.engine, one.precision, one.system.tables, one.system.version};
    core::Result<SearchResult> found =
        search(model, request_of_engine(request, one), std::span(&searched, 1));
    if (found.ok()) {
      append(all, std::move(found.value()));
    } else {
      errors.push_back(fmt::format("{}: {}", name_of(one.engine), found.error().message));
    }
  }
  if (all.candidates.empty()) return core::Error{core::join(errors, "; ")};
  all.notes.insert(all.notes.end(), errors.begin(), errors.end());
  return all;
}

core::Result<SearchResult> search_whole(const serving::Model& model,
                                        const SearchRequest& request,
                                        std::span<const EngineSystems> engines) {
  const bool is_any_calibrated = std::any_of(engines.begin(), engines.end(), is_calibrated);
  if (is_any_calibrated && engines.size() > 1) return search_calibrated(model, request, engines);
  std::vector<SearchedEngine> searched;
  for (const EngineSystems& one : engines)
    searched.push_back({one.engine, one.precision, one.system.tables, one.system.version});
  return search(model, request, searched);
}

core::Result<SearchResult> search_split(const serving::Model& model,
                                        const SearchRequest& request,
                                        const EngineSystems& engine) {
  SearchRequest of_engine = request;
  of_engine.engine = engine.engine;
  of_engine.precision = engine.precision;
  SearchResult found =
      ASSAY_TRY(search_disaggregated(model, of_engine, engine.system, engine.decode_system));
  for (Candidate& candidate : found.candidates)
    candidate.engine = engine.engine;
  for (Refused& refused : found.refused)
    refused.engine = engine.engine;
  return found;
}

// Of all engines. Error: that of the first, where none has a candidate.
core::Result<SearchResult> search_all_split(const serving::Model& model,
                                            const SearchRequest& request,
                                            std::span<const EngineSystems> engines) {
  SearchResult all;
  std::vector<std::string> errors;
  for (const EngineSystems& engine : engines) {
    core::Result<SearchResult> found = search_split(model, request, engine);
    if (found.ok()) {
      append(all, std::move(found.value()));
    } else {
      errors.push_back(engines.size() == 1
                           ? found.error().message
                           : fmt::format("{}: {}", name_of(engine.engine), found.error().message));
    }
  }
  if (all.candidates.empty()) return core::Error{errors.front()};
  all.notes.insert(all.notes.end(), errors.begin(), errors.end());
  all.notes.push_back(transfer_note(engines.front().system, engines.front().decode_system));
  return all;
}

}  // namespace

core::Result<SearchResult> search_modes(const serving::Model& model,
                                        const SearchRequest& request,
                                        ServingMode mode,
                                        std::span<const EngineSystems> engines) {
  if (mode == ServingMode::kAggregated) return search_whole(model, request, engines);
  core::Result<SearchResult> split = search_all_split(model, request, engines);
  if (mode == ServingMode::kDisaggregated) return split;
  core::Result<SearchResult> whole = search_whole(model, request, engines);
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

core::Result<DeploymentCurves> curves_of_engines(const serving::Model& model,
                                                 const SearchRequest& request,
                                                 std::span<const EngineSystems> engines) {
  DeploymentCurves all;
  const auto searches = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  std::vector<std::string> errors;
  for (const EngineSystems& one : engines) {
    const SearchedEngine searched{one.engine, one.precision, one.system.tables, one.system.version};
    core::Result<DeploymentCurves> made =
        deployment_curves(model, request_of_engine(request, one), std::span(&searched, 1));
    if (!made.ok()) {
      errors.push_back(engines.size() == 1
                           ? made.error().message
                           : fmt::format("{}: {}", name_of(one.engine), made.error().message));
      continue;
    }
    std::move(made.value().curves.begin(), made.value().curves.end(),
              std::back_inserter(all.curves));
    std::move(made.value().refused.begin(), made.value().refused.end(),
              std::back_inserter(all.refused));
    searches->push_back(made.value().search);
  }
  if (all.curves.empty()) return core::Error{core::join(errors, "; ")};
  all.notes = std::move(errors);
  all.search = searches;
  return all;
}

}  // namespace assay::plan
