// Device memory that is kept from case to case: taking it from the driver costs milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collect/cuda/fill.h"
#include "core/result.h"

namespace assay::collect {

class Arena;

// A piece of the arena, given back when this ends.
class ArenaSpace {
 public:
  ArenaSpace() = default;

  ArenaSpace(Arena* arena, std::size_t chunk, char* memory)
      : arena_(arena), chunk_(chunk), memory_(memory) {}

  ArenaSpace(ArenaSpace&& other) noexcept;
  ArenaSpace& operator=(ArenaSpace&& other) noexcept;
  ~ArenaSpace();

  [[nodiscard]] char* memory() const { return memory_; }

 private:
  Arena* arena_ = nullptr;
  std::size_t chunk_ = 0;
  char* memory_ = nullptr;
};

// Half the free memory at once, so that a case finds the same addresses whatever was measured
// before it: memory-bound products differed by up to 36 % between runs whose weights lay elsewhere
// (H200). Larger needs get memory of their own. Chunks, each handed out from its front to its back
// and begun again once nobody uses it: at a time there are one or two works, so that no more is
// needed.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Aligned to 256 bytes. Error: out of memory.
  core::Result<ArenaSpace> take(std::size_t bytes);

  // Remembers what was filled, so that the next case of the same weights need not fill them again.
  // Whether these bytes hold this already; if not, the caller fills them.
  bool note_filled(const char* memory, std::size_t bytes, const Fill& fill);
  // These bytes will be written by something else.
  void note_written(const char* memory, std::size_t bytes);

 private:
  friend class ArenaSpace;

  struct Chunk {
    char* memory = nullptr;
    std::size_t bytes = 0;
    std::size_t used = 0;
    int users = 0;
  };

  struct Filled {
    const char* begin = nullptr;
    const char* end = nullptr;
    Fill fill;
  };

  core::Result<std::size_t> chunk_for(std::size_t bytes);
  core::Status allocate(Chunk& chunk, std::size_t bytes);
  [[nodiscard]] std::size_t comfortable_bytes() const;
  void release_unused();
  void give_back(std::size_t chunk);

  std::vector<Chunk> chunks_;
  std::vector<Filled> filled_;
};

}  // namespace assay::collect
