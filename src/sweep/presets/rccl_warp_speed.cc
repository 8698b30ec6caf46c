#include <fmt/core.h>

#include "sweep/preset.h"

namespace assay::sweep {
namespace {

core::Result<Setting> make_rccl_warp_speed(const std::string& compute_units,
                                           const std::string& threads) {
  const int cu = ASSAY_TRY(positive_number(compute_units, "CU count"));
  const int per_block = ASSAY_TRY(positive_number(threads, "number of threads"));
  return Setting{fmt::format("{}cu_{}threads", cu, per_block),
                 {{"RCCL_WARP_SPEED_ENABLE", "1"},
                  {"RCCL_UNROLL_FACTOR", "1"},
                  {"RCCL_WARP_SPEED_CU_COUNT", std::to_string(cu)},
                  {"RCCL_THREADS_PER_BLOCK", std::to_string(per_block)},
                  {"HSA_ENABLE_SDMA", "0"},
                  {"PYTORCH_ROCM_PROFILER_ENABLE_TRACING", "1"}}};
}

const PresetSpec kRcclWarpSpeed{
    .name = "rccl-warp-speed",
    .summary = "RCCL's warp-speed branch: compute units and threads per block of a collective",
    .pair = "CU_COUNT,THREADS",
    .default_pairs = "56,256 37,384 32,512",
    .make = make_rccl_warp_speed,
};
ASSAY_REGISTER(PresetSpec, kRcclWarpSpeed);

}  // namespace
}  // namespace assay::sweep
