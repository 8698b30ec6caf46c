#include "allreduce/call_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace assay::allreduce {
namespace {

constexpr std::uintptr_t kPointerAlignment = 16;
// Measured on 2 and 4 H200: up to here ONESHOT is the fastest of our strategies; with two GPUs it
// is never far from it.
constexpr std::int64_t kSmallMessageBytes = 256 * 1024;

// The number that a program in C wrote. Reading it as the enumeration that it is declared as would
// be undefined where it is none of it.
template <class Enumeration>
int number_of(const Enumeration& value) {
  static_assert(sizeof value == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

bool is_one_of(int number, std::size_t count) {
  return number >= 0 && static_cast<std::size_t>(number) < count;
}

bool is_strategy(int number) {
  return std::any_of(kStrategies.begin(), kStrategies.end(), [&](const StrategySpec& spec) {
    return static_cast<int>(spec.strategy) == number;
  });
}

bool is_nvfp4(const assay_allreduce_call& call) {
  return call.fusion == ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_NVFP4;
}

bool is_fp8(const assay_allreduce_call& call) {
  return call.fusion == ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_FP8;
}

bool has_scale_layout(const assay_allreduce_call& call) {
  switch (number_of(call.scale_layout)) {
    case ASSAY_ALLREDUCE_SCALE_DEFAULT:
      return true;
    case ASSAY_ALLREDUCE_SCALE_PER_TOKEN:
    case ASSAY_ALLREDUCE_SCALE_PER_GROUP_128:
      return is_fp8(call);
    case ASSAY_ALLREDUCE_SCALE_LINEAR:
    case ASSAY_ALLREDUCE_SCALE_BLOCKS_8X4:
      return is_nvfp4(call);
    default:
      return false;
  }
}

std::string enum_problem(const assay_allreduce_call& call) {
  constexpr std::size_t kOperations = ASSAY_ALLREDUCE_ALL_GATHER + 1;
  const auto none = [](const char* what, int number) {
    return std::string(what) + " number " + std::to_string(number);
  };
  const int strategy = number_of(call.strategy);
  const int fusion = number_of(call.fusion);
  const int data_type = number_of(call.data_type);
  const int operation = number_of(call.operation);
  if (!is_strategy(strategy)) return none("no strategy has", strategy);
  if (!is_one_of(fusion, kFusionNames.size())) return none("no fusion has", fusion);
  if (!is_one_of(data_type, kDataTypeNames.size())) return none("no data type has", data_type);
  if (!is_one_of(operation, kOperations)) return none("no operation has", operation);
  if (!has_scale_layout(call))
    return none("the fusion has no scale_layout of", number_of(call.scale_layout));
  return std::isfinite(call.weight_bias) ? "" : "weight_bias is not finite";
}

int hidden_multiple(const assay_allreduce_call& call) {
  if (call.scale_layout == ASSAY_ALLREDUCE_SCALE_PER_GROUP_128) return 128;
  return is_nvfp4(call) ? 16 : 8;
}

std::string split_problem(const assay_allreduce_call& call, int world_size) {
  if (call.operation == ASSAY_ALLREDUCE_ALL_REDUCE) return "";
  if (call.fusion != ASSAY_ALLREDUCE_FUSION_NONE) return "only ALL_REDUCE has fusions";
  return call.num_tokens % world_size == 0
             ? ""
             : "num_tokens is no multiple of the " + std::to_string(world_size) + " ranks";
}

}  // namespace

std::string shape_problem(const assay_allreduce_call& call, int world_size) {
  std::string problem = enum_problem(call);
  if (!problem.empty()) return problem;
  if (call.num_tokens < 0) return "num_tokens is negative";
  const int multiple = hidden_multiple(call);
  if (call.hidden_size < multiple || call.hidden_size % multiple != 0)
    return "hidden_size is no multiple of " + std::to_string(multiple);
  if (call.hidden_size > (1 << 30)) return "a row is beyond 2^30 elements";
  if (call.num_tokens > (std::int64_t{1} << 32) / call.hidden_size)
    return "the message is beyond 2^32 elements";
  if (call.threads < 0 || call.threads > 1024 || call.threads % 32 != 0 || call.blocks < 0)
    return "threads must be a multiple of 32 up to 1024, blocks not negative";
  return split_problem(call, world_size);
}

std::string pointer_problem(const assay_allreduce_call& call) {
  const bool fused = call.fusion != ASSAY_ALLREDUCE_FUSION_NONE;
  const bool quantized = is_fp8(call) || is_nvfp4(call);
  const bool dynamic = is_fp8(call) && call.scale_layout != ASSAY_ALLREDUCE_SCALE_STATIC;

  const struct {
    const char* name;
    const void* pointer;
    bool needed;
  } pointers[] = {{"input", call.input, true},
                  {"output", call.output, !quantized},
                  {"residual_in", call.residual_in, false},
                  {"residual_out", call.residual_out, fused && call.residual_in != nullptr},
                  {"gamma", call.gamma, fused},
                  {"quantized", call.quantized, quantized},
                  {"scale_out", call.scale_out, is_nvfp4(call) || dynamic}};

  for (const auto& [name, pointer, needed] : pointers) {
    if (needed && pointer == nullptr) return std::string(name) + " is null";
    if (reinterpret_cast<std::uintptr_t>(pointer) % kPointerAlignment != 0)
      return std::string(name) + " is not aligned to 16 bytes";
  }
  return quantized && !dynamic && call.scale == nullptr ? "scale is null" : "";
}

// Plain sums go in parts where they do not fit; a stand-in is for rows too long to fuse, and for
// strategies that the communicator lacks.
std::vector<Strategy> candidates(const assay_allreduce_call& call, const Abilities& abilities) {
  if (call.strategy != ASSAY_ALLREDUCE_AUTO) return {static_cast<Strategy>(call.strategy)};
  std::vector<Strategy> all = {abilities.table_choice(call).value_or(Strategy::kNccl)};
  const std::int64_t bytes =
      message_bytes(call.num_tokens, call.hidden_size, static_cast<DataType>(call.data_type));
  const bool small = bytes <= kSmallMessageBytes || abilities.world_size() == 2;
  if (small) all.push_back(Strategy::kOneshot);
  for (const Strategy strategy : strategies_instead())
    all.push_back(strategy);
  if (abilities.is_deterministic())
    std::erase_if(all, [](Strategy strategy) { return !spec_of(strategy).same_on_all_ranks(); });
  return all;
}

Verdict judge(const assay_allreduce_call& call, const Abilities& abilities) {
  std::string problem = shape_problem(call, abilities.world_size());
  if (!problem.empty()) return {ASSAY_ALLREDUCE_INVALID, std::move(problem)};
  auto [status, message] = abilities.problem();
  if (status != ASSAY_ALLREDUCE_OK) return {status, std::move(message)};
  if (call.num_tokens == 0) return {};
  problem = pointer_problem(call);
  if (!problem.empty()) return {ASSAY_ALLREDUCE_INVALID, std::move(problem)};
  std::string first_refusal;
  for (const Strategy strategy : candidates(call, abilities)) {
    std::string refusal = abilities.refusal(strategy, call);
    if (refusal.empty()) return {.strategy = strategy};
    if (first_refusal.empty()) first_refusal = std::move(refusal);
  }
  return {ASSAY_ALLREDUCE_UNSUPPORTED, std::move(first_refusal)};
}

assay_allreduce_explanation explanation_of(const assay_allreduce_call& call,
                                           const Verdict& chosen,
                                           int world_size,
                                           int sm_version,
                                           const StrategyTable* table) {
  const auto type = static_cast<DataType>(call.data_type);
  assay_allreduce_explanation told{};
  told.size = sizeof told;
  told.strategy = static_cast<assay_allreduce_strategy>(chosen.strategy.value_or(Strategy::kAuto));
  if (!chosen.strategy) return told;
  const std::int64_t bytes = message_bytes(call.num_tokens, call.hidden_size, type);
  told.link_limit_us = link_limit_us(*chosen.strategy, world_size, bytes, sm_version);
  if (table == nullptr) return told;
  const TableMatch match = table->find(world_size, static_cast<Fusion>(call.fusion), type,
                                       call.hidden_size, call.num_tokens);
  told.is_from_table = match.strategy == *chosen.strategy ? 1 : 0;
  const bool is_of_this_sm = table->sm_version == sm_version;
  told.is_measured = told.is_from_table != 0 && is_of_this_sm && match.is_measured() ? 1 : 0;
  if (match.slice == nullptr) return told;
  told.is_extrapolated = match.is_extrapolated ? 1 : 0;
  told.measured_world_size = match.slice->origin == Origin::kExtrapolated
                                 ? match.slice->from_world_size
                                 : match.slice->world_size;
  return told;
}

}  // namespace assay::allreduce
