// Memory of the CPU device, with random numbers that its checks read back exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collect/kernels/kernels.h"

namespace assay::collect {

class HostTensor {
 public:
  // Uninitialised. kFloat32, kBfloat16 or kInt8.
  HostTensor(DataType type, std::int64_t elements);

  // Uniform in [-scale, scale), of int8 in [-127, 127], the same for the same seed.
  void fill(std::uint64_t seed, float scale = 1);

  [[nodiscard]] double at(std::int64_t index) const;

  [[nodiscard]] void* data() { return bytes_.get(); }

  [[nodiscard]] DataType type() const { return type_; }

  [[nodiscard]] std::int64_t elements() const { return elements_; }

  [[nodiscard]] std::int64_t size_bytes() const { return elements_ * bytes_of(type_); }

 private:
  struct Free {
    void operator()(void* memory) const;
  };

  DataType type_;
  std::int64_t elements_;
  std::unique_ptr<void, Free> bytes_;
};

// Half a unit in the last place of a value of this type, at most.
double rounding(DataType type, double value);

// `count` of `elements` places, all if they are few; the same ones every time.
std::vector<std::int64_t> sample_places(std::int64_t elements, std::int64_t count);

}  // namespace assay::collect
