#include "sweep/preset.h"

namespace assay::sweep {
namespace {

core::Result<Setting> make_nccl_algo(const std::string& algorithm, const std::string& protocol) {
  return Setting{folder_text(algorithm) + "_" + folder_text(protocol),
                 {{"NCCL_ALGO", algorithm}, {"NCCL_PROTO", protocol}}};
}

const PresetSpec kNcclAlgo{
    .name = "nccl-algo",
    .summary = "NCCL: algorithm and protocol of collectives",
    .pair = "ALGO,PROTO",
    .default_pairs = "default Ring,Simple Ring,LL128 Ring,LL",
    .make = make_nccl_algo,
};
ASSAY_REGISTER(PresetSpec, kNcclAlgo);

}  // namespace
}  // namespace assay::sweep
