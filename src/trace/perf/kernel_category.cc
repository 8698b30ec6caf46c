#include "trace/perf/kernel_category.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct KernelKind {
  std::string_view part;  // of the name, in any case
  std::string_view category;
};

constexpr std::array kKernels = {
    KernelKind{"memcpy ", "memcpy"},
    KernelKind{"memset ", "memset"},
    KernelKind{"triton_poi_", "triton"},
    KernelKind{"triton_red_", "triton"},
    KernelKind{"triton_per_", "triton"},
    KernelKind{"triton_tem_", "triton"},
    // attention
    KernelKind{"pagedkvcache", "InferenceAttention"},
    KernelKind{"paged_attention", "InferenceAttention"},
    KernelKind{"unified_attention", "InferenceAttention"},
    KernelKind{"flash_fwd_splitkv", "InferenceAttention"},
    KernelKind{"merge_attn_states", "InferenceAttention"},
    KernelKind{"mla_", "InferenceAttention"},
    KernelKind{"flash_bwd", "SDPA_bwd"},
    KernelKind{"flashattnbwd", "SDPA_bwd"},
    KernelKind{"fmha_bwd", "SDPA_bwd"},
    KernelKind{"fmhabwd", "SDPA_bwd"},
    KernelKind{"flash_fwd", "SDPA_fwd"},
    KernelKind{"flashattnfwd", "SDPA_fwd"},
    KernelKind{"fmha", "SDPA_fwd"},
    KernelKind{"attn_fwd", "SDPA_fwd"},
    KernelKind{"attn_bwd", "SDPA_bwd"},
    KernelKind{"rope", "FusedRoPE"},
    KernelKind{"rotary_embedding", "RoPE_fwd"},
    KernelKind{"reshape_and_cache", "InferenceAttention"},
    // experts
    KernelKind{"moe_align_block_size", "MoE_aux"},
    KernelKind{"moe_sum", "MoE_aux"},
    KernelKind{"moe_sort", "MoE_aux"},
    KernelKind{"moesort", "MoE_aux"},
    KernelKind{"finalizemoerouting", "MoE_aux"},
    KernelKind{"topkgating", "MoE_aux"},
    KernelKind{"grouped_topk", "MoE_aux"},
    KernelKind{"fused_moe", "MoE_fused"},
    KernelKind{"fmoe", "MoE_fused"},
    KernelKind{"moegemm", "MoE_fused"},
    KernelKind{"moe_gemm", "MoE_fused"},
    // convolutions of MIOpen and Composable Kernel, some of which are named after a product
    KernelKind{"igemm_fwd", "CONV_fwd"},
    KernelKind{"igemm_bwd", "CONV_bwd"},
    KernelKind{"igemm_wrw", "CONV_bwd"},
    KernelKind{"grouped_conv_fwd", "CONV_fwd"},
    KernelKind{"grouped_conv_bwd", "CONV_bwd"},
    KernelKind{"miopensp3asmconv", "CONV_fwd"},
    KernelKind{"miopenconv", "CONV_fwd"},
    KernelKind{"naive_conv", "CONV_fwd"},
    // the rest
    KernelKind{"miopenbatchnormbwd", "NORM_bwd"},
    KernelKind{"batchnorm", "NORM_fwd"},
    KernelKind{"__amd_rocclr_copybuffer", "memcpy"},
    KernelKind{"__amd_rocclr_fillbuffer", "memset"},
    KernelKind{"selective_scan", "SSM_fwd"},
    KernelKind{"causal_conv1d", "SSM_fwd"},
    KernelKind{"rmsnorm", "NORM_fwd"},
    KernelKind{"rms_norm", "NORM_fwd"},
    KernelKind{"layernorm", "NORM_fwd"},
    KernelKind{"layer_norm", "NORM_fwd"},
    KernelKind{"gemm", "GEMM"},
    KernelKind{"gemv", "GEMM"},
    KernelKind{"nvjet", "GEMM"},
    KernelKind{"cijk_", "GEMM"},
    KernelKind{"bmm_", "GEMM"},
    KernelKind{"splitkreduce", "GEMM"},
    KernelKind{"wvsplitk", "GEMM"},
    KernelKind{"marlin", "GEMM"},
    KernelKind{"quant", "GroupQuant"},
    KernelKind{"act_and_mul", "elementwise"},
};

}  // namespace

std::string_view kernel_category(std::string_view kernel_name) {
  const std::string_view native = op_category("", kernel_name, Compat::kNone);
  if (native != "other") return native;
  const auto* const kind =
      std::find_if(kKernels.begin(), kKernels.end(), [&](const KernelKind& entry) {
        return core::contains_ignoring_case(kernel_name, entry.part);
      });
  return kind == kKernels.end() ? native : kind->category;
}

}  // namespace assay::trace
