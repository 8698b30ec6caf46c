// The tensors of an attention in device memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collect/cuda/attention_reference.h"
#include "collect/cuda/buffers.h"
#include "collect/cuda/gpu.h"
#include "collect/kernels/attention_layout.h"
#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

class AttentionBuffers {
 public:
  // `more`: buffers after these, by their own numbers from 0.
  static core::Result<AttentionBuffers> take(Gpu& gpu,
                                             const AttentionSpec& spec,
                                             model::L2State l2,
                                             const std::vector<BufferSpec>& more);

  [[nodiscard]] std::int64_t copies() const { return buffers_.copies(); }

  [[nodiscard]] void* keys(std::int64_t copy) const { return buffers_.at(kKeys, copy); }

  // Those in the keys where the spec says so.
  [[nodiscard]] void* values(std::int64_t copy) const {
    return buffers_.at(spec_.values_in_keys ? kKeys : kValues, copy);
  }

  [[nodiscard]] void* query(std::int64_t copy) const { return buffers_.at(kQuery, copy); }

  [[nodiscard]] void* output(std::int64_t copy) const { return buffers_.at(kOutput, copy); }

  // int32; null without pages.
  [[nodiscard]] std::int32_t* pages(std::int64_t copy) const;

  [[nodiscard]] void* more(std::size_t number, std::int64_t copy) const {
    return buffers_.at(kFirstMore + number, copy);
  }

  // Writes `values` to all copies of one of `more`, and waits.
  template <class Value>
  core::Status write_more(Gpu& gpu, std::size_t number, const std::vector<Value>& values) const {
    return write(gpu, kFirstMore + number, values.data(), values.size() * sizeof(Value));
  }

  core::Status spoil_output(Gpu& gpu) const { return buffers_.spoil(gpu, kOutput); }

  core::Status spoil_more(Gpu& gpu, std::size_t number) const {
    return buffers_.spoil(gpu, kFirstMore + number);
  }

  // Compares the output of the first copy.
  core::Result<Accuracy> compare(Gpu& gpu, const CacheScales& scales = {}) const;

 private:
  enum Number : std::size_t { kKeys, kValues, kQuery, kOutput, kPages, kFirstMore };

  core::Status write(Gpu& gpu, std::size_t buffer, const void* values, std::size_t bytes) const;

  AttentionSpec spec_;
  Buffers buffers_;
};

}  // namespace assay::collect
