#include "cli/table_times.h"

#include <fmt/core.h>

namespace assay::cli {

core::Result<goal::LaunchTime> TableTimes::time(const serving::OperatorUse& use,
                                                const goal::LaunchAmounts& amounts) {
  const std::string key = fmt::format("{} {} {}", use.table, use.op_name, serving::key_text(use));
  auto bound = bound_.find(key);
  if (bound == bound_.end()) {
    serving::OperatorUse once = use;
    once.count = 1;
    bound = bound_.emplace(key, ASSAY_TRY(plan::OperatorPrice::bind(once, tables_))).first;
  }
  const plan::OperatorPrice& price = bound->second;
  const plan::Amounts asked{.tokens = amounts.tokens,
                            .requests = amounts.requests,
                            .new_tokens = amounts.new_tokens,
                            .cached_tokens = amounts.cached_tokens,
                            .expert_tokens = amounts.expert_tokens};
  const plan::Price answer = price.at(asked);
  const plan::Fidelity fidelity = price.fidelity();
  return goal::LaunchTime{
      .ns = answer.ms * 1e6,
      .flops = price.work(asked).flops,
      .source = price.source(),
      .has_key = price.has_key(),
      .is_beyond = answer.is_beyond,
      .is_formula = fidelity == plan::Fidelity::kFormula || fidelity == plan::Fidelity::kBound};
}

}  // namespace assay::cli
