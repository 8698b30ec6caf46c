#include "collect/cuda/buffers.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/gpu.h"

namespace assay::collect {
namespace {

constexpr std::size_t kAlignment = 256;  // the alignment that cuBLASLt assumes by default

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

constexpr std::int64_t kMostCopies = 4096;
constexpr std::size_t kMostRotatingBytes = std::size_t{24} << 30U;

// The copies together are this many times as large as the L2 cache. On an H200 (60 MiB), products
// take the same time within 1 % with 2, 4, 8 and 16, from weights of 1 to 200 MB; a weight of 64
// MiB alone is as slow as copies of it.
constexpr std::int64_t kCachesOfCopies = 2;

std::size_t pitch_of(const BufferSpec& spec) {
  return rounded_up(std::max<std::size_t>(spec.bytes, 1), kAlignment);
}

}  // namespace

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
  const std::size_t size = rounded_up(std::max<std::size_t>(bytes, 1), kAlignment);
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
    const std::size_t size = rounded_up(wanted, step);
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

bool rotates(BufferRole role, model::L2State l2) {
  if (l2 == model::L2State::kHot || role == BufferRole::kTable) return false;
  return l2 == model::L2State::kCold || role != BufferRole::kActivation;
}

std::int64_t copies_of(const std::vector<BufferSpec>& specs,
                       std::int64_t l2_bytes,
                       model::L2State l2) {
  std::size_t bytes = 0;
  std::size_t read = 0;
  for (const BufferSpec& spec : specs) {
    if (!rotates(spec.role, l2) || spec.bytes == 0) continue;
    bytes += pitch_of(spec);
    read += spec.read_bytes > 0 ? spec.read_bytes : pitch_of(spec);
  }
  if (bytes == 0) return 1;
  const auto one = static_cast<std::int64_t>(read);
  const std::int64_t wanted = (kCachesOfCopies * l2_bytes + one - 1) / one;
  const auto fitting = static_cast<std::int64_t>(kMostRotatingBytes / bytes);
  return std::max<std::int64_t>(std::min({wanted, fitting, kMostCopies}), 1);
}

core::Result<Buffers> Buffers::take(Gpu& gpu,
                                    const std::vector<BufferSpec>& specs,
                                    model::L2State l2) {
  Buffers buffers;
  buffers.copies_ = copies_of(specs, gpu.l2_bytes(), l2);
  std::size_t bytes = 0;
  for (const BufferSpec& spec : specs) {
    const std::size_t stride = rotates(spec.role, l2) ? pitch_of(spec) : 0;
    const std::size_t copies = stride > 0 ? static_cast<std::size_t>(buffers.copies_) : 1;
    buffers.places_.push_back({.stride = stride, .bytes = copies * pitch_of(spec)});
    bytes += buffers.places_.back().bytes;
  }
  buffers.space_ = ASSAY_TRY(gpu.arena().take(bytes));
  char* memory = buffers.space_.memory();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Place& place = buffers.places_[i];
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
