#include "collect/cuda/moe_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/test_data.h"

namespace assay::collect {
namespace {

constexpr double kWrong = 1e9;

template <class T>
core::Result<std::vector<T>> read_back(Gpu& gpu, const T* from, std::size_t count) {
  std::vector<T> values(count);
  ASSAY_TRY(cuda_status(
      cudaMemcpyAsync(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, gpu.stream()),
      "reading the routing"));
  ASSAY_TRY(gpu.wait());
  return values;
}

struct Routed {
  std::vector<std::int32_t> chosen;
  std::vector<float> shares;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> counts;
};

core::Result<Routed> read_routed(Gpu& gpu, const MoeArguments& arguments) {
  const auto choices =
      static_cast<std::size_t>(arguments.tokens) * static_cast<std::size_t>(arguments.top_k);
  const auto experts = static_cast<std::size_t>(arguments.local_experts);
  Routed routed;
  routed.chosen = ASSAY_TRY(read_back(gpu, arguments.chosen, choices));
  routed.shares = ASSAY_TRY(read_back(gpu, arguments.shares, choices));
  routed.positions = ASSAY_TRY(read_back(gpu, arguments.positions, choices));
  routed.offsets = ASSAY_TRY(read_back(gpu, arguments.offsets, experts + 1));
  routed.counts = ASSAY_TRY(read_back(gpu, arguments.counts, experts));
  return routed;
}

Accuracy wrong(std::string where) {
  Accuracy accuracy;
  accuracy.worst = kWrong;
  accuracy.compared = 1;
  accuracy.where = std::move(where);
  return accuracy;
}

// Returns what is wrong, or "" if nothing is.
std::string offsets_wrong(const Routed& routed,
                          const MoeArguments& arguments,
                          const ExpertChoice& choice) {
  std::int64_t row = 0;
  for (std::size_t expert = 0; expert < routed.offsets.size(); ++expert) {
    if (routed.offsets[expert] != row)
      return fmt::format("expert {} begins at row {}, should at {}", expert, routed.offsets[expert],
                         row);
    if (expert == routed.counts.size()) break;
    const std::int64_t count = choice.tokens_of_expert[expert];
    if (routed.counts[expert] != count)
      return fmt::format("expert {} has {} tokens, should have {}", expert, routed.counts[expert],
                         count);
    row += (count + arguments.row_multiple - 1) / arguments.row_multiple * arguments.row_multiple;
  }
  return "";
}

std::string experts_wrong(const Routed& routed, const MoeSpec& spec, const ExpertChoice& choice) {
  for (std::int64_t token = 0; token < spec.tokens; ++token) {
    const std::ptrdiff_t begin = token * spec.top_k;
    const std::ptrdiff_t end = begin + spec.top_k;
    std::vector<std::int32_t> got(routed.chosen.begin() + begin, routed.chosen.begin() + end);
    std::vector<std::int32_t> should(choice.experts.begin() + begin, choice.experts.begin() + end);
    std::sort(got.begin(), got.end());
    std::sort(should.begin(), should.end());
    if (got != should) return fmt::format("token {} went to other experts", token);
  }
  return "";
}

// Each row of an expert belongs to one token.
std::string rows_wrong(const Routed& routed, const MoeArguments& arguments) {
  std::vector<bool> taken(static_cast<std::size_t>(arguments.local_rows));
  for (std::size_t i = 0; i < routed.positions.size(); ++i) {
    const std::int32_t row = routed.positions[i];
    const bool local = routed.chosen[i] < arguments.local_experts;
    if (!local && row == -1) continue;
    const auto expert = static_cast<std::size_t>(routed.chosen[i]);
    if (!local || row < routed.offsets[expert] ||
        row >= routed.offsets[expert] + routed.counts[expert] ||
        taken[static_cast<std::size_t>(row)])
      return fmt::format("choice {} of expert {} has row {}", i, routed.chosen[i], row);
    taken[static_cast<std::size_t>(row)] = true;
  }
  return "";
}

// The deviation is in units of 16 roundings of float32.
Accuracy shares_accuracy(const Routed& routed, const MoeSpec& spec) {
  Accuracy accuracy;
  for (std::int64_t token = 0; token < spec.tokens; ++token) {
    double sum = 0;
    for (std::int64_t i = 0; i < spec.top_k; ++i) {
      const auto at = static_cast<std::size_t>(token * spec.top_k + i);
      sum += std::exp(static_cast<double>(router_logit(token, routed.chosen[at], true)));
    }
    for (std::int64_t i = 0; i < spec.top_k; ++i) {
      const auto at = static_cast<std::size_t>(token * spec.top_k + i);
      const double expected =
          std::exp(static_cast<double>(router_logit(token, routed.chosen[at], true))) / sum;
      const double value = static_cast<double>(routed.shares[at]);
      const double difference = std::fabs(value - expected);
      const double units = std::isfinite(value) ? difference / (16 * 0x1p-24 * expected) : kWrong;
      ++accuracy.compared;
      if (!accuracy.where.empty() && units <= accuracy.worst) continue;
      accuracy.worst = units;
      accuracy.where = fmt::format("share[{}, {}] is {}, should be {}", token, i, value, expected);
    }
  }
  return accuracy;
}

const char* name_of_stage(MoeStage stage) {
  switch (stage) {
    case MoeStage::kGather:
      return "gathered";
    case MoeStage::kGatherScales:
      return "scale of gathered";
    case MoeStage::kActivate:
      return "activated";
    case MoeStage::kActivateScales:
      return "scale of activated";
    case MoeStage::kCombine:
      return "output";
  }
  return "";
}

}  // namespace

core::Result<Accuracy> check_routing(Gpu& gpu,
                                     const MoeArguments& arguments,
                                     const MoeSpec& spec,
                                     const ExpertChoice& choice) {
  const Routed routed = ASSAY_TRY(read_routed(gpu, arguments));
  for (const std::string& why :
       {experts_wrong(routed, spec, choice), offsets_wrong(routed, arguments, choice)}) {
    if (!why.empty()) return wrong(why);
  }
  const std::string why = rows_wrong(routed, arguments);
  if (!why.empty()) return wrong(why);
  return shares_accuracy(routed, spec);
}

core::Result<Accuracy> check_stage(Gpu& gpu, const MoeArguments& arguments, MoeStage stage) {
  ASSAY_TRY(cuda_status(compare_stage(arguments, stage, gpu.samples(), gpu.stream()), "checking"));
  return accuracy_of_samples(gpu, samples_of(stage_elements(arguments, stage)),
                             stage_columns(arguments, stage), name_of_stage(stage));
}

}  // namespace assay::collect
