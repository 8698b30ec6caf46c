// Quantising the keys and values of new tokens into a cache of fp8, as engines do beside the
// attention that reads them in bfloat16.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collect/cuda/attention_buffers.h"
#include "collect/cuda/quantize_kernels.h"

namespace assay::collect {

// The attention beside it: over keys and values of the products' type.
AttentionSpec over_new_keys(AttentionSpec spec);

class CacheFill {
 public:
  // To be taken among an attention's `more` buffers, the first with the number `first_buffer`.
  static std::vector<BufferSpec> buffers_of(const AttentionSpec& spec);

  CacheFill(const AttentionSpec& spec, std::size_t first_buffer)
      : spec_(spec), first_buffer_(first_buffer) {}

  core::Status enqueue(Gpu& gpu, const AttentionBuffers& buffers, std::int64_t copy) const;

  core::Status spoil(Gpu& gpu, const AttentionBuffers& buffers) const;

  // Of the first copy's cache, keys and values or latents.
  core::Result<Accuracy> compare(Gpu& gpu, const AttentionBuffers& buffers) const;

 private:
  enum Number : std::size_t { kKeyCache, kValueCache, kLatents, kScale };

  [[nodiscard]] void* at(const AttentionBuffers& buffers, Number number, std::int64_t copy) const {
    return buffers.more(first_buffer_ + number, copy);
  }

  // Keys and values, or the latents and nothing.
  [[nodiscard]] std::array<QuantizeArguments, 2> arguments(const AttentionBuffers& buffers,
                                                           std::int64_t copy) const;

  AttentionSpec spec_;
  std::size_t first_buffer_;
};

}  // namespace assay::collect
