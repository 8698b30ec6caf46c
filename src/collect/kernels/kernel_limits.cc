#include <fmt/core.h>

#include <type_traits>

#include "collect/kernels/block_scales.h"
#include "collect/kernels/collective_pattern.h"
#include "collect/kernels/kernel_cost.h"

namespace assay::collect {
namespace {

// A reason names no sizes of the case, because summaries count cases by their reasons.
using Reason = std::optional<std::string>;

constexpr double kGigabyte = 1e9;

// The first architecture whose tensor cores multiply this type. cuBLASLt has scales for blocks of
// 128 from Hopper on.
int least_sm(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kFloat16:
      return 70;
    case DataType::kInt8:
      return 75;
    case DataType::kBfloat16:
      return 80;
    case DataType::kFp8:
      return 89;
    case DataType::kFp8Block:
    case DataType::kMxfp4:
      return 90;
  }
  return 0;
}

Reason type_limit(DataType type, const DeviceFacts& facts) {
  if (facts.kind == "cpu") {
    if (bytes_of(type) > 1 && type != DataType::kMxfp4) return std::nullopt;
    return fmt::format("CPUs are measured in float32, bfloat16 and float16, not in {}",
                       name_of(type));
  }
  if (facts.sm_version >= least_sm(type)) return std::nullopt;
  return fmt::format("{} needs compute capability {:.1f}, this device has {:.1f}", name_of(type),
                     least_sm(type) / 10.0, facts.sm_version / 10.0);
}

// Only mixtures of experts have 4-bit weights.
template <class Spec>
Reason packed_limit(const Spec& spec) {
  if constexpr (requires { spec.type; } && !std::is_same_v<Spec, MoeSpec>) {
    if (spec.type == DataType::kMxfp4)
      return fmt::format("only moe is measured in {}", name_of(spec.type));
  }
  return std::nullopt;
}

Reason memory_limit(double needed_bytes, const DeviceFacts& facts) {
  const auto free_bytes = static_cast<double>(facts.memory_bytes);
  if (facts.memory_bytes == 0 || needed_bytes <= free_bytes) return std::nullopt;
  return fmt::format("needs more memory than is free ({:.1f} GB)", free_bytes / kGigabyte);
}

Reason share_limit(std::int64_t count,
                   std::string_view what,
                   std::int64_t parts,
                   std::string_view sharers) {
  if (count % parts == 0) return std::nullopt;
  return fmt::format("{} cannot be shared evenly by {}", what, sharers);
}

Reason block_limit(std::string_view what, std::int64_t size) {
  if (size % kScaleBlock == 0) return std::nullopt;
  return fmt::format("fp8_block needs {} to be a multiple of {}", what, kScaleBlock);
}

Reason kernel_limit(const GemmSpec& spec, const DeviceFacts& facts) {
  if (Reason reason = type_limit(spec.type, facts)) return reason;
  if (spec.type != DataType::kFp8Block) return std::nullopt;
  if (Reason reason = block_limit("n", spec.n)) return reason;
  return block_limit("k", spec.k);
}

Reason kernel_limit(const AttentionSpec& spec, const DeviceFacts& facts) {
  if (Reason reason = type_limit(spec.type, facts)) return reason;
  if (Reason reason = type_limit(spec.kv_type, facts)) return reason;
  return share_limit(spec.heads, "query heads", spec.kv_heads, "heads of keys");
}

Reason kernel_limit(const MoeSpec& spec, const DeviceFacts& facts) {
  if (Reason reason = type_limit(spec.type, facts)) return reason;
  if (Reason reason = share_limit(spec.experts, "experts", spec.ep, "GPUs")) return reason;
  if (Reason reason = share_limit(spec.intermediate, "an expert's width", spec.tp, "GPUs")) {
    return reason;
  }
  if (spec.top_k > spec.experts) return "a token cannot go to more experts than there are";
  if (spec.type != DataType::kFp8Block) return std::nullopt;
  if (Reason reason = block_limit("the hidden size", spec.hidden)) return reason;
  return block_limit("the intermediate size of a GPU", spec.intermediate / spec.tp);
}

Reason kernel_limit(const QuantizeSpec& /*spec*/, const DeviceFacts& facts) {
  return type_limit(DataType::kFp8, facts);
}

// Its kernels for prompts take the tensor cores of Hopper.
Reason kernel_limit(const DeltaNetSpec& spec, const DeviceFacts& facts) {
  constexpr int kHopper = 90;
  if (facts.kind == "cpu") return "a CPU has no kernels of the gated delta net here";
  if (facts.sm_version < kHopper) {
    return fmt::format(
        "the gated delta net needs compute capability {:.1f}, this device has {:.1f}",
        kHopper / 10.0, facts.sm_version / 10.0);
  }
  return share_limit(spec.value_heads, "value heads", spec.key_heads, "heads of keys");
}

Reason kernel_limit(const MemorySpec& /*spec*/, const DeviceFacts& /*facts*/) {
  return std::nullopt;
}

Reason kernel_limit(const CollectiveSpec& spec, const DeviceFacts& facts) {
  if (spec.ranks > facts.count) {
    return fmt::format("needs more {} than can be used here ({})",
                       facts.kind == "cpu" ? "ranks" : "GPUs", facts.count);
  }
  if (!has_parts(spec)) return std::nullopt;
  return share_limit(spec.elements, "elements", spec.ranks, "ranks");
}

Reason kernel_limit(const TransferSpec& /*spec*/, const DeviceFacts& facts) {
  if (facts.kind != "cpu") return std::nullopt;
  return "a CPU has no launches and no bus to copy over";
}

}  // namespace

std::optional<std::string> limit_of(const KernelSpec& spec, const DeviceFacts& facts) {
  const auto packed = [](const auto& held) { return packed_limit(held); };
  if (Reason reason = std::visit(packed, spec)) return reason;
  const auto limit = [&](const auto& held) { return kernel_limit(held, facts); };
  if (Reason reason = std::visit(limit, spec)) return reason;
  return memory_limit(footprint_bytes(spec), facts);
}

}  // namespace assay::collect
