#include "allreduce/shipped_tables.h"

#include <cstddef>

#include "core/check.h"

namespace assay::allreduce {
namespace {

// The data are transcribed from AllReduceBestStrategyTableSM90 in TensorRT-LLM's
// cpp/tensorrt_llm/common/customAllReduceUtils.h (Apache-2.0), of the 1.2 and 1.3 releases. Each
// table has one string for each of TP 2, 4, 8 × NONE, RESIDUAL_RMS_NORM,
// RESIDUAL_RMS_NORM_QUANT_FP8. A string has one word for each hidden size 128..8192, and a word has
// one digit, the strategy's number, for each token count 1..16384.
// clang-format off
constexpr std::array<std::string_view, 9> kOld = {
    "444445555544000 444444544444400 445445554544400 444454544444000 "
    "444445555445000 454544444440000 445544444400000",
    "444444444444000 444444444444400 444455554444000 444445545444000 "
    "444544444444000 444454444440000 444444444400000",
    "444445554444000 444544544544400 444455555444400 444555545444400 "
    "444554445444000 445444444440000 445444444400000",
    "444454454544000 444445555540000 444454555445000 444445545455000 "
    "444444454550000 444555545500000 444445455000000",
    "444444444444000 444444444440000 444444544445000 444444444455000 "
    "444444444550000 444444444500000 444444445000000",
    "444444444444000 444445545444000 444445455445000 444444444455000 "
    "444444444550000 444444444500000 444444445000000",
    "444444444440000 444444444455000 444444444555500 444444444555000 "
    "444444455550000 444444555500000 444445555000000",
    "444444444440000 444444444450000 444444444455000 444444444555000 "
    "444444440550000 444444400000000 444444000000000",
    "444444444440000 444444444455000 444444444455500 444444444555000 "
    "444444444550000 444444405500000 444444005000000",
};

constexpr std::array<std::string_view, 9> kNew = {
    "444444444444000 444444444444400 444444444444400 444444444444000 "
    "444444444444000 444444444444000 444444444444000",
    "444444444440000 444444444444400 444444444444400 444444444444000 "
    "444444444444000 444444444444400 444444444444400",
    "444444444440000 444444444444400 444444444444400 444444444444000 "
    "444444444444444 444444444444440 444444444444400",
    "444444444444000 444444444444000 444444444444000 444444444455000 "
    "444444444555000 444444445550000 444444445000000",
    "444444444444000 444444444440000 444444444440000 444444444455000 "
    "444444444550000 444444444550000 444444440000000",
    "444444444444000 444444444444000 444444444440000 444444444455000 "
    "444444444555000 444444444555500 444444445555500",
    "444444444440000 444444444440000 444444444455000 444444444055500 "
    "444444440555000 444444405500000 444444055000000",
    "444444444440000 444444444450000 444444444455000 444444444055000 "
    "444444440550000 444444400000000 444444000000000",
    "444444444440000 444444444440000 444444444455000 444444444055000 "
    "444444440555000 444444400050000 444444000000000",
};
// clang-format on

constexpr std::size_t kShippedFusions = 3;

Strategy strategy_of(char digit) {
  const auto strategy = static_cast<Strategy>(digit - '0');
  ASSAY_CHECK(spec_of(strategy).is_public, "a digit that is no strategy's");
  return strategy;
}

LookupTable table_from(const std::array<std::string_view, 9>& lines) {
  LookupTable table = empty_lookup_table(90, Strategy::kNccl);
  auto cell = table.cells.begin();
  for (std::size_t world_size = 0; world_size < table.world_sizes.size(); ++world_size) {
    for (std::size_t fusion = 0; fusion < table.fusions.size(); ++fusion) {
      const std::string_view line =
          fusion < kShippedFusions ? lines[world_size * kShippedFusions + fusion] : "";
      for (const char digit : line) {
        if (digit != ' ') *cell++ = {strategy_of(digit), true};
      }
      if (line.empty())
        cell += static_cast<std::ptrdiff_t>(table.hidden_sizes.size() * table.num_tokens.size());
    }
  }
  ASSAY_CHECK(cell == table.cells.end(), "a shipped table of another size");
  return table;
}

}  // namespace

std::array<ShippedTable, 2> shipped_tables() {
  return {ShippedTable{.name = "shipped 1.2",
                       .source = "TensorRT-LLM 1.2, AllReduceBestStrategyTableSM90",
                       .table = table_from(kOld)},
          ShippedTable{.name = "shipped 1.3",
                       .source = "TensorRT-LLM 1.3, AllReduceBestStrategyTableSM90",
                       .table = table_from(kNew)}};
}

}  // namespace assay::allreduce
