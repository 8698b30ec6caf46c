#include "allreduce/library/workspaces.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "allreduce/library/cuda_check.h"

namespace assay::allreduce {
namespace {

// In front of the areas: a word for each step of connecting.
constexpr std::size_t kGreetingBytes = 4096;
constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kLargestPushBytes = 64 * kMiB;
constexpr std::size_t kLargestRingsBytes = 141 * kMiB;
constexpr int kLongestConnectingSeconds = 120;
constexpr std::uint32_t kWentWell = 1;
constexpr std::uint32_t kFailed = 2;
constexpr std::uint32_t kLeft = 3;

std::uint64_t this_process() {
  static const std::uint64_t number = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32U | random();
  }();
  return number;
}

int longest_connecting_s() {
  const char* text = std::getenv("ASSAY_ALLREDUCE_CONNECT_SECONDS");
  const int seconds = text == nullptr ? 0 : std::atoi(text);
  return seconds > 0 ? seconds : kLongestConnectingSeconds;
}

std::size_t whole_units(std::size_t bytes) {
  return (bytes + kHalvesUnit - 1) / kHalvesUnit * kHalvesUnit;
}

std::string rank_text(int rank) {
  return "rank " + std::to_string(rank);
}

core::Status enable_peer_access(int own_device, const RankHandle& other, const std::string& who) {
  if (other.device == own_device) return {};
  int can = 0;
  ASSAY_TRY(check_cuda(cudaDeviceCanAccessPeer(&can, own_device, other.device),
                       "asking for peer access"));
  if (can == 0)
    return core::Error{"GPU " + std::to_string(own_device) + " cannot reach the memory of GPU " +
                       std::to_string(other.device) + ", " + who};
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(other.device, 0);
  if (enabled != cudaErrorPeerAccessAlreadyEnabled)
    return check_cuda(enabled, "enabling peer access to " + who);
  cudaGetLastError();
  return {};
}

}  // namespace

// Five eighths for the halves: with 64 MiB TWOSHOT_PUSH sends up to 10 MiB, ONESHOT up to 20 MiB
// by the number of ranks. The rest is TWOSHOT's, whose messages may have any size.
WorkspaceBudget divide_workspace(std::size_t total_bytes) {
  const std::size_t halves = whole_units(total_bytes / 8 * 5);
  const std::size_t others = halves + kGreetingBytes + 2 * kControlBytes;
  return {.halves_bytes = halves, .rings_bytes = total_bytes - std::min(total_bytes, others)};
}

// Messages beyond kLargestPushBytes are pushed in parts of that size. kLargestRingsBytes hold the
// largest tiles of TWOSHOT.
WorkspaceBudget budget_for_messages(std::size_t message_bytes, const WorkspaceBudget& least) {
  const std::size_t pushed = std::min(message_bytes, kLargestPushBytes);
  return {.halves_bytes = std::max(least.halves_bytes, whole_units(4 * pushed)),
          .rings_bytes =
              std::max(least.rings_bytes, std::min(kLargestRingsBytes, 4 * pushed * 11 / 10))};
}

core::Result<std::unique_ptr<Workspaces>> Workspaces::take(int world_size,
                                                           const WorkspaceBudget& budget) {
  std::unique_ptr<Workspaces> taken(new Workspaces(world_size, budget));
  taken->size_bytes_ = taken->offset_of(Area::kNone);
  ASSAY_TRY(check_cuda(cudaStreamCreateWithFlags(&taken->stream_, cudaStreamNonBlocking),
                       "making a stream"));
  void* memory = nullptr;
  ASSAY_TRY(check_cuda(cudaMalloc(&memory, taken->size_bytes_),
                       "taking " + std::to_string(taken->size_bytes_) + " bytes of device memory"));
  taken->base_ = static_cast<std::byte*>(memory);
  ASSAY_TRY(taken->empty());
  return taken;
}

// Returns where an area's control words begin, behind the greeting; for kNone the end of all.
std::size_t Workspaces::offset_of(Area area) const {
  if (area == Area::kHalves) return kGreetingBytes;
  const std::size_t rings = kGreetingBytes + kControlBytes + budget_.halves_bytes;
  return area == Area::kRings ? rings : rings + kControlBytes + budget_.rings_bytes;
}

std::size_t Workspaces::offset_of(Step step) {
  return static_cast<std::size_t>(step) * kVectorBytes;
}

core::Status Workspaces::empty() {
  ASSAY_TRY(check_cuda(cudaMemsetAsync(base_, 0xFF, size_bytes_, stream_), "emptying memory"));
  ASSAY_TRY(check_cuda(cudaMemsetAsync(base_, 0, kGreetingBytes, stream_), "emptying memory"));
  for (const Area area : {Area::kHalves, Area::kRings})
    ASSAY_TRY(check_cuda(cudaMemsetAsync(base_ + offset_of(area), 0, kControlBytes, stream_),
                         "emptying memory"));
  return check_cuda(cudaStreamSynchronize(stream_), "emptying memory");
}

