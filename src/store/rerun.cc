#include <algorithm>
#include <cmath>
#include <map>

#include "core/statistics.h"
#include "store/table_check.h"

namespace assay::store {
namespace {

RerunResult compare(const std::string& table,
                    const std::vector<const Rerun*>& reruns,
                    double limit) {
  std::vector<double> deviations;
  RerunResult result{
      .table = table, .pairs = static_cast<std::int64_t>(reruns.size()), .beyond = {}};
  result.beyond.of = result.pairs;
  for (const Rerun* rerun : reruns) {
    const bool valid = rerun->first > 0 && std::isfinite(rerun->second);
    const double deviation = valid ? std::abs(rerun->second / rerun->first - 1) : 1e9;
    deviations.push_back(deviation);
    if (deviation > limit) ++result.beyond.count;
    if (!result.beyond.where.empty() && deviation <= result.beyond.worst) continue;
    result.beyond.worst = deviation;
    result.beyond.where = rerun->where;
  }
  result.median = core::median(deviations);
  result.p95 = core::quantile(deviations, 0.95);
  return result;
}

}  // namespace

std::vector<RerunResult> compare_reruns(const std::vector<Rerun>& reruns, double limit) {
  std::map<std::string, std::vector<const Rerun*>> by_table;
  for (const Rerun& rerun : reruns)
    by_table[rerun.table].push_back(&rerun);
  std::vector<RerunResult> results;
  for (const auto& [table, some] : by_table)
    results.push_back(compare(table, some, limit));
  return results;
}

}  // namespace assay::store
