// Launches of an empty kernel, and copies between a GPU and pinned memory of the host.
#include <fmt/core.h>

#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/probes.h"
#include "collect/cuda/work.h"

namespace assay::collect {
namespace {

using Word = std::uint64_t;

constexpr auto kWordBytes = static_cast<std::int64_t>(sizeof(Word));

// A word of the copied data. All words differ from each other and from those of a spoiled buffer.
Word word_at(std::int64_t place) {
  return (static_cast<Word>(place) + 1) * 0x9E3779B97F4A7C15ULL;
}

class LaunchWork final : public CudaWork {
 public:
  using CudaWork::CudaWork;

  [[nodiscard]] std::string kernel_source() const override { return "assay"; }

  [[nodiscard]] std::int64_t copies() const override { return 1; }

  core::Status spoil() override { return {}; }

  // An empty kernel has no output to compare.
  core::Result<Accuracy> compare() override { return Accuracy{}; }

 protected:
  core::Status launch_copy(std::int64_t /*copy*/) override {
    return cuda_status(launch_nothing(gpu().stream()), "an empty kernel");
  }
};

// Page-locked memory of the host, which the GPU reads and writes directly.
class PinnedMemory {
 public:
  static core::Result<PinnedMemory> take(std::size_t bytes) {
    void* data = nullptr;
    ASSAY_TRY(cuda_status(cudaHostAlloc(&data, bytes, cudaHostAllocDefault),
                          "taking pinned memory of the host"));
    return PinnedMemory(data);
  }

  PinnedMemory(PinnedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

  PinnedMemory& operator=(PinnedMemory&&) = delete;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  ~PinnedMemory() { cudaFreeHost(data_); }

  [[nodiscard]] Word* words() const { return static_cast<Word*>(data_); }

 private:
  explicit PinnedMemory(void* data) : data_(data) {}

  void* data_;
};

// The host has one buffer; the GPU has as many copies as the L2 state needs.
class CopyWork final : public CudaWork {
 public:
  CopyWork(
      Gpu& gpu, model::L2State l2, const TransferSpec& spec, PinnedMemory host, Buffers buffers)
      : CudaWork(gpu, l2), spec_(spec), host_(std::move(host)), buffers_(std::move(buffers)) {}

  [[nodiscard]] std::string kernel_source() const override { return "cuda_memcpy"; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  // Writes the data on the side that the copies read.
  core::Status fill() {
    for (std::int64_t i = 0; i < num_words(); ++i)
      host_.words()[i] = word_at(i);
    if (is_to_device()) return {};
    for (std::int64_t copy = 0; copy < copies(); ++copy)
      ASSAY_TRY(to_device(copy));
    return {};
  }

  core::Status spoil() override {
    if (is_to_device()) return buffers_.spoil(gpu(), 0);
    ASSAY_TRY(gpu().wait());
    std::memset(host_.words(), 0xFF, num_bytes());
    return {};
  }

  core::Result<Accuracy> compare() override {
    Accuracy accuracy;
    accuracy.compared = samples_of(num_words());
    for (std::int64_t i = 0; i < accuracy.compared; ++i) {
      const std::int64_t place = sampled(i, num_words());
      const Word found = ASSAY_TRY(found_at(place));
      if (found == word_at(place) || accuracy.worst > 0) continue;
      accuracy.worst = std::numeric_limits<float>::max();
      accuracy.where =
          fmt::format("word {} is {:#x}, should be {:#x}", place, found, word_at(place));
    }
    return accuracy;
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    return is_to_device() ? to_device(copy) : to_host(copy);
  }

 private:
  [[nodiscard]] bool is_to_device() const {
    return spec_.kind == TransferSpec::Kind::kHostToDevice;
  }

  [[nodiscard]] std::size_t num_bytes() const { return static_cast<std::size_t>(spec_.bytes); }

  [[nodiscard]] std::int64_t num_words() const { return spec_.bytes / kWordBytes; }

  core::Status to_device(std::int64_t copy) {
    return cuda_status(cudaMemcpyAsync(buffers_.at(0, copy), host_.words(), num_bytes(),
                                       cudaMemcpyHostToDevice, gpu().stream()),
                       "a copy to the GPU");
  }

  core::Status to_host(std::int64_t copy) {
    return cuda_status(cudaMemcpyAsync(host_.words(), buffers_.at(0, copy), num_bytes(),
                                       cudaMemcpyDeviceToHost, gpu().stream()),
                       "a copy to the host");
  }

  // Returns the word at `place` of the side that was written, in the first copy.
  core::Result<Word> found_at(std::int64_t place) {
    if (!is_to_device()) return host_.words()[place];
    Word found = 0;
    ASSAY_TRY(cuda_status(cudaMemcpyAsync(&found, buffers_.at<Word>(0, 0) + place, sizeof(found),
                                          cudaMemcpyDeviceToHost, gpu().stream()),
                          "reading what was copied"));
    ASSAY_TRY(gpu().wait());
    return found;
  }

  TransferSpec spec_;
  PinnedMemory host_;
  Buffers buffers_;
};

}  // namespace

core::Result<MadeWork> make_transfer(Gpu& gpu, const TransferSpec& spec, model::L2State l2) {
  if (spec.kind == TransferSpec::Kind::kLaunch)
    return MadeWork(std::make_unique<LaunchWork>(gpu, l2));
  if (spec.bytes < kWordBytes || spec.bytes % kWordBytes != 0) {
    return MadeWork(Unsupported{"copies are of a multiple of 8 bytes"});
  }
  const auto bytes = static_cast<std::size_t>(spec.bytes);
  PinnedMemory host = ASSAY_TRY(PinnedMemory::take(bytes));
  Buffers buffers = ASSAY_TRY(Buffers::take(gpu, {BufferSpec{bytes}}, l2));
  auto work = std::make_unique<CopyWork>(gpu, l2, spec, std::move(host), std::move(buffers));
  ASSAY_TRY(work->fill());
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
