#include "allreduce/strategies/fused_tail.h"

#include "allreduce/strategies/dispatch.cuh"
#include "allreduce/strategies/epilogue.cuh"
#include "allreduce/strategies/launch_shape.h"

namespace assay::allreduce {
namespace {

constexpr int kMaxRowThreads = 1024;

template <class T, Fusion kFusion>
__global__ void __launch_bounds__(kMaxRowThreads) fused_tail(const __grid_constant__ Arguments a,
                                                             const uint4* sum,
                                                             const int threads_of_row) {
  let_next_kernel_start();
  wait_for_earlier_kernels();
  const auto cluster = cooperative_groups::this_cluster();
  const int rows_of_block = static_cast<int>(blockDim.x) / threads_of_row;
  const int column = static_cast<int>(cluster.block_rank()) * threads_of_row +
                     static_cast<int>(threadIdx.x) % threads_of_row;
  const std::int64_t stride = gridDim.x / cluster.num_blocks() * rows_of_block;
  RowGroup row_group(threads_of_row);
  std::int64_t first_row = blockIdx.x / cluster.num_blocks() * rows_of_block;
  for (; first_row < a.rows; first_row += stride) {
    const std::int64_t row = first_row + static_cast<int>(threadIdx.x) / threads_of_row;
    const bool active = row < a.rows && column < a.row_vectors;
    FusedVector<T> vector;
    float squares = 0;
    if (active) {
      vector.fetch(a, row, column);
      squares = vector.add_residual(a, row, column, sum[row * a.row_vectors + column]);
    }
    const float factor = norm_factor(row_group.sum(squares), a);
    vector.template finish<kFusion>(a, row, column, factor, active);
  }
}

}  // namespace

cudaError_t launch_fused_tail(const Device& device,
                              const Arguments& a,
                              const Request& request,
                              const uint4* sum) {
  // The number of GPUs does not matter here: one instance serves all.
  return dispatch(request, 2, [&](auto type, auto world, auto fusion) {
    using T = typename decltype(type)::Type;
    if constexpr (world.kValue == 2 && fusion.kValue != Fusion::kNone) {
      const auto kernel = fused_tail<T, fusion.kValue>;
      const LaunchShape shape =
          row_shape(device, kernel, {a.rows, a.row_vectors, kMaxRowThreads}, Request{});
      return launch_overlapped(kernel, shape, request, a, sum, shape.threads_of_row);
    }
    return cudaErrorInvalidValue;
  });
}

uint4* place_for_sum(const Arguments& a, Fusion fusion) {
  if (fusion == Fusion::kNone || a.output != nullptr) return a.output;
  return a.residual_out == a.residual_in ? nullptr : a.residual_out;
}

}  // namespace assay::allreduce
