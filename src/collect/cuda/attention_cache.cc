#include "collect/cuda/attention_cache.h"

#include "collect/cuda/cuda_status.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

// Of keys and values in [-1, 1): most fit below 448 scales, some are cut.
constexpr float kCacheScale = 0.002F;

std::int64_t latents_of(const AttentionSpec& spec) {
  return spec.latent_dim > 0 ? cached_elements(spec) : 0;
}

}  // namespace

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
  return {{bytes(latents > 0 ? latents : layout.key_elements)},
          {bytes(latents > 0 ? 0 : layout.value_elements)},
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
    const std::int64_t samples = samples_of(part.count) + 1;  // the scale
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
