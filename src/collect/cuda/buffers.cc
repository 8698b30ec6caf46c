#include "collect/cuda/buffers.h"

#include <algorithm>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/gpu.h"

namespace assay::collect {
namespace {

constexpr std::size_t kAlignment = 256;  // what cuBLASLt assumes unless told
constexpr std::int64_t kMostCopies = 4096;

std::size_t pitch_of(const BufferSpec& spec) {
  return (std::max<std::size_t>(spec.bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

// Used in turn, they are more than twice the cache.
std::int64_t copies_for(std::size_t bytes, std::int64_t l2_bytes, model::L2State l2) {
  if (l2 == model::L2State::kHot) return 1;
  const auto one = static_cast<std::int64_t>(bytes);
  return std::clamp<std::int64_t>((2 * l2_bytes + one - 1) / one, 1, kMostCopies);
}

}  // namespace

core::Result<Buffers> Buffers::take(Gpu& gpu,
                                    const std::vector<BufferSpec>& specs,
                                    model::L2State l2) {
  std::size_t bytes = 0;
  for (const BufferSpec& spec : specs)
    bytes += pitch_of(spec);
  Buffers buffers;
  buffers.copies_ = copies_for(bytes, gpu.l2_bytes(), l2);
  const auto copies = static_cast<std::size_t>(buffers.copies_);
  buffers.space_ = ASSAY_TRY(gpu.arena().take(bytes * copies));
  char* memory = buffers.space_.memory();
  for (const BufferSpec& spec : specs) {
    const std::size_t pitch = pitch_of(spec);
    buffers.places_.push_back({memory, pitch});
    const std::size_t size = pitch * copies;
    if (spec.fill.kind == Fill::Kind::kNothing) {
      gpu.arena().note_written(memory, size);
    } else if (!gpu.arena().note_filled(memory, size, spec.fill)) {
      ASSAY_TRY(cuda_status(fill(memory, size, spec.fill, gpu.stream()), "making data"));
    }
    memory += size;
  }
  return buffers;
}

core::Status Buffers::spoil(Gpu& gpu, std::size_t buffer) const {
  const Place& place = places_[buffer];
  return cuda_status(cudaMemsetAsync(place.memory, 0xFF,
                                     place.pitch * static_cast<std::size_t>(copies_), gpu.stream()),
                     "clearing an output");
}

}  // namespace assay::collect
