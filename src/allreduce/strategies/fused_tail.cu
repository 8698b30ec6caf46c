#include "allreduce/strategies/dispatch.cuh"
#include "allreduce/strategies/epilogue.cuh"
#include "allreduce/strategies/fused_tail.h"
#include "allreduce/strategies/launch_shape.h"

namespace assay::allreduce {
namespace {

constexpr int kMaxRowThreads = 1024;

template <class T, Fusion kFusion>
__global__ void __launch_bounds__(kMaxRowThreads)
    fused_tail(const __grid_constant__ Arguments a, const uint4* sum, const int threads_of_row) {
  let_next_kernel_start();
  const RowPlace place(threads_of_row, number_of_clusters());
  RowGroup row_group(threads_of_row);
  wait_for_earlier_kernels();
  const float scale = given_scale<kFusion>(a);
  for (std::int64_t first_row = place.first_row; first_row < a.rows; first_row += place.stride) {
    const std::int64_t row = first_row + place.row_of_block;
    const bool active = row < a.rows && place.column < a.row_vectors;
    FusedVector<T> vector;
    float squares = 0;
    if (active) {
      vector.fetch_residual(a, row, place.column);
      vector.fetch_gamma(a, place.column);
      squares = vector.add_residual(a, row, place.column, sum[row * a.row_vectors + place.column]);
    }
    finish_row<kFusion>(a, row_group, static_cast<int>(row), {squares, scale},
                        [&](auto visit) { visit(vector, place.column, active); });
  }
}

// `sum` may be one of the outputs, because each vector is read before it is written.
cudaError_t launch_tail(const Device& device,
                        const Arguments& a,
                        const Request& request,
                        const uint4* sum) {
  // The number of GPUs does not matter here, so one instance serves all.
  return dispatch(request, 2, [&](auto type, auto world, auto fusion) {
    using T = typename decltype(type)::Type;
    if constexpr (world.kValue == 2 && fusion.kValue != Fusion::kNone) {
      const auto kernel = fused_tail<T, fusion.kValue>;
      const LaunchShape shape =
          row_shape(device, kernel, {a.rows, a.row_vectors, kMaxRowThreads}, Request{});
      return launch_overlapped(kernel, shape, device, request, a, sum, shape.threads_of_row);
    }
    return cudaErrorInvalidValue;
  });
}

// Returns where a sum can lie until the tail takes it, or null when none of the outputs can hold
// it.
uint4* place_for_sum(const Arguments& a, Fusion fusion) {
  if (fusion == Fusion::kNone || a.output != nullptr) return a.output;
  return a.residual_out == a.residual_in ? nullptr : a.residual_out;
}

}  // namespace

std::string fused_tail_refusal(const Arguments& a, Fusion fusion) {
  if (fusion == Fusion::kNone) return "";
  if (place_for_sum(a, fusion) == nullptr)
    return "needs an output, or a residual_out that is not residual_in";
  return row_too_long(a, kMaxRowThreads * kMaxCluster);
}

core::Status launch_with_tail(
    const Device& device,
    const Arguments& a,
    const Request& request,
    const std::function<core::Status(const Arguments& plain, const Request& request)>& sum) {
  Arguments plain = a;
  plain.output = place_for_sum(a, request.fusion);
  Request plain_request = request;
  plain_request.fusion = Fusion::kNone;
  ASSAY_TRY(sum(plain, plain_request));
  if (request.fusion == Fusion::kNone) return {};
  return launch_status(launch_tail(device, a, request, plain.output));
}

}  // namespace assay::allreduce
