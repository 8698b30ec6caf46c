#include "trace/perf/categories.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct Named {
  std::string_view name;
  std::string_view category;
};

// Leaves below aten::_scaled_dot_product_*_attention.
constexpr std::array kAttentionLeaves = {
    Named{"aten::_flash_attention_forward", "SDPA_fwd"},
    Named{"aten::_flash_attention_backward", "SDPA_bwd"},
    Named{"aten::_cudnn_attention_forward", "SDPA_fwd"},
    Named{"aten::_cudnn_attention_backward", "SDPA_bwd"},
};

// Kernels that an operator launched beside the operators below it; rows of unified_perf_summary
// are named "operator->kernel (Synthetic Op)".
constexpr std::string_view kSynthetic = " (Synthetic Op)";
constexpr std::array kSyntheticOperators = {
    Named{"aiter::fused_moe_->_fused_dynamic_mxfp4_quant_moe_sort_kernel", "MoE_aux"},
    Named{"aiter::unified_attention_with_output_base->_fused_qk_rope_reshape_and_cache_kernel",
          "FusedRoPE"},
    Named{"hipModuleLaunchKernel->kv_indices_generate_kernel", "InferenceAttention"},
};

// The same of aiter::v4_attention_with_output.
constexpr std::string_view kV4Attention = "aiter::v4_attention_with_output->";
constexpr std::array kV4Kernels = {
    Named{"_inverse_rope_gptj_kernel", "FusedRoPE"},
    Named{"_update_compressor_states_kernel", "InferenceAttention"},
    Named{"_swa_write_kernel", "InferenceAttention"},
    Named{"qk_norm_rope_H32_D512_RD64_flydsl", "FusedRoPE"},
    Named{"qk_norm_rope_H64_D512_RD64_flydsl", "FusedRoPE"},
    Named{"hca_norm_rope_scatter_D512_RD64_R128_KB1_rmsbf16_flydsl", "FusedRoPE"},
    Named{"fused_compress_attn_D512_RD64_R4_OVL_SS8_KB32_rmsbf16_pf_flydsl", "InferenceAttention"},
    Named{"fused_compress_attn_D128_RD64_R4_OVL_SS8_KB32_Q_ue8m0_psh_rmsbf16_pf_flydsl",
          "InferenceAttention"},
    Named{"hca_compress_forward_D512_R128_NW4_SL256_S128_flydsl", "InferenceAttention"},
    Named{"hca_compress_forward_D512_R128_NW8_SL128_S128_flydsl", "InferenceAttention"},
};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

template <std::size_t N>
std::string_view find(const std::array<Named, N>& table, std::string_view name) {
  const auto* const found = std::find_if(table.begin(), table.end(),
                                         [&](const Named& entry) { return entry.name == name; });
  return found == table.end() ? "" : found->category;
}

std::string_view synthetic_category(std::string_view name) {
  if (name.size() < kSynthetic.size()) return "";
  const std::size_t end = name.size() - kSynthetic.size();
  if (name.substr(end) != kSynthetic) return "";
  const std::string_view core = name.substr(0, end);
  if (starts_with(core, kV4Attention)) return find(kV4Kernels, core.substr(kV4Attention.size()));
  if (starts_with(core, "aiter::allgather_lastdim<")) return "CustomCollective";
  return find(kSyntheticOperators, core);
}

// PyTorch's own kernels say in their names what they are.
std::string_view native_kernel_category(std::string_view kernel) {
  if (!starts_with(kernel, "void at::native")) return "";
  for (const std::string_view kind : {"elementwise", "reduce", "multi_tensor_apply"})
    if (kernel.find(kind) != std::string_view::npos) return kind;
  return "";
}

}  // namespace

std::string_view op_category(std::string_view operator_name,
                             std::string_view first_kernel,
                             Compat compat) {
  if (const OperatorFamily* family = operator_family(operator_name)) return family->category;
  if (compat == Compat::kNone) {
    const std::string_view attention = find(kAttentionLeaves, operator_name);
    if (!attention.empty()) return attention;
  }
  if (starts_with(operator_name, "triton")) return "triton";
  if (starts_with(operator_name, "record_param_comms")) return "record_param_comms";
  for (const std::string_view category :
       {synthetic_category(operator_name), native_kernel_category(first_kernel)})
    if (!category.empty()) return category;
  return "other";
}

}  // namespace assay::trace
