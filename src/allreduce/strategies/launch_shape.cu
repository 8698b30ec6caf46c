#include <map>
#include <mutex>
#include <tuple>

#include "allreduce/strategies/launch_shape.h"

namespace assay::allreduce {

int resident_blocks(const Device& on, const void* kernel, int threads) {
  if (on.shares_gpu) return on.multiprocessors;
  static std::mutex mutex;
  static std::map<std::tuple<const void*, int, int>, int> known;
  int device = 0;
  cudaGetDevice(&device);
  const std::lock_guard lock(mutex);
  int& of_one = known[{kernel, threads, device}];
  if (of_one == 0) {
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, kernel, threads, 0);
    of_one = std::max(1, of_one);
  }
  return of_one * on.multiprocessors;
}

LaunchShape flat_shape(const Device& device,
                       const void* kernel,
                       std::int64_t vectors,
                       const Request& request) {
  // Small blocks spread a small message over many SMs. On 4 H200 a one-shot of 128 KiB takes 3.33
  // us in blocks of 128 threads, 3.37 in 256 and 3.50 in 512.
  LaunchShape shape;
  shape.threads = request.threads != 0 ? request.threads : 128;
  const std::int64_t blocks = divide_up<std::int64_t>(vectors, shape.threads);
  const int most = resident_blocks(device, kernel, shape.threads);
  shape.blocks = static_cast<int>(std::min<std::int64_t>(blocks, most));
  if (request.blocks != 0) shape.blocks = std::min(shape.blocks, request.blocks);
  return shape;
}

namespace {

// Returns the clusters that the GPU holds at once.
int held_clusters(const Device& device, const void* kernel, const RowDivision& division) {
  const int blocks = resident_blocks(device, kernel, division.threads);
  return std::max(1, blocks / division.cluster);
}

RowDivision divide(const Device& device,
                   const void* kernel,
                   const Rows& rows,
                   const Request& request) {
  return divide_rows({.count = rows.count,
                      .vectors = rows.threads,
                      .most_of_block = rows.most_of_block,
                      .multiprocessors = device.multiprocessors,
                      .asked_threads = request.threads},
                     rows.blocks, [&](const RowDivision& division) {
                       return held_clusters(device, kernel, division);
                     });
}

}  // namespace

LaunchShape row_shape(const Device& device,
                      const void* kernel,
                      const Rows& rows,
                      const Request& request) {
  const RowDivision division = divide(device, kernel, rows, request);
  LaunchShape shape{.threads = division.threads,
                    .cluster = division.cluster,
                    .threads_of_row = division.threads_of_row};
  const std::int64_t rows_of_block = shape.threads / shape.threads_of_row;
  const std::int64_t clusters = divide_up(rows.count, rows_of_block);
  const int most = held_clusters(device, kernel, division);
  shape.blocks = static_cast<int>(std::min<std::int64_t>(clusters, most)) * shape.cluster;
  if (request.blocks != 0)
    shape.blocks =
        std::clamp(request.blocks / shape.cluster * shape.cluster, shape.cluster, shape.blocks);
  return shape;
}

std::int64_t held_rows(const Device& device,
                       const void* kernel,
                       const Rows& rows,
                       const Request& request) {
  const RowDivision division = divide(device, kernel, rows, request);
  return std::int64_t{held_clusters(device, kernel, division)} *
         (division.threads / division.threads_of_row);
}

core::Status launch_status(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return core::Error{std::string("launching: ") + cudaGetErrorString(error)};
}

Arguments some_rows(const Arguments& a, Fusion fusion, int first, int count) {
  Arguments part = a;
  const std::int64_t vectors = static_cast<std::int64_t>(first) * a.row_vectors;
  part.input += vectors;
  if (a.output != nullptr) part.output += vectors;
  if (a.residual_in != nullptr) part.residual_in += vectors;
  if (a.residual_out != nullptr) part.residual_out += vectors;
  const int elements_of_byte = fusion == Fusion::kResidualRmsNormQuantNvfp4 ? 2 : 1;
  if (a.quantized != nullptr)
    part.quantized =
        static_cast<std::byte*>(a.quantized) + vectors * a.elements_of_vector / elements_of_byte;
  part.first_row += first;
  part.rows = count;
  return part;
}

std::string message_too_large(const Arguments& a, const Workspace& workspace) {
  const std::int64_t capacity_bytes =
      static_cast<std::int64_t>(workspace.capacity_vectors) * kVectorBytes;
  return "the message of " + std::to_string(a.bytes()) + " bytes is larger than the workspace's " +
         std::to_string(capacity_bytes);
}

std::string row_too_long(const Arguments& a, int vectors) {
  if (a.row_vectors <= vectors) return "";
  const auto bytes = [](int count) { return std::to_string(std::int64_t{count} * kVectorBytes); };
  return "a row of " + bytes(a.row_vectors) + " bytes is longer than " + bytes(vectors);
}

}  // namespace assay::allreduce
