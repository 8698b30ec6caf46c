// Operators whose category is known but whose arguments do not say what they compute. They appear
// in the ops sheets and, without figures, in unified_perf_summary.
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

const OperatorFamily kUnmodelledGemm{
    "gemm without model",
    "tex_ts::te_gemm_ts vllm::gemm_with_dynamic_quant _Linear_yfwd_mm _LinearBackward_xgrad_mm"
    " _LinearBackward_wgrad_mm _LayerNormLinear_yfwd_mm _LayerNormLinearBackward_xgrad_mm"
    " _LayerNormLinearBackward_wgrad_mm aiter::batched_gemm_a16wfp4_ aiter::gemm_afp4wfp4_"
    " sglang_profiler::gemm_kernels_flydsl_hgemm"
    " sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_"
    "batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant",
    "GEMM"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledGemm);

const OperatorFamily kUnmodelledFusedExperts{"moe fused without model",
                                             "pseudo_op::moe_aiter_fused_1stage", "MoE_fused"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledFusedExperts);

const OperatorFamily kUnmodelledUnfusedExperts{
    "moe unfused without model",
    "aiter::moe_cktile2stages_gemm1_ck aiter::moe_cktile2stages_gemm2_ck"
    " pseudo_op::moe_triton_unfused_up pseudo_op::moe_triton_unfused_down"
    " pseudo_op::moe_gptq_awq_up pseudo_op::moe_gptq_awq_down pseudo_op::moe_flydsl_stage1"
    " pseudo_op::moe_flydsl_stage2"
    " sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel",
    "MoE_unfused"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledUnfusedExperts);

const OperatorFamily kExpertRouting{
    "moe routing",
    "aiter::biased_grouped_topk_hip aiter::moe_sorting_fwd aiter::mxfp4_moe_sort_hip"
    " sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts"
    " aiter::topk_softplus aiter::moe_sorting_opus_fwd aiter::moe_align_block_size"
    " _moe_C::moe_align_block_size aiter::moe_sum aiter::topk_softmax aiter::topk_softmax_asm"
    " aiter::topk_sigmoid aiter::grouped_topk aiter::moe_fused_gate"
    " aiter::fused_dynamic_mxfp4_quant_moe_sort_hip",
    "MoE_aux"};
ASSAY_REGISTER(OperatorFamily, kExpertRouting);

const OperatorFamily kInferenceAttention{
    "inference attention",
    "vllm::unified_attention_with_output aiter::mha_varlen_fwd aiter::fmha_v3_varlen_fwd"
    " aiter::mha_batch_prefill sglang_profiler::attention_paged_attention_ragged"
    " pseudo_mla_decode_fwd pseudo_mla_prefill_fwd aiter::pa_decode_gluon"
    " pseudo_v4_paged_decode_swa pseudo_v4_paged_decode_csa pseudo_v4_paged_decode_hca"
    " aiter::pa_sparse_prefill_opus_fwd sglang_profiler::tilelang_kernel_tilelang_sparse_fwd"
    " vllm::gdn_attention_core aiter::linear_attention_with_output_base sglang::store_cache"
    " _C_cache_ops::reshape_and_cache_flash _C_cache_ops::concat_and_cache_mla"
    " aiter::get_mla_metadata_v1 aiter::indexer_score_topk",
    "InferenceAttention"};
ASSAY_REGISTER(OperatorFamily, kInferenceAttention);

const OperatorFamily kGroupQuantization{
    "group quantization",
    "aiter::dynamic_per_token_scaled_quant aiter::dynamic_per_group_scaled_quant"
    " aiter::fused_dynamic_mx_quant_moe_sort_hip vllm::triton_per_token_group_quant_fp8"
    " sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant"
    " aiter::dynamic_per_tensor_quant sglang_profiler::quant_dynamic_mxfp4_quant"
    " aiter::dynamic_per_group_scaled_quant_fp4",
    "GroupQuant"};
ASSAY_REGISTER(OperatorFamily, kGroupQuantization);

const OperatorFamily kCustomCollective{
    "custom collective",
    "aiter::fused_allreduce_rmsnorm aiter::fused_allreduce_rmsnorm_ _C_custom_ar::all_reduce"
    " aiter::reduce_scatter aiter::all_gather_reg sgl_kernel::all_reduce_reg"
    " sgl_kernel::qr_all_reduce sglang::reg_all_gather_into_tensor _C_custom_ar::qr_all_reduce",
    "CustomCollective"};
ASSAY_REGISTER(OperatorFamily, kCustomCollective);

const OperatorFamily kHyperConnections{
    "manifold hyper-connections",
    "aiter::mhc_post aiter::mhc_pre_gemm_sqrsum aiter::mhc_pre_big_fuse_rmsnorm"
    " aiter::mhc_fused_post_pre_gemm_sqrsum",
    "mHC"};
ASSAY_REGISTER(OperatorFamily, kHyperConnections);

}  // namespace
}  // namespace assay::trace
