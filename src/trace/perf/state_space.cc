// State-space models (Mamba): the causal convolution and the chunked scan.
#include <cmath>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

// _causal_conv1d_fwd_cpp(x[batch, channels, length], weight[channels, width], bias?, …) gives each
// channel a filter of its own.
core::Result<Estimate> causal_convolution(const OperatorCall& call) {
  const Shape x = ASSAY_TRY(call.shape(0, 3));
  const Shape weight = ASSAY_TRY(call.shape(1, 2));
  const bool bias = call.is_tensor(2);
  const double elements = element_count(x);
  Estimate estimate{{{"batch", Argument{x[0]}},
                     {"channels", Argument{x[1]}},
                     {"seq_len", Argument{x[2]}},
                     {"kernel_size", Argument{weight[1]}},
                     {"has_bias", Argument{bias}}},
                    compute_spec(ComputeUnit::kMatrix, call.type(0)),
                    {2 * elements * static_cast<double>(weight[1])}};
  if (const std::optional<double> element = element_bytes(call.type(0)))
    estimate.work.bytes =
        *element * (2 * elements + element_count(weight) + (bias ? static_cast<double>(x[1]) : 0));
  return estimate;
}

struct Scan {
  double batch, length, heads, head_width, groups, state, chunk, combined, channels, filter;
};

// The argument positions of MambaSplitConv1dScanCombinedFn: zxbcdt[B,T,D] 0, convolution weight 1,
// its bias 2, dt bias[H] 3, A 4, D 5, chunk size 6, head width 15, groups 16.
core::Result<Scan> read_scan(const OperatorCall& call) {
  const Shape fused = ASSAY_TRY(call.shape(0, 3));
  const Shape filter = ASSAY_TRY(call.shape(1, 2));
  const Shape heads = ASSAY_TRY(call.shape(3, 1));
  const auto extent = [](std::int64_t value) { return static_cast<double>(value); };
  Scan scan{extent(fused[0]),
            extent(fused[1]),
            extent(heads[0]),
            call.number(15).value_or(64),
            call.number(16).value_or(1),
            0,
            call.number(6).value_or(128),
            extent(fused[2]),
            extent(filter[0]),
            extent(filter[1])};
  constexpr double kMost = 1e6;  // wider heads or more groups would overflow below
  if (!(scan.head_width >= 0 && scan.head_width <= kMost && std::fabs(scan.groups) <= kMost))
    return core::Error{std::string(call.name) + ": the head size is not recorded"};
  const std::int64_t inner = heads[0] * static_cast<std::int64_t>(scan.head_width);
  const std::int64_t states = fused[2] - 2 * inner - heads[0];
  const auto shares = static_cast<std::int64_t>(2 * scan.groups);
  if (shares <= 0 || states <= 0 || states % shares != 0)
    return core::Error{std::string(call.name) + ": the state size does not come out even"};
  scan.state = extent(states / shares);
  return scan;
}

// Counts the convolution and the four products of the chunked algorithm (Dao and Gu, arXiv
// 2405.21060).
double scan_flops(const Scan& s) {
  const double tokens = s.batch * s.length;
  const double inner = s.heads * s.head_width;
  return 2 * tokens *
         (s.channels * s.filter + s.groups * s.chunk * s.state + s.chunk * inner +
          2 * s.state * inner);
}

double bytes_or(const OperatorCall& call, std::size_t position, double otherwise) {
  return element_bytes(call.type(position)).value_or(otherwise);
}

Argument whole(double value) {
  return Argument{static_cast<std::int64_t>(value)};
}

core::Result<Estimate> scan(const OperatorCall& call) {
  const Scan s = ASSAY_TRY(read_scan(call));
  Estimate estimate{{{"B", whole(s.batch)},
                     {"T", whole(s.length)},
                     {"H", whole(s.heads)},
                     {"P", whole(s.head_width)},
                     {"G", whole(s.groups)},
                     {"N", whole(s.state)},
                     {"C", whole(s.chunk)},
                     {"d_inner", whole(s.heads * s.head_width)},
                     {"d_conv", whole(s.filter)},
                     {"conv_channels", whole(s.channels)},
                     {"combined_dim", whole(s.combined)}},
                    compute_spec(ComputeUnit::kMatrix, call.type(0)),
                    {scan_flops(s)}};
  if (const std::optional<double> element = element_bytes(call.type(0))) {
    const double tokens = s.batch * s.length;
    const double head_bytes =
        bytes_or(call, 3, 4) + bytes_or(call, 4, 4) + bytes_or(call, 5, *element);
    estimate.work.bytes =
        *element * (tokens * (s.combined + s.heads * s.head_width) + s.channels * (s.filter + 1)) +
        s.heads * head_bytes;
  }
  return estimate;
}

const OperatorFamily kCausalConvolution{
    "causal convolution", "DaoAILab::_causal_conv1d_fwd_cpp", "SSM_fwd", "", "SSM",
    &causal_convolution};
ASSAY_REGISTER(OperatorFamily, kCausalConvolution);

const OperatorFamily kScan{
    "state space scan", "MambaSplitConv1dScanCombinedFn", "SSM_fwd", "SSM_bwd", "SSM", &scan};
ASSAY_REGISTER(OperatorFamily, kScan);

const OperatorFamily kStateSpaceBackward{
    "state space backward",
    "MambaSplitConv1dScanCombinedFnBackward DaoAILab::_causal_conv1d_bwd_cpp", "SSM_bwd"};
ASSAY_REGISTER(OperatorFamily, kStateSpaceBackward);

}  // namespace
}  // namespace assay::trace
