// NCCL: ncclAllReduce with the algorithm that NCCL chooses, then one kernel for all fused
// operators. NCCL sums in the data type where it forwards partial sums, in an order of its own.
#include "allreduce/library/nccl_library.h"
#include "allreduce/strategies/fused_tail.h"

namespace assay::allreduce {
namespace {

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kFloat16:
      return ncclFloat16;
    default:
      return ncclFloat32;
  }
}

core::Status launch(const Device& device, const Arguments& a, const Request& request) {
  return launch_with_tail(
      device, a, request, [&](const Arguments& plain, const Request& sum) -> core::Status {
        if (sum.purpose == Purpose::kLoad) return {};
        const auto count = static_cast<std::size_t>(plain.vectors()) *
                           static_cast<std::size_t>(plain.elements_of_vector);
        return device.nccl->check(
            device.nccl->all_reduce(plain.input, plain.output, count, nccl_type(sum.data_type),
                                    ncclSum, device.nccl_comm, sum.stream),
            "ncclAllReduce");
      });
}

std::string refusal(const Device& /*device*/, const Arguments& a, Fusion fusion) {
  if (a.operation != Operation::kAllReduce) return "does all-reduce only";
  return fused_tail_refusal(a, fusion);
}

std::string refusal_of_symmetric(const Device& device, const Arguments& a, Fusion fusion) {
  return device.has_windows ? refusal(device, a, fusion) : "no buffer was registered with NCCL";
}

const StrategyKernel kNccl{.name = "NCCL",
                           .strategy = Strategy::kNccl,
                           .refusal = refusal,
                           .launch = launch,
                           .needs_nccl = true};
ASSAY_REGISTER(StrategyKernel, kNccl);

// The call is the same. NCCL uses its symmetric kernels when the buffers lie in registered windows.
const StrategyKernel kNcclSymmetric{.name = "NCCL_SYMMETRIC",
                                    .strategy = Strategy::kNcclSymmetric,
                                    .refusal = refusal_of_symmetric,
                                    .launch = launch,
                                    .needs_nccl = true};
ASSAY_REGISTER(StrategyKernel, kNcclSymmetric);

}  // namespace
}  // namespace assay::allreduce
