// Operators that measure what a launch costs by itself, and what the bus between host and GPU can
// carry. The public collector has no table for them: they write transfer_perf, with the kind as
// op_name and the column bytes (0 for a launch). The operator nccl measures copies between GPUs, as
// send_recv.
#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

using TransferKind = TransferSpec::Kind;

constexpr std::int64_t kLeastBytes = 512;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

Axis bytes_axis(TransferKind kind) {
  if (kind == TransferKind::kLaunch) {
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

TransferSpec transfer_spec(const Case& point, TransferKind kind) {
  return {.kind = kind, .bytes = point.integer("bytes")};
}

Operator transfer_operator(const char* name, const char* summary, TransferKind kind) {
  return {
      .name = name,
      .summary = summary,
      .table = "transfer_perf",
      .axes = {bytes_axis(kind)},
      .skip = [kind](
                  const Case& point,
                  const DeviceFacts& facts) { return limit_of(transfer_spec(point, kind), facts); },
      .cost = [kind](const Case& point) { return cost_of(transfer_spec(point, kind)); },
      .parts =
          [kind, name](const Case& point) {
            return std::vector<Part>{
                {name, "transfer_perf", key_of(point), transfer_spec(point, kind)}};
          },
  };
}

const Operator kLaunch = transfer_operator(
    "launch", "launch of a kernel that does nothing: overhead of a launch", TransferKind::kLaunch);
const Operator kHostToDevice = transfer_operator(
    "host_to_device", "copy of pinned memory to the GPU, over PCIe", TransferKind::kHostToDevice);
const Operator kDeviceToHost = transfer_operator(
    "device_to_host", "copy from the GPU to pinned memory, over PCIe", TransferKind::kDeviceToHost);
ASSAY_REGISTER(Operator, kLaunch);
ASSAY_REGISTER(Operator, kHostToDevice);
ASSAY_REGISTER(Operator, kDeviceToHost);

}  // namespace
}  // namespace assay::collect
