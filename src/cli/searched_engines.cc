#include "cli/searched_engines.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "core/text.h"

namespace assay::cli {

void SearchedEngines::add_calibrations(model::Book& book) const {
  for (const CalibratedPools& one : pools)
    one.add_calibrations(book);
}

std::string SearchedEngines::calibrations_text() const {
  std::vector<std::string> texts;
  for (const CalibratedPools& one : pools)
    if (one.calibration.entry) texts.push_back(one.calibration.text);
  return texts.empty() ? "none" : core::join(texts, "; ");
}

core::Result<SearchedEngines> searched_engines(PlanInputs& inputs,
                                               const serving::Model& model,
                                               const EnginesAsked& asked) {
  const bool are_several = asked.engines.size() > 1;
  SearchedEngines searched;
  std::set<std::string> reasons;
  std::vector<plan::EngineCache> caches;
  for (const plan::Engine engine : asked.engines) {
    std::string missing = ASSAY_TRY(inputs.missing_tables(asked.served.system, engine));
    if (are_several && !missing.empty()) {
      reasons.insert(missing);
      searched.notes.push_back(std::move(missing));
      continue;
    }
    ServedModel served = asked.served;
    served.engine = engine;
    core::Result<CalibratedPools> pools =
        calibrated_pools(inputs, served, asked.decode_system, asked.calibration, model.name);
    if (!pools.ok() && (!are_several || asked.calibration.empty())) return pools.error();
    if (!pools.ok()) {
      reasons.insert(pools.error().message);
      searched.notes.push_back(
          fmt::format("{} is left out: {}", plan::name_of(engine), pools.error().message));
      continue;
    }
    const serving::Precision precision = plan::served_precision(engine, model, served.cache);
    inputs.warn_of_lacking_model(engine, pools.value().system.version, model);
    caches.push_back({engine, precision.cache});
    searched.systems.push_back(
        {engine, precision, pools.value().system, pools.value().decode_system});
    searched.pools.push_back(std::move(pools.value()));
  }
  if (searched.systems.empty())
    return core::Error{core::join(std::vector(reasons.begin(), reasons.end()), "; ")};
  std::string kept = plan::cache_types_in_words(model, caches);
  if (!kept.empty()) searched.notes.push_back(std::move(kept));
  return searched;
}

core::Status check_several_engines(const std::vector<plan::Engine>& engines,
                                   const ServedModel& served,
                                   PlannerCompat compat) {
  if (engines.size() == 1) return {};
  if (!served.version.empty())
    return core::Error{"--backend-version is that of one engine: say which by --backend"};
  if (compat != PlannerCompat::kNone)
    return core::Error{"--compat is of one engine: name it by --backend"};
  return {};
}

}  // namespace assay::cli
