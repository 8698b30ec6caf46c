#include "collect/cuda/attention_buffers.h"

#include <utility>

#include "collect/cuda/cuda_status.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

// Scores then have a standard deviation of 2, so that a few hundred keys determine an output and a
// check notices a wrong key.
constexpr float kQueryAmplitude = 6;

BufferSpec random_numbers(std::int64_t elements,
                          DataType type,
                          float amplitude,
                          std::uint32_t seed) {
  return {
      .bytes = static_cast<std::size_t>(elements * bytes_of(type)),
      .fill = {.kind = Fill::Kind::kUniform, .type = type, .amplitude = amplitude, .seed = seed}};
}

// Keys and values of earlier tokens are in the cache; those of new tokens have just been computed.
// A launch reads those that a window reaches.
BufferSpec in_cache(BufferSpec keys, const AttentionSpec& spec) {
  if (spec.query_length == spec.kv_length) return keys;
  keys.role = BufferRole::kCache;
  const std::int64_t reached = spec.window + spec.query_length;
  if (spec.window > 0 && reached < spec.kv_length)
    keys.read_bytes =
        keys.bytes / static_cast<std::size_t>(spec.kv_length) * static_cast<std::size_t>(reached);
  return keys;
}

// With keys and values in [-1, 1), most are below 448 times this scale, and some are cut.
constexpr float kCacheScale = 0.002F;

std::int64_t latents_of(const AttentionSpec& spec) {
  return spec.latent_dim > 0 ? cached_elements(spec) : 0;
}

}  // namespace

core::Result<AttentionBuffers> AttentionBuffers::take(Gpu& gpu,
                                                      const AttentionSpec& spec,
                                                      model::L2State l2,
                                                      const std::vector<BufferSpec>& more) {
  const AttentionLayout layout = layout_of(spec);
  const auto output_bytes = static_cast<std::size_t>(layout.output_elements * bytes_of(spec.type));
  std::vector<BufferSpec> specs = {
      in_cache(random_numbers(layout.key_elements, spec.kv_type, 1, 1), spec),
      in_cache(random_numbers(layout.value_elements, spec.kv_type, 1, 2), spec),
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

AttentionSpec over_new_keys(AttentionSpec spec) {
  spec.kv_type = spec.type;
  return spec;
}

std::vector<BufferSpec> CacheFill::buffers_of(const AttentionSpec& spec) {
  const AttentionLayout layout = layout_of(spec);
  const std::int64_t latents = latents_of(spec);
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  const Fill random{.kind = Fill::Kind::kUniform, .seed = 4};
  const Fill scale{.kind = Fill::Kind::kUniform,
                   .type = DataType::kFloat32,
                   .amplitude = 0,
                   .offset = kCacheScale,
                   .seed = 5};
  return {{.bytes = bytes(latents > 0 ? latents : layout.key_elements), .role = BufferRole::kCache},
          {.bytes = bytes(latents > 0 ? 0 : layout.value_elements), .role = BufferRole::kCache},
          {bytes(latents * bytes_of(DataType::kBfloat16)), random},
          {sizeof(float), scale}};
}

core::Status CacheFill::enqueue(Gpu& gpu,
                                const AttentionBuffers& buffers,
                                std::int64_t copy) const {
  const auto [first, second] = arguments(buffers, copy);
  return cuda_status(quantize_both(first, second, gpu.stream()), "quantising into a cache");
}

core::Status CacheFill::spoil(Gpu& gpu, const AttentionBuffers& buffers) const {
  ASSAY_TRY(buffers.spoil_more(gpu, first_buffer_ + kKeyCache));
  return buffers.spoil_more(gpu, first_buffer_ + kValueCache);
}

core::Result<Accuracy> CacheFill::compare(Gpu& gpu, const AttentionBuffers& buffers) const {
  const std::int64_t columns = spec_.latent_dim > 0 ? spec_.latent_dim : spec_.head_dim;
  Accuracy all;
  for (const QuantizeArguments& part : arguments(buffers, 0)) {
    if (part.count == 0) continue;
    ASSAY_TRY(cuda_status(compare_quantized(part, gpu.samples(), gpu.stream()),
                          "launching the reference of a cache"));
    const std::int64_t samples = samples_of(part.count) + 1;  // one sample is the scale
    all = worse(all, ASSAY_TRY(accuracy_of_samples(gpu, samples, columns, "cache")));
  }
  return all;
}

std::array<QuantizeArguments, 2> CacheFill::arguments(const AttentionBuffers& buffers,
                                                      std::int64_t copy) const {
  const AttentionLayout layout = layout_of(spec_);
  const std::int64_t latents = latents_of(spec_);
  auto* scale = static_cast<float*>(at(buffers, kScale, copy));
  if (latents > 0) {
    return {{{.input = at(buffers, kLatents, copy),
              .output = at(buffers, kKeyCache, copy),
              .scale = scale,
              .count = latents},
             {}}};
  }
  return {{{.input = buffers.keys(copy),
            .output = at(buffers, kKeyCache, copy),
            .scale = scale,
            .count = layout.key_elements},
           {.input = buffers.values(copy),
            .output = at(buffers, kValueCache, copy),
            .scale = scale,
            .count = layout.value_elements}}};
}

}  // namespace assay::collect
