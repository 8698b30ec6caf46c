#include "trace/perf/kernel_category.h"

#include <gtest/gtest.h>

namespace assay::trace {
namespace {

TEST(KernelCategory, IsToldByTheName) {
  EXPECT_EQ(kernel_category("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"), "GEMM");
  EXPECT_EQ(kernel_category("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x512"), "GEMM");
  EXPECT_EQ(kernel_category("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90"
                            "<flash::CollectiveMainloopFwdSm90<2, cute::tuple<>>>>>(Params)"),
            "SDPA_fwd");
  EXPECT_EQ(kernel_category("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64>>()"),
            "InferenceAttention");
  EXPECT_EQ(kernel_category("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>()"),
            "InferenceAttention");
  EXPECT_EQ(kernel_category("_fused_qk_rope_reshape_and_cache_kernel"), "FusedRoPE");
  EXPECT_EQ(kernel_category("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>()"),
            "NORM_fwd");
  EXPECT_EQ(kernel_category("fused_moe_kernel"), "MoE_fused");
  EXPECT_EQ(kernel_category("void vllm::moe::moe_align_block_size_kernel<int>()"), "MoE_aux");
  EXPECT_EQ(kernel_category("void vllm::act_and_mul_kernel<c10::BFloat16, &silu_kernel>()"),
            "elementwise");
  EXPECT_EQ(kernel_category("void at::native::reduce_kernel<512, 1, ReduceOp<float>>()"), "reduce");
  EXPECT_EQ(kernel_category("triton_red_fused_add_mean_mul_pow_rsqrt_0"), "triton");
  EXPECT_EQ(kernel_category("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32"), "CONV_fwd");
  EXPECT_EQ(kernel_category("ck::kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle"), "CONV_fwd");
  EXPECT_EQ(kernel_category("MIOpenBatchNormBwdSpatial"), "NORM_bwd");
  EXPECT_EQ(kernel_category("attn_fwd"), "SDPA_fwd");
  EXPECT_EQ(kernel_category("__amd_rocclr_copyBuffer.kd"), "memcpy");
  EXPECT_EQ(kernel_category("Memcpy DtoD (Device -> Device)"), "memcpy");
  EXPECT_EQ(kernel_category("my_kernel"), "other");
}

}  // namespace
}  // namespace assay::trace
