// The tensors of an attention in device memory, and the filling of a cache of fp8 beside it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "collect/cuda/attention_kernels.h"
#include "collect/cuda/buffers.h"
#include "collect/cuda/gpu.h"
#include "collect/cuda/quantize_kernels.h"
#include "collect/kernels/attention_layout.h"
#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

class AttentionBuffers {
 public:
  // `more` are further buffers, which have numbers of their own from 0.
  static core::Result<AttentionBuffers> take(Gpu& gpu,
                                             const AttentionSpec& spec,
                                             model::L2State l2,
                                             const std::vector<BufferSpec>& more);

  [[nodiscard]] std::int64_t copies() const { return buffers_.copies(); }

  [[nodiscard]] void* keys(std::int64_t copy) const { return buffers_.at(kKeys, copy); }

  // Returns the values, which lie in the keys where the spec says so.
  [[nodiscard]] void* values(std::int64_t copy) const {
    return buffers_.at(spec_.values_in_keys ? kKeys : kValues, copy);
  }

  [[nodiscard]] void* query(std::int64_t copy) const { return buffers_.at(kQuery, copy); }

  [[nodiscard]] void* output(std::int64_t copy) const { return buffers_.at(kOutput, copy); }

  // Returns the page table, or nullptr without pages.
  [[nodiscard]] std::int32_t* pages(std::int64_t copy) const;

  [[nodiscard]] void* more(std::size_t number, std::int64_t copy) const {
    return buffers_.at(kFirstMore + number, copy);
  }

  // Writes `values` to all copies of one of the further buffers, and waits.
  template <class Value>
  core::Status write_more(Gpu& gpu, std::size_t number, const std::vector<Value>& values) const {
    return write(gpu, kFirstMore + number, values.data(), values.size() * sizeof(Value));
  }

  core::Status spoil_output(Gpu& gpu) const { return buffers_.spoil(gpu, kOutput); }

  core::Status spoil_more(Gpu& gpu, std::size_t number) const {
    return buffers_.spoil(gpu, kFirstMore + number);
  }

  // Compares the output of the first copy with the reference.
  core::Result<Accuracy> compare(Gpu& gpu, const CacheScales& scales = {}) const;

 private:
  enum Number : std::size_t { kKeys, kValues, kQuery, kOutput, kPages, kFirstMore };

  core::Status write(Gpu& gpu, std::size_t buffer, const void* values, std::size_t bytes) const;

  AttentionSpec spec_;
  Buffers buffers_;
};

// Returns the attention that reads the new keys and values in the type of the products.
AttentionSpec over_new_keys(AttentionSpec spec);

// Quantises the keys and values of new tokens into a cache of fp8, as engines do while attention
// reads them in bfloat16.
class CacheFill {
 public:
  // Returns the buffers to be taken among the further buffers of an attention, from `first_buffer`
  // on.
  static std::vector<BufferSpec> buffers_of(const AttentionSpec& spec);

  CacheFill(const AttentionSpec& spec, std::size_t first_buffer)
      : spec_(spec), first_buffer_(first_buffer) {}

  core::Status enqueue(Gpu& gpu, const AttentionBuffers& buffers, std::int64_t copy) const;

  core::Status spoil(Gpu& gpu, const AttentionBuffers& buffers) const;

  // Compares the cache of the first copy, which has keys and values, or latents.
  core::Result<Accuracy> compare(Gpu& gpu, const AttentionBuffers& buffers) const;

 private:
  enum Number : std::size_t { kKeyCache, kValueCache, kLatents, kScale };

  [[nodiscard]] void* at(const AttentionBuffers& buffers, Number number, std::int64_t copy) const {
    return buffers.more(first_buffer_ + number, copy);
  }

  // Returns the arguments for the keys and for the values; with latents, the second are empty.
  [[nodiscard]] std::array<QuantizeArguments, 2> arguments(const AttentionBuffers& buffers,
                                                           std::int64_t copy) const;

  AttentionSpec spec_;
  std::size_t first_buffer_;
};

}  // namespace assay::collect
