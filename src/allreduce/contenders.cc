#include "allreduce/contenders.h"

#include <cstdint>
#include <utility>

#include "allreduce/shipped_tables.h"

namespace assay::allreduce {
namespace {

struct Arms {
  std::string name;
  std::vector<Strategy> strategies;
};

Contender by_lookup(std::string name, const Arms& arms, LookupTable table) {
  return {.name = std::move(name),
          .arms_name = arms.name,
          .arms = arms.strategies,
          .choose = [table = std::move(table)](const Cell& cell) {
            return table.lookup(cell.world_size, cell.fusion, cell.hidden_size, cell.num_tokens);
          }};
}

Contender by_argmin(const Arms& arms, const TunedTables& tables) {
  return by_lookup(
      "argmin of each cell", arms,
      lookup_table_of(decide_by_smallest_time(tables.timings, arms.strategies),
                      tables.options.data_type, tables.table.sm_version, Strategy::kNccl));
}

Contender nccl_always(const Arms& arms) {
  return {.name = "NCCL always",
          .arms_name = arms.name,
          .arms = arms.strategies,
          .choose = [](const Cell&) { return Strategy::kNccl; }};
}

Contender by_table(const Arms& arms, const StrategyTable& table) {
  return {.name = "this table",
          .arms_name = arms.name,
          .arms = arms.strategies,
          .choose = [&table](const Cell& cell) {
            return table.lookup(cell.world_size, cell.fusion, cell.data_type, cell.hidden_size,
                                cell.num_tokens);
          }};
}

}  // namespace

std::vector<Contender> contenders(const TunedTables& tables) {
  const Arms all{.name = "all", .strategies = tables.strategies};
  const Arms open{.name = "public", .strategies = tables.public_strategies};
  std::vector<Contender> result;
  result.push_back(by_table(all, tables.table));
  result.push_back(by_argmin(all, tables));
  result.push_back(nccl_always(all));
  result.push_back(by_lookup("this lookup table", open, tables.lookup));
  result.push_back(by_argmin(open, tables));
  for (ShippedTable& shipped : shipped_tables())
    result.push_back(by_lookup(std::string(shipped.name), open, std::move(shipped.table)));
  result.push_back({.name = "FlashInfer's rule",
                    .arms_name = open.name,
                    .arms = open.strategies,
                    .choose = flashinfer_rule});
  result.push_back(nccl_always(open));
  return result;
}

Strategy flashinfer_rule(const Cell& cell) {
  constexpr std::int64_t kMib = 1 << 20;
  const std::int64_t limit = (cell.world_size <= 2 ? 512 : (cell.world_size <= 4 ? 64 : 42)) * kMib;
  return 2 * cell.world_size * cell.size_bytes() <= limit ? Strategy::kOneshot : Strategy::kTwoshot;
}

}  // namespace assay::allreduce
