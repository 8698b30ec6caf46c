#include "cli/plan_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/operator_costs.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"
#include "plan/price/tree_tables.h"
#include "store/judging/roofline.h"

namespace assay::cli {
namespace {

std::string shipped_name_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

core::Result<const serving::Model*> PlanInputs::model(const std::string& path) {
  const auto known = models_.find(path);
  if (known != models_.end()) return &known->second;
  const std::string name = shipped_name_of(path);
  const bool is_shipped = serving::find_shipped_model(name) != nullptr;
  auto model = ASSAY_TRY(serving::read_model(is_shipped ? name : path));
  return &models_.emplace(path, std::move(model)).first->second;
}

core::Result<plan::Tables*> PlanInputs::tables(const std::string& system,
                                               plan::Engine engine,
                                               const std::string& version) {
  const std::string key = fmt::format("{} {} {}", system, plan::name_of(engine), version);
  const auto known = tables_.find(key);
  if (known != tables_.end()) return known->second.get();
  const store::Peaks peaks = ASSAY_TRY(store::read_peaks(systems_ / (system + ".yaml")));
  const auto roofline = [peaks](const std::string& table) {
    return store::table_rooflines(table, costed_operators(table), peaks).bound;
  };
  const auto formula = [peaks](const std::string& table) -> store::RooflineBinder {
    if (table != "memory_op_perf") return nullptr;
    store::Peaks slower = peaks;
    slower.memory_bytes_per_s *= 0.8;
    auto bound = store::table_rooflines(table, costed_operators(table), slower).bound;
    return [bound](const std::vector<model::PerfField>& exact,
                   const std::vector<std::string>& sizes) -> store::Roofline {
      return [roofline = bound(exact, sizes)](std::span<const double> values) {
        return roofline(values) + 0.003;
      };
    };
  };
  auto tables =
      std::make_unique<plan::TreeTables>(systems_ / system, engine, version, roofline, formula);
  return tables_.emplace(key, std::move(tables)).first->second.get();
}

}  // namespace assay::cli
