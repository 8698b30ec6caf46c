#include "collect/cuda/buffers.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/gpu.h"

namespace assay::collect {

ArenaSpace::ArenaSpace(ArenaSpace&& other) noexcept {
  *this = std::move(other);
}

ArenaSpace& ArenaSpace::operator=(ArenaSpace&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(chunk_, other.chunk_);
  std::swap(memory_, other.memory_);
  return *this;
}

ArenaSpace::~ArenaSpace() {
  if (arena_ != nullptr) arena_->give_back(chunk_);
}

Arena::~Arena() {
  for (const Chunk& chunk : chunks_)
    cudaFree(chunk.memory);
}

core::Result<ArenaSpace> Arena::take(std::size_t bytes) {
  const std::size_t size = aligned(std::max<std::size_t>(bytes, 1), kBufferAlignment);
  const std::size_t index = ASSAY_TRY(chunk_for(size));
  Chunk& chunk = chunks_[index];
  char* memory = chunk.memory + chunk.used;
  chunk.used += size;
  ++chunk.users;
  return ArenaSpace(this, index, memory);
}

core::Result<std::size_t> Arena::chunk_for(std::size_t bytes) {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i].bytes - chunks_[i].used >= bytes) return i;
  }
  release_unused();
  const auto empty = std::find_if(chunks_.begin(), chunks_.end(),
                                  [](const Chunk& chunk) { return chunk.memory == nullptr; });
  const auto index = static_cast<std::size_t>(empty - chunks_.begin());
  if (empty == chunks_.end()) chunks_.emplace_back();
  ASSAY_TRY(allocate(chunks_[index], bytes));
  return index;
}

std::size_t Arena::comfortable_bytes() const {
  const bool is_first = std::all_of(chunks_.begin(), chunks_.end(),
                                    [](const Chunk& chunk) { return chunk.memory == nullptr; });
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  return is_first ? free_bytes / 2 : 0;
}

core::Status Arena::allocate(Chunk& chunk, std::size_t bytes) {
  const std::size_t step = std::size_t{2} << 20U;
  // A quarter more than was asked for, so that a slowly growing sweep does not take memory each
  // time.
  for (const std::size_t wanted :
       {std::max(bytes, comfortable_bytes()), bytes + bytes / 4, bytes}) {
    const std::size_t size = aligned(wanted, step);
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, size);
    if (error == cudaSuccess) {
      chunk = {.memory = static_cast<char*>(memory), .bytes = size};
      return {};
    }
    cudaGetLastError();
    if (error != cudaErrorMemoryAllocation) return cuda_status(error, "taking device memory");
  }
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  cudaMemGetInfo(&free_bytes, &total_bytes);
  return core::Error{std::string(kOutOfMemory) + ": " + std::to_string(bytes >> 20U) +
                     " MiB of GPU memory are needed, " + std::to_string(free_bytes >> 20U) +
                     " MiB are free"};
}

void Arena::release_unused() {
  for (Chunk& chunk : chunks_) {
    if (chunk.users > 0 || chunk.memory == nullptr) continue;
    note_written(chunk.memory, chunk.bytes);
    cudaFree(chunk.memory);
    chunk = {};
  }
}

void Arena::give_back(std::size_t chunk) {
  if (--chunks_[chunk].users == 0) chunks_[chunk].used = 0;
}

bool Arena::note_filled(const char* memory, std::size_t bytes, const Fill& fill) {
  const bool known = std::any_of(filled_.begin(), filled_.end(), [&](const Filled& filled) {
    return filled.begin == memory && filled.end >= memory + bytes && filled.fill == fill;
  });
  if (known) return true;
  note_written(memory, bytes);
  filled_.push_back({memory, memory + bytes, fill});
  return false;
}

void Arena::note_written(const char* memory, std::size_t bytes) {
  const char* end = memory + bytes;
  const auto touched = [&](const Filled& filled) {
    return filled.begin < end && memory < filled.end;
  };
  filled_.erase(std::remove_if(filled_.begin(), filled_.end(), touched), filled_.end());
}

core::Result<char*> SharedInputs::memory_of(Gpu& gpu,
                                            const Fill& filling,
                                            std::vector<char*>& used) {
  Fill wanted = filling;
  for (Input& input : inputs_) {
    char* memory = input.space.memory();
    wanted.seed = input.fill.seed;
    if (wanted != input.fill || std::find(used.begin(), used.end(), memory) != used.end()) continue;
    used.push_back(memory);
    return memory;
  }
  wanted.seed = kFirstSeed + static_cast<std::uint32_t>(inputs_.size());
  ArenaSpace space = ASSAY_TRY(gpu.arena().take(kMostBytes));
  char* memory = space.memory();
  if (!gpu.arena().note_filled(memory, kMostBytes, wanted)) {
    ASSAY_TRY(cuda_status(fill(memory, kMostBytes, wanted, gpu.stream()), "making data"));
  }
  inputs_.push_back({.fill = wanted, .space = std::move(space)});
  used.push_back(memory);
  return memory;
}

namespace {

bool is_shared(Gpu& gpu, const BufferSpec& spec, model::L2State l2) {
  return gpu.shared_inputs() != nullptr && spec.role == BufferRole::kActivation &&
         !rotates(spec.role, l2) && spec.fill.kind != Fill::Kind::kNothing && spec.bytes > 0 &&
         pitch_of(spec) <= SharedInputs::kMostBytes;
}

}  // namespace

core::Result<Buffers> Buffers::take(Gpu& gpu,
                                    const std::vector<BufferSpec>& specs,
                                    model::L2State l2) {
  Buffers buffers;
  buffers.copies_ = copies_of(specs, gpu.l2_bytes(), l2);
  std::size_t bytes = 0;
  std::vector<char*> shared;
  for (const BufferSpec& spec : specs) {
    if (is_shared(gpu, spec, l2)) {
      char* memory = ASSAY_TRY(gpu.shared_inputs()->memory_of(gpu, spec.fill, shared));
      buffers.places_.push_back({.memory = memory, .bytes = pitch_of(spec)});
      continue;
    }
    const std::size_t stride = rotates(spec.role, l2) ? pitch_of(spec) : 0;
    const std::size_t copies = stride > 0 ? static_cast<std::size_t>(buffers.copies_) : 1;
    buffers.places_.push_back({.stride = stride, .bytes = copies * pitch_of(spec)});
    bytes += buffers.places_.back().bytes;
  }
  buffers.space_ = ASSAY_TRY(gpu.arena().take(bytes));
  char* memory = buffers.space_.memory();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Place& place = buffers.places_[i];
    if (place.memory != nullptr) continue;  // it is shared
    place.memory = memory;
    memory += place.bytes;
    const Fill& filling = specs[i].fill;
    if (filling.kind == Fill::Kind::kNothing) {
      gpu.arena().note_written(place.memory, place.bytes);
    } else if (!gpu.arena().note_filled(place.memory, place.bytes, filling)) {
      ASSAY_TRY(cuda_status(fill(place.memory, place.bytes, filling, gpu.stream()), "making data"));
    }
  }
  return buffers;
}

core::Status Buffers::spoil(Gpu& gpu, std::size_t buffer) const {
  const Place& place = places_[buffer];
  return cuda_status(cudaMemsetAsync(place.memory, 0xFF, place.bytes, gpu.stream()),
                     "clearing an output");
}

}  // namespace assay::collect
