// A work's device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collect/cuda/arena.h"
#include "collect/cuda/fill.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

class Gpu;

struct BufferSpec {
  std::size_t bytes = 0;
  Fill fill = {};  // kNothing: an output
};

// All buffers in as many copies as make a launch find none of its data in the L2 cache. Buffers
// that come first stay at their place from case to case and need not be filled again: weights.
class Buffers {
 public:
  // Fills them. Error: out of memory.
  static core::Result<Buffers> take(Gpu& gpu,
                                    const std::vector<BufferSpec>& specs,
                                    model::L2State l2);

  template <class T = void>
  [[nodiscard]] T* at(std::size_t buffer, std::int64_t copy) const {
    const Place& place = places_[buffer];
    return reinterpret_cast<T*>(place.memory + static_cast<std::size_t>(copy) * place.pitch);
  }

  [[nodiscard]] std::int64_t copies() const { return copies_; }

  // Sets all bytes of all copies of a buffer, so that what was not written is seen.
  core::Status spoil(Gpu& gpu, std::size_t buffer) const;

 private:
  struct Place {
    char* memory = nullptr;
    std::size_t pitch = 0;
  };

  ArenaSpace space_;
  std::vector<Place> places_;
  std::int64_t copies_ = 1;
};

}  // namespace assay::collect
