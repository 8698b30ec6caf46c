#include "cli/table_times.h"

#include <fmt/core.h>

#include <optional>

#include "store/judging/sustained_rate.h"

namespace assay::cli {

core::Result<TableTimes::Bound> TableTimes::bind(const serving::OperatorUse& use) {
  serving::OperatorUse once = use;
  once.count = 1;
  Bound bound{.price = ASSAY_TRY(plan::OperatorPrice::bind(once, tables_))};
  const plan::TableSource::Index& index = bound.price.index();
  if (use.op != "gemm" || index == nullptr) return bound;
  const std::optional<double> rate = store::sustained_flops(
      index->rows(), tables_.families_of(index, once), tables_.cost(use.table));
  bound.sustained_flops = rate.value_or(0);
  return bound;
}

core::Result<goal::LaunchTime> TableTimes::time(const serving::OperatorUse& use,
                                                const goal::LaunchAmounts& amounts) {
  const std::string key = fmt::format("{} {} {}", use.table, use.op_name, serving::key_text(use));
  auto bound = bound_.find(key);
  if (bound == bound_.end()) bound = bound_.emplace(key, ASSAY_TRY(bind(use))).first;
  const auto& [price, sustained_flops] = bound->second;
  const plan::Amounts asked{.tokens = amounts.tokens,
                            .requests = amounts.requests,
                            .new_tokens = amounts.new_tokens,
                            .cached_tokens = amounts.cached_tokens,
                            .expert_tokens = amounts.expert_tokens};
  const plan::Price answer = price.at(asked);
  const plan::Fidelity fidelity = price.fidelity();
  goal::LaunchTime time{
      .ns = answer.ms * 1e6,
      .flops = price.work(asked).flops,
      .source = price.source(),
      .has_key = price.has_key(),
      .is_beyond = answer.is_beyond,
      .is_formula = fidelity == plan::Fidelity::kFormula || fidelity == plan::Fidelity::kBound};
  const double sustained_ns = sustained_flops > 0 ? time.flops / sustained_flops * 1e9 : 0;
  if (time.ns < sustained_ns) {
    time.ns = sustained_ns;
    time.sustained_flops = sustained_flops;
  }
  return time;
}

}  // namespace assay::cli
