// Memory of the CPU device. Its random numbers are those that checks compute again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collect/kernels/kernels.h"

namespace assay::collect {

class HostTensor {
 public:
  // Takes memory and leaves it uninitialised. `type` is kFloat32, kBfloat16 or kInt8.
  HostTensor(DataType type, std::int64_t elements);

  // Fills it with uniform numbers in [-scale, scale), or in [-127, 127] for int8. The same seed
  // always produces the same numbers.
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

// The largest error of rounding a value to this type.
double rounding(DataType type, double value);

// Selects `count` of `elements` places, or all if there are fewer. The choice is always the same.
std::vector<std::int64_t> sample_places(std::int64_t elements, std::int64_t count);

}  // namespace assay::collect
