// Device memory: an arena that is kept from case to case, because taking memory from the driver
// costs milliseconds, and the buffers that works take from it.
//
// A maker names the role of each of its buffers, and Buffers::take() decides by the L2 state which
// of them have copies that launches use in turn. Weights and their scales are kWeight. Keys and
// values that earlier launches left in memory are kCache, but those that have just been computed
// (context attention without a prefix) are activations. All that is computed within a layer is
// kActivation, the default: inputs, outputs, scratch memory, scales of activations, tokens'
// positions and page tables. If a launch reads only a part of a weight or a cache (the experts that
// were drawn, the keys of a window), `read_bytes` says how much, because copies of the whole would
// be too few to push that part out of the cache. If the rows of a table are looked up, the table is
// kTable and the indices are kSelection: these rotate instead of the table. A buffer that holds
// addresses of rotating buffers is a kWeight itself. launch_copy(copy) passes at(buffer, copy) for
// all buffers, whether they have copies or not; with kEngine at() of an activation is the same for
// each copy, so that what it holds must not depend on the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collect/cuda/test_data.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

class Arena;
class Gpu;

// A piece of the arena, which its destructor gives back.
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

// The arena takes half the free memory at once, so that a case gets the same addresses whatever was
// measured before it: memory-bound products differed by up to 36 % between runs whose weights lay
// elsewhere (H200). A case that needs more gets a chunk of its own. A chunk is handed out from its
// front to its back, and from its front again once nobody uses it; this suffices because there are
// only one or two works at a time, or those of a sequence, which come and go together.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // The space is aligned to 256 bytes. Fails if there is not enough memory.
  core::Result<ArenaSpace> take(std::size_t bytes);

  // Returns whether these bytes hold this filling already, so that the next case of the same
  // weights need not fill them again. If not, the caller fills them, and the arena remembers it.
  bool note_filled(const char* memory, std::size_t bytes, const Fill& fill);
  // Forgets the filling of these bytes, because a kernel will write them.
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

// Inputs that the works of a sequence read one after the other. In an engine each finds its input
// in the L2 cache, because the kernel before has just written it; inputs of its own, which a work
// reads once in a layer, would have been pushed out. Numbers of one type and range serve all works.
// Buffers::take() asks for them while Gpu::share_inputs() has them, and they must outlive the
// works.
class SharedInputs {
 public:
  // Larger inputs do not stay in the cache beside others, so that they have memory of their own.
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20U;
  // The seeds of works are small. An input with the seed of a weight would equal it number by
  // number, and their product would not be one of random summands.
  static constexpr std::uint32_t kFirstSeed = 1000;

  // Returns memory of kMostBytes that has this filling but for its seed, and is not among `used`,
  // to which it adds it.
  core::Result<char*> memory_of(Gpu& gpu, const Fill& fill, std::vector<char*>& used);

 private:
  struct Input {
    Fill fill;
    ArenaSpace space;
  };

  std::vector<Input> inputs_;
};

enum class BufferRole : std::uint8_t { kActivation, kWeight, kCache, kTable, kSelection };

struct BufferSpec {
  std::size_t bytes = 0;
  Fill fill = {};  // kNothing if it is an output
  BufferRole role = BufferRole::kActivation;
  std::size_t read_bytes = 0;  // by a launch, of this buffer or of the table; 0: all of this buffer
};

inline constexpr std::size_t kBufferAlignment = 256;  // that cuBLASLt assumes by default

// Returns the next multiple of `to`.
std::size_t aligned(std::size_t bytes, std::size_t to);

// The bytes from a copy to the next.
std::size_t pitch_of(const BufferSpec& spec);

// Returns the number of copies of the buffers that launches use in turn.
std::int64_t copies_of(const std::vector<BufferSpec>& specs,
                       std::int64_t l2_bytes,
                       model::L2State l2);

// Returns whether a buffer of this role has a copy for each turn.
bool rotates(BufferRole role, model::L2State l2);

// The buffers of a work. There are so many copies of those that are to be cold that a launch finds
// none of their data in the L2 cache. The first buffers, which are weights, stay in their place
// from case to case and need not be filled again.
class Buffers {
 public:
  // Takes and fills the buffers. Fails if there is not enough memory.
  static core::Result<Buffers> take(Gpu& gpu,
                                    const std::vector<BufferSpec>& specs,
                                    model::L2State l2);

  template <class T = void>
  [[nodiscard]] T* at(std::size_t buffer, std::int64_t copy) const {
    const Place& place = places_[buffer];
    return reinterpret_cast<T*>(place.memory + static_cast<std::size_t>(copy) * place.stride);
  }

  [[nodiscard]] std::int64_t copies() const { return copies_; }

  // Sets all bytes of all copies of a buffer, so that a check notices elements that were not
  // written.
  core::Status spoil(Gpu& gpu, std::size_t buffer) const;

 private:
  struct Place {
    char* memory = nullptr;
    std::size_t stride = 0;  // from copy to copy; 0 if there is one
    std::size_t bytes = 0;   // of all copies
  };

  ArenaSpace space_;
  std::vector<Place> places_;
  std::int64_t copies_ = 1;
};

}  // namespace assay::collect
