#include "trace/perf/operator_family.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::trace {
namespace {

struct Families {
  std::unordered_map<std::string_view, const OperatorFamily*> by_name;
  std::vector<std::pair<std::string_view, const OperatorFamily*>> by_prefix;

  [[nodiscard]] const OperatorFamily* find(std::string_view name) const {
    const auto found = by_name.find(name);
    if (found != by_name.end()) return found->second;
    for (const auto& [prefix, family] : by_prefix)
      if (name.starts_with(prefix)) return family;
    return nullptr;
  }
};

Families index_families() {
  constexpr std::string_view kSpace = " \n";
  Families families;
  for (const OperatorFamily* family : core::Registry<OperatorFamily>::all()) {
    std::string_view rest = family->operators;
    for (auto start = rest.find_first_not_of(kSpace); start != std::string_view::npos;
         start = rest.find_first_not_of(kSpace)) {
      rest.remove_prefix(start);
      const std::string_view name = rest.substr(0, rest.find_first_of(kSpace));
      if (name.ends_with('*')) {
        families.by_prefix.emplace_back(name.substr(0, name.size() - 1), family);
      } else {
        const bool is_new = families.by_name.emplace(name, family).second;
        ASSAY_CHECK(is_new, "an operator belongs to one family");
      }
      rest.remove_prefix(name.size());
    }
  }
  return families;
}

struct Named {
  std::string_view name;
  std::string_view category;
};

// The operators that aten::_scaled_dot_product_*_attention calls.
constexpr std::array kAttentionLeaves = {
    Named{"aten::_flash_attention_forward", "SDPA_fwd"},
    Named{"aten::_flash_attention_backward", "SDPA_bwd"},
    Named{"aten::_cudnn_attention_forward", "SDPA_fwd"},
    Named{"aten::_cudnn_attention_backward", "SDPA_bwd"},
};

// Kernels that an operator launched itself although it has modelled operators below it. Their rows
// of unified_perf_summary are named "operator->kernel (Synthetic Op)".
constexpr std::string_view kSynthetic = " (Synthetic Op)";
constexpr std::array kSyntheticOperators = {
    Named{"aiter::fused_moe_->_fused_dynamic_mxfp4_quant_moe_sort_kernel", "MoE_aux"},
    Named{"aiter::unified_attention_with_output_base->_fused_qk_rope_reshape_and_cache_kernel",
          "FusedRoPE"},
    Named{"hipModuleLaunchKernel->kv_indices_generate_kernel", "InferenceAttention"},
};

// The kernels that aiter::v4_attention_with_output launches in this way.
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

template <std::size_t N>
std::string_view category_in(const std::array<Named, N>& table, std::string_view name) {
  const auto* const found = std::find_if(table.begin(), table.end(),
                                         [&](const Named& entry) { return entry.name == name; });
  return found == table.end() ? "" : found->category;
}

std::string_view synthetic_category(std::string_view name) {
  if (!name.ends_with(kSynthetic)) return "";
  name.remove_suffix(kSynthetic.size());
  if (name.starts_with(kV4Attention))
    return category_in(kV4Kernels, name.substr(kV4Attention.size()));
  if (name.starts_with("aiter::allgather_lastdim<")) return "CustomCollective";
  return category_in(kSyntheticOperators, name);
}

// The names of PyTorch's own kernels say what they do.
std::string_view native_kernel_category(std::string_view kernel) {
  if (!kernel.starts_with("void at::native")) return "";
  for (const std::string_view kind : {"elementwise", "reduce", "multi_tensor_apply"})
    if (kernel.find(kind) != std::string_view::npos) return kind;
  return "";
}

}  // namespace

bool OperatorFamily::is_backward() const {
  constexpr std::string_view kSuffix = "_bwd";
  const std::string_view own_category = category;
  return own_category.size() > kSuffix.size() && own_category.ends_with(kSuffix);
}

const OperatorFamily* operator_family(std::string_view operator_name) {
  static const Families families = index_families();
  return families.find(operator_name);
}

std::string_view op_category(std::string_view operator_name,
                             std::string_view first_kernel,
                             Compat compat) {
  if (const OperatorFamily* family = operator_family(operator_name)) return family->category;
  if (compat == Compat::kNone) {
    const std::string_view attention = category_in(kAttentionLeaves, operator_name);
    if (!attention.empty()) return attention;
  }
  if (operator_name.starts_with("triton")) return "triton";
  if (operator_name.starts_with("record_param_comms")) return "record_param_comms";
  for (const std::string_view category :
       {synthetic_category(operator_name), native_kernel_category(first_kernel)})
    if (!category.empty()) return category;
  return "other";
}

}  // namespace assay::trace
