#include "trace/communication_kernel.h"

#include <gtest/gtest.h>

namespace assay::trace {
namespace {

constexpr auto kNone = std::nullopt;

// The names are as profilers show them.
TEST(CommunicationKernel, ExpertParallelLibraries) {
  EXPECT_EQ(communication_of("void deep_ep::internode::notify_dispatch<false, 4>(int const*)"),
            "notify");
  EXPECT_EQ(communication_of("void deep_ep::intranode::cached_notify_combine<8>(void**)"),
            "notify");
  EXPECT_EQ(communication_of("void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)"),
            "dispatch");
  EXPECT_EQ(communication_of("void ep::internode::notify_dispatch<true, 4>(int const*)"), "notify");
  EXPECT_EQ(communication_of("void ep::internode_ll::combine<7168>(void*)"), "combine");
  EXPECT_EQ(communication_of("_ZN2ep9intranode8dispatchILi8EEEvPv"), "dispatch");
  EXPECT_EQ(communication_of("void primus_turbo::deep_ep::intranode::combine<8>(int*)"), "combine");
  EXPECT_EQ(communication_of("_ZN7deep_ep12internode_ll7combineILb0ELi6144EEEvPv"), "combine");
  EXPECT_EQ(communication_of("void deep_ep::ep::dispatch_impl<true, ncclTeamTagLsa>(void*)"),
            "dispatch");
  EXPECT_EQ(communication_of("hybrid_ep::device_sync_kernel(unsigned int*)"), "barrier");
  EXPECT_EQ(communication_of("EpDispatchIntraNodeKernel_bf16"), "dispatch");
  EXPECT_EQ(communication_of("void mori::moe::EpCombineInterNodeV1Kernel<__hip_bfloat16>"
                             "(mori::moe::EpDispatchCombineArgs<__hip_bfloat16>)"),
            "combine");
  EXPECT_EQ(communication_of("void tensorrt_llm::kernels::mnnvl_throughput::"
                             "moeA2ADispatchKernel<tensorrt_llm::WarpPolicy, 8>(int const*)"),
            "dispatch");
}

TEST(CommunicationKernel, WorkOfSuchALibraryOnItsOwnGpuIsNone) {
  EXPECT_EQ(communication_of("void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)"),
            kNone);
  EXPECT_EQ(communication_of("void deep_ep::ep::combine_reduce_epilogue_impl<8, ncclTeamTagLsa>()"),
            kNone);
  EXPECT_EQ(communication_of("moeA2ASanitizeExpertIdsKernel"), kNone);
  EXPECT_EQ(communication_of("void assay::allreduce::(anonymous namespace)::fused_tail<__half>()"),
            kNone);
}

TEST(CommunicationKernel, AllReducesOfEnginesAndSymmetricMemory) {
  for (const char* name :
       {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
        "void sglang::cross_device_reduce_2stage<half, 2>(sglang::RankData*)",
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half>>()",
        "_ZN5aiter30allreduce_fusion_kernel_1stageIDF16bLi8EEEvv",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>()",
        "void tensorrt_llm::kernels::ar_fusion::moe::"
        "moefinalize_allreduce_fusion_kernel_oneshot_lamport<__half, 8>()",
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 4>()",
        "void tensorrt_llm::kernels::reduce_fusion::lamport_style_one_shot_all_reduce_norm_kernel",
        "void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8, __half>()",
        "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>()",
        "void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>()",
        "void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
        "void assay::allreduce::(anonymous namespace)::plain<__half, 8>(Arguments)",
        "_ZN5assay9allreduce12_GLOBAL__N_17twoshotI6__halfEEvv"}) {
    EXPECT_EQ(communication_of(name), "allreduce") << name;
  }
  EXPECT_EQ(communication_of("c10d::symmetric_memory::barrier_kernel(unsigned int**)"), "barrier");
  EXPECT_EQ(communication_of("void aiter::allgather_lastdim<std::bfloat16_t, 4>()"), "allgather");
}

TEST(CommunicationKernel, KernelsOfNcclSayWhatTheyReduce) {
  EXPECT_EQ(communication_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)"),
            "allreduce");
  EXPECT_EQ(communication_of("ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*)"),
            "reduce_scatter");
  EXPECT_EQ(communication_of("ncclAllGatherRingLLKernel_copy_i8(ncclColl)"), "allgather");
  EXPECT_EQ(communication_of("ncclDevKernel_Broadcast_RING_LL(x)"), "broadcast");
  EXPECT_EQ(communication_of("ncclDevKernel_Reduce_Sum_f32_RING_LL(x)"), "reduce");
  EXPECT_EQ(communication_of("ncclDevKernel_SendRecv(x)"), kSendOrReceive);
  EXPECT_EQ(communication_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", Compat::kTraceLens),
            "");
}

TEST(CommunicationKernel, KernelsOfNcclSayWhichTypeTheyReduce) {
  EXPECT_EQ(communicated_type("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)"),
            "BFloat16");
  EXPECT_EQ(communicated_type("ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*)"), "Half");
  EXPECT_EQ(communicated_type("ncclKernel_AllReduce_TREE_LL_Sum___nv_bfloat16(x)"), "BFloat16");
  for (const char* name :
       {"ncclDevKernel_AllReduce_Sum_u32_RING_LL(x)", "ncclDevKernel_AllGather_RING_LL(x)",
        "ncclDevKernel_SendRecv(float)", "cross_device_reduce_1stage_f32", "nccl", ""}) {
    EXPECT_EQ(communicated_type(name), "") << name;
  }
}

TEST(CommunicationKernel, SomeNamesDoNotSayWhatTheyCommunicate) {
  EXPECT_EQ(communication_of("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"), "");
  EXPECT_EQ(communication_of("RCCL_Kernel"), "");
  EXPECT_EQ(communication_of("nvshmemi_putmem_signal_kernel"), "");
}

TEST(CommunicationKernel, ComputationIsNone) {
  for (const char* name :
       {"nvjet_sm90_tst_256x128", "triton_poi_fused_one_shot_all_reduce_add_0",
        "void at::native::reduce_kernel<512, 1>()", "_fwd_kernel_ep_scatter_2",
        "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>()", "", "_Z"}) {
    EXPECT_EQ(communication_of(name), kNone) << name;
  }
}

TEST(CommunicationKernel, ThePublicToolKnowsThree) {
  EXPECT_EQ(communication_of("cross_device_reduce_1stage", Compat::kTraceLens), "allreduce");
  EXPECT_EQ(communication_of("NCCLKernel", Compat::kTraceLens), "");
  EXPECT_EQ(communication_of("EpDispatchIntraNodeKernel_bf16", Compat::kTraceLens), kNone);
}

}  // namespace
}  // namespace assay::trace
