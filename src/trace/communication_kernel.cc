#include "trace/communication_kernel.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/text.h"

namespace assay::trace {
namespace {

// Marks kernels that only prepare or finish a transfer on their own GPU.
constexpr std::string_view kLocal = "local";

struct KernelPattern {
  std::string_view first;   // occurs in the name; one that ends in "::" is a namespace
  std::string_view second;  // occurs behind it; "" for any
  std::string_view communication;
};

constexpr std::array kKernels = {
    // DeepEP, its forks, and its branch for hybrid networks
    KernelPattern{"deep_ep::", "get_dispatch_layout", kLocal},
    KernelPattern{"deep_ep::", "_prologue", kLocal},
    KernelPattern{"deep_ep::", "_epilogue", kLocal},
    KernelPattern{"deep_ep::", "notify", "notify"},
    KernelPattern{"deep_ep::", "dispatch", "dispatch"},
    KernelPattern{"deep_ep::", "combine", "combine"},
    KernelPattern{"deep_ep::", "barrier", "barrier"},
    KernelPattern{"deep_ep::", "clean_low_latency_buffer", "barrier"},
    KernelPattern{"ep::internode::", "notify", "notify"},
    KernelPattern{"ep::internode::", "dispatch", "dispatch"},
    KernelPattern{"ep::internode::", "combine", "combine"},
    KernelPattern{"ep::internode_ll::", "dispatch", "dispatch"},
    KernelPattern{"ep::internode_ll::", "combine", "combine"},
    KernelPattern{"ep::intranode::", "notify", "notify"},
    KernelPattern{"ep::intranode::", "dispatch", "dispatch"},
    KernelPattern{"ep::intranode::", "combine", "combine"},
    KernelPattern{"hybrid_ep::", "dispatch_kernel", "dispatch"},
    KernelPattern{"hybrid_ep::", "combine_kernel", "combine"},
    KernelPattern{"hybrid_ep::", "device_sync_kernel", "barrier"},
    // MORI
    KernelPattern{"EpDispatchIntraNode", "", "dispatch"},
    KernelPattern{"EpDispatchInterNode", "", "dispatch"},
    KernelPattern{"EpDispatchLowLatency", "", "dispatch"},
    KernelPattern{"EpCombineIntraNode", "", "combine"},
    KernelPattern{"EpCombineInterNode", "", "combine"},
    KernelPattern{"EpCombineLowLatency", "", "combine"},
    KernelPattern{"EpCombineSync", "", "barrier"},
    // TensorRT-LLM's and flashinfer's exchange of tokens
    KernelPattern{"moeA2ADispatchKernel", "", "dispatch"},
    KernelPattern{"moeA2ACombineKernel", "", "combine"},
    KernelPattern{"moeAllToAllKernel", "", "all_to_allv"},
    // PyTorch's symmetric memory
    KernelPattern{"_shot_all_reduce_kernel", "", "allreduce"},
    KernelPattern{"multimem_all_reduce_kernel", "", "allreduce"},
    KernelPattern{"multimem_one_shot_reduce_kernel", "", "reduce"},
    KernelPattern{"multimem_all_gather_kernel", "", "allgather"},
    KernelPattern{"c10d::symmetric_memory::", "barrier_kernel", "barrier"},
    KernelPattern{"c10d::symmetric_memory::", "put_signal_kernel", "signal"},
    KernelPattern{"c10d::symmetric_memory::", "wait_signal_kernel", "wait"},
    KernelPattern{"exchangeSplitAndOffset", "", "notify"},
    KernelPattern{"allToAllV", "", "all_to_allv"},
    // all-reduces of vLLM, SGLang, aiter, TensorRT-LLM and flashinfer
    KernelPattern{"quickreduce::", "", "allreduce"},
    KernelPattern{"allreduce_prototype_twoshot", "", "allreduce"},
    KernelPattern{"allreduce_fusion_kernel", "", "allreduce"},
    KernelPattern{"reduce_scatter_cross_device_store", "", "reduce_scatter"},
    KernelPattern{"aiter::", "allgather_", "allgather"},
    KernelPattern{"ShotAllReduceKernel", "", "allreduce"},
    KernelPattern{"shotAllreduce", "", "allreduce"},
    KernelPattern{"_shot_all_reduce_norm_kernel", "", "allreduce"},
    KernelPattern{"rmsNormLamport", "", "wait"},
    // the user buffers of TransformerEngine and TensorRT-LLM
    KernelPattern{"userbuffers_", "_rs", "reduce_scatter"},
    KernelPattern{"userbuffers_", "_ag", "allgather"},
    KernelPattern{"userbuffers_", "pushsend", "send"},
    KernelPattern{"userbuffers_", "pushrecv", "recv"},
    KernelPattern{"userbuffers_", "", "allreduce"},
    // assay's own all-reduces
    KernelPattern{"assay::allreduce::", "fused_tail", kLocal},
    KernelPattern{"assay::allreduce::", "twoshot", "allreduce"},
    KernelPattern{"assay::allreduce::", "plain", "allreduce"},
    KernelPattern{"assay::allreduce::", "fused", "allreduce"},
    // NVSHMEM and rocSHMEM, behind the libraries that call them
    KernelPattern{"barrier_on_stream_kernel", "", "barrier"},
    KernelPattern{"barrier_all_on_stream_kernel", "", "barrier"},
    KernelPattern{"nvshmem", "", ""},
    KernelPattern{"rocshmem", "", ""},
    KernelPattern{"msccl", "", ""},
    // NCCL and RCCL: one kernel serves all sends, receives and all-to-alls
    KernelPattern{"nccl", "AllReduce", "allreduce"},
    KernelPattern{"nccl", "ReduceScatter", "reduce_scatter"},
    KernelPattern{"nccl", "AllGather", "allgather"},
    KernelPattern{"nccl", "Broadcast", "broadcast"},
    KernelPattern{"nccl", "Reduce", "reduce"},
    KernelPattern{"nccl", "SendRecv", kSendOrReceive},
};

struct NamedType {
  std::string_view token;
  std::string_view dtype;
};

// How kernels of NCCL and RCCL, new and old, spell the types that they reduce. Those of integers
// are left out: NCCL sums signed ones with the kernels of unsigned ones.
constexpr std::array kTypes = {
    NamedType{"bf16", "BFloat16"},
    NamedType{"bfloat16", "BFloat16"},
    NamedType{"f16", "Half"},
    NamedType{"half", "Half"},
    NamedType{"f32", "Float"},
    NamedType{"float", "Float"},
    NamedType{"f64", "Double"},
    NamedType{"double", "Double"},
    NamedType{"f8e4m3", "Float8_e4m3fn"},
    NamedType{"f8e5m2", "Float8_e5m2"},
};

// The names that the public tool knows too, in any case.
constexpr std::array kTraceLensKernels = {
    KernelPattern{"cross_device_reduce", "", "allreduce"},
    KernelPattern{"nccl", "", ""},
    KernelPattern{"rccl", "", ""},
};

// Returns the spelling of a namespace in mangled names: "4c10d8internal" for "c10d::internal::".
std::string mangled(std::string_view namespaces) {
  std::string result;
  while (!namespaces.empty()) {
    const std::size_t end = namespaces.find("::");
    result += std::to_string(end) + std::string(namespaces.substr(0, end));
    namespaces.remove_prefix(end + 2);
  }
  return result;
}

bool fits(std::string_view name, const KernelPattern& pattern) {
  const bool is_mangled = name.starts_with("_Z") && pattern.first.ends_with("::");
  const std::string first = is_mangled ? mangled(pattern.first) : std::string(pattern.first);
  const std::size_t at = name.find(first);
  return at != std::string_view::npos &&
         name.find(pattern.second, at + first.size()) != std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> communication_of(std::string_view kernel_name, Compat compat) {
  if (compat == Compat::kNone) {
    for (const KernelPattern& pattern : kKernels) {
      if (!fits(kernel_name, pattern)) continue;
      if (pattern.communication == kLocal) return std::nullopt;
      return pattern.communication;
    }
  }
  for (const KernelPattern& pattern : kTraceLensKernels) {
    if (core::contains_ignoring_case(kernel_name, pattern.first)) return pattern.communication;
  }
  return std::nullopt;
}

std::string_view communicated_type(std::string_view kernel_name) {
  std::string_view name = kernel_name.substr(0, kernel_name.find('('));
  if (!name.starts_with("nccl")) return "";
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const std::string_view token = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                    [token](const NamedType& t) { return t.token == token; });
    if (known != kTypes.end()) return known->dtype;
  }
  return "";
}

}  // namespace assay::trace
