// What a launch costs by itself, and what the bus between host and GPU can carry. The public
// collector has no table of them: theirs is transfer_perf, with the kind as op_name and the column
// bytes (0 of a launch). Between GPUs the operator nccl measures, as send_recv.
#include "collect/kernels/kernel_cost.h"
#include "collect/kernels/kernel_limits.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

using Kind = TransferSpec::Kind;

constexpr std::int64_t kLeastBytes = 512;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

Axis bytes_axis(Kind kind) {
  if (kind == Kind::kLaunch) {
    return {.column = "bytes",
            .option = "",
            .help = "0: nothing is moved",
            .unit = "bytes",
            .common = integers({0}),
            .least = 0,
            .most = 0};
  }
  return {.column = "bytes",
          .option = "",
          .help = "bytes that are copied, a multiple of 8",
          .unit = "bytes",
          .common = powers(kLeastBytes, kMostBytes),
          .coarse = powers(kLeastBytes, kMostBytes, 8),
          .least = 8,
          .most = kMostBytes * 16};
}

TransferSpec spec_of(const Case& of, Kind kind) {
  return {.kind = kind, .bytes = of.integer("bytes")};
}

Operator transfer_operator(const char* name, const char* summary, Kind kind) {
  return {
      .name = name,
      .summary = summary,
      .table = "transfer_perf",
      .axes = {bytes_axis(kind)},
      .skip = [kind](const Case& of,
                     const DeviceFacts& facts) { return limit_of(spec_of(of, kind), facts); },
      .cost = [kind](const Case& of) { return cost_of(spec_of(of, kind)); },
      .parts =
          [kind, name](const Case& of) {
            return std::vector<Part>{{name, "transfer_perf", key_of(of), spec_of(of, kind)}};
          },
  };
}

const Operator kLaunch = transfer_operator(
    "launch", "launch of a kernel that does nothing: overhead of a launch", Kind::kLaunch);
const Operator kHostToDevice = transfer_operator(
    "host_to_device", "copy of pinned memory to the GPU, over PCIe", Kind::kHostToDevice);
const Operator kDeviceToHost = transfer_operator(
    "device_to_host", "copy from the GPU to pinned memory, over PCIe", Kind::kDeviceToHost);
ASSAY_REGISTER(Operator, kLaunch);
ASSAY_REGISTER(Operator, kHostToDevice);
ASSAY_REGISTER(Operator, kDeviceToHost);

}  // namespace
}  // namespace assay::collect