Workspaces::~Workspaces() {
  close();
  if (base_ != nullptr) cudaFree(base_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
  cudaGetLastError();
}

core::Status Workspaces::describe(RankHandle& handle) const {
  std::random_device random;
  handle.process = this_process();
  handle.base = reinterpret_cast<std::uint64_t>(base_);
  handle.nonce = static_cast<std::uint32_t>(random()) | 4U;
  handle.nonce -= handle.nonce % 4;
  return check_cuda(cudaIpcGetMemHandle(&handle.memory, base_), "sharing the workspace");
}

core::Result<std::byte*> Workspaces::base_of(int own_device, const RankHandle& other) {
  const std::string who = rank_text(other.facts.rank);
  if (other.process == this_process()) {
    ASSAY_TRY(enable_peer_access(own_device, other, who));
    return reinterpret_cast<std::byte*>(other.base);
  }
  void* memory = nullptr;
  ASSAY_TRY(check_cuda(cudaIpcOpenMemHandle(&memory, other.memory, cudaIpcMemLazyEnablePeerAccess),
                       "opening the workspace of " + who));
  opened_.push_back(memory);
  return static_cast<std::byte*>(memory);
}

core::Status Workspaces::open(int own_rank, std::span<const RankHandle> handles) {
  close();
  const auto own = static_cast<std::size_t>(own_rank);
  of_rank_[own] = base_;
  for (std::size_t rank = 0; rank < handles.size(); ++rank) {
    if (rank != own) of_rank_[rank] = ASSAY_TRY(base_of(handles[own].device, handles[rank]));
  }
  return {};
}

void Workspaces::close() {
  for (void* memory : opened_)
    cudaIpcCloseMemHandle(memory);
  opened_.clear();
  of_rank_ = {};
}

core::Result<std::uint32_t> Workspaces::word_of(std::size_t rank, Step step) const {
  std::uint32_t word = 0;
  ASSAY_TRY(check_cuda(cudaMemcpyAsync(&word, of_rank_[rank] + offset_of(step), sizeof word,
                                       cudaMemcpyDefault, stream_),
                       "hearing other ranks"));
  ASSAY_TRY(check_cuda(cudaStreamSynchronize(stream_), "hearing other ranks"));
  return word;
}

// A rank writes to its own memory only, so that one that cannot reach another is heard all the
// same.
core::Status Workspaces::tell(Step step, std::uint32_t word) const {
  ASSAY_TRY(check_cuda(
      cudaMemcpyAsync(base_ + offset_of(step), &word, sizeof word, cudaMemcpyDefault, stream_),
      "telling other ranks"));
  return check_cuda(cudaStreamSynchronize(stream_), "telling other ranks");
}

core::Status Workspaces::hear_all(int own_rank,
                                  std::span<const RankHandle> handles,
                                  Step step,
                                  const core::Status& own) {
  // The nonce tells this attempt to connect from an earlier one.
  const std::uint32_t nonce = handles[static_cast<std::size_t>(own_rank)].nonce;
  ASSAY_TRY(tell(step, nonce | (own.ok() ? kWentWell : kFailed)));
  ASSAY_TRY(own);
  const int seconds = longest_connecting_s();
  const std::optional<int> late = ASSAY_TRY(wait_for_all(handles, step, seconds));
  if (!late) return {};
  // The rank that comes later must not go on.
  ASSAY_TRY(tell(step, nonce | kLeft));
  return core::Error{rank_text(*late) + " did not connect within " + std::to_string(seconds) +
                     " s"};
}

core::Result<std::optional<int>> Workspaces::wait_for_all(std::span<const RankHandle> handles,
                                                          Step step,
                                                          int seconds) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (std::size_t rank = 0; rank < handles.size();) {
    const std::uint32_t word = ASSAY_TRY(word_of(rank, step));
    const int number = static_cast<int>(rank);
    if (word == (handles[rank].nonce | kFailed))
      return core::Error{rank_text(number) + " could not connect"};
    if (word == (handles[rank].nonce | kLeft))
      return core::Error{rank_text(number) + " has left: it had waited for too long"};
    if (word == (handles[rank].nonce | kWentWell)) {
      ++rank;
    } else if (std::chrono::steady_clock::now() > end) {
      return std::optional<int>(number);
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  return std::optional<int>();
}

Workspace Workspaces::of(const StrategyKernel& kernel) const {
  Workspace workspace{};
  if (kernel.area == Area::kNone) return workspace;
  const std::size_t budget =
      kernel.area == Area::kHalves ? budget_.halves_bytes : budget_.rings_bytes;
  workspace.capacity_vectors = kernel.workspace_size(world_size_, budget).capacity_vectors;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world_size_); ++rank) {
    if (of_rank_[rank] != nullptr)
      workspace.of_rank[rank] = of_rank_[rank] + offset_of(kernel.area);
  }
  return workspace;
}

}  // namespace assay::allreduce
