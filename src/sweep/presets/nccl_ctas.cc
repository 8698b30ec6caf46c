#include <fmt/core.h>

#include "sweep/preset.h"

namespace assay::sweep {
namespace {

// NCCL accepts these values for NCCL_NTHREADS and replaces others with its own choice.
bool is_thread_count(int threads) {
  return threads == 64 || threads == 128 || threads == 256 || threads == 512;
}

core::Result<Setting> make_nccl_ctas(const std::string& ctas, const std::string& threads) {
  const int blocks = ASSAY_TRY(positive_number(ctas, "number of CTAs"));
  const int per_block = ASSAY_TRY(positive_number(threads, "number of threads"));
  if (!is_thread_count(per_block)) {
    return core::Error{
        fmt::format("NCCL would ignore {} threads; it takes 64, 128, 256 or 512", per_block)};
  }
  return Setting{fmt::format("{}cta_{}threads", blocks, per_block),
                 {{"NCCL_MIN_CTAS", std::to_string(blocks)},
                  {"NCCL_MAX_CTAS", std::to_string(blocks)},
                  {"NCCL_NTHREADS", std::to_string(per_block)}}};
}

const PresetSpec kNcclCtas{
    .name = "nccl-ctas",
    .summary = "NCCL: thread blocks (CTAs) of a collective and threads in each",
    .pair = "CTAS,THREADS",
    .default_pairs = "default 32,512 16,512 16,256 8,512 4,512",
    .make = make_nccl_ctas,
};
ASSAY_REGISTER(PresetSpec, kNcclCtas);

}  // namespace
}  // namespace assay::sweep
