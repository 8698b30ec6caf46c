#include "collect/cuda/attention_buffers.h"

#include <utility>

#include "collect/cuda/cuda_status.h"

namespace assay::collect {
namespace {

// Scores then have a deviation of 2: a few hundred keys carry an output, so that a wrong key shows.
constexpr float kQueryAmplitude = 6;

BufferSpec random_numbers(std::int64_t elements,
                          DataType type,
                          float amplitude,
                          std::uint32_t seed) {
  return {
      .bytes = static_cast<std::size_t>(elements * bytes_of(type)),
      .fill = {.kind = Fill::Kind::kUniform, .type = type, .amplitude = amplitude, .seed = seed}};
}

}  // namespace

core::Result<AttentionBuffers> AttentionBuffers::take(Gpu& gpu,
                                                      const AttentionSpec& spec,
                                                      model::L2State l2,
                                                      const std::vector<BufferSpec>& more) {
  const AttentionLayout layout = layout_of(spec);
  const auto output_bytes = static_cast<std::size_t>(layout.output_elements * bytes_of(spec.type));
  std::vector<BufferSpec> specs = {
      random_numbers(layout.key_elements, spec.kv_type, 1, 1),
      random_numbers(layout.value_elements, spec.kv_type, 1, 2),
      random_numbers(layout.query_elements, spec.type, kQueryAmplitude, 3),
      {.bytes = output_bytes},
      {.bytes = static_cast<std::size_t>(layout.pages) * sizeof(std::int32_t)},
  };
  specs.insert(specs.end(), more.begin(), more.end());
  AttentionBuffers taken;
  taken.spec_ = spec;
  taken.buffers_ = ASSAY_TRY(Buffers::take(gpu, specs, l2));
  const std::vector<std::int32_t> table = page_table(spec);
  ASSAY_TRY(taken.write(gpu, kPages, table.data(), table.size() * sizeof(std::int32_t)));
  return taken;
}

std::int32_t* AttentionBuffers::pages(std::int64_t copy) const {
  return spec_.page_size > 0 ? buffers_.at<std::int32_t>(kPages, copy) : nullptr;
}

core::Status AttentionBuffers::write(Gpu& gpu,
                                     std::size_t buffer,
                                     const void* values,
                                     std::size_t bytes) const {
  if (bytes == 0) return {};
  for (std::int64_t copy = 0; copy < copies(); ++copy) {
    ASSAY_TRY(cuda_status(cudaMemcpyAsync(buffers_.at(buffer, copy), values, bytes,
                                          cudaMemcpyHostToDevice, gpu.stream()),
                          "writing tables of an attention"));
  }
  return gpu.wait();
}

core::Result<Accuracy> AttentionBuffers::compare(Gpu& gpu, const CacheScales& scales) const {
  const AttentionCheck check{.spec = spec_,
                             .layout = layout_of(spec_),
                             .query = query(0),
                             .keys = keys(0),
                             .values = values(0),
                             .output = output(0),
                             .pages = pages(0),
                             .scales = scales};
  ASSAY_TRY(cuda_status(compare_attention(check, gpu.samples(), gpu.stream()),
                        "launching the reference of an attention"));
  return accuracy_of_samples(gpu, attention_samples(spec_), spec_.value_dim, "output");
}

}  // namespace assay::collect
