#include "allreduce/library/communicator.h"

#include <cstdlib>
#include <random>

namespace assay::allreduce {
namespace {

constexpr std::uint32_t kMagic = 0x41535231;                        // "ASR1"
constexpr std::size_t kMostWorkspaceBytes = std::size_t{8} << 30U;  // kernels count in 32 bits
constexpr double kLongestDeadlineSeconds = 3600;
constexpr std::size_t kAlignment = std::size_t{2} << 20U;

core::Status check(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return core::Error{doing + ": " + cudaGetErrorString(error)};
}

std::uint64_t this_process() {
  static const std::uint64_t number = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32U | random();
  }();
  return number;
}

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string rank_text(int rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

std::string Communicator::argument_problem(int rank,
                                           int world_size,
                                           const CommunicatorOptions& options) {
  if (world_size < 2 || world_size > kMaxRanks)
    return "between 2 and 8 ranks can be joined, not " + std::to_string(world_size);
  if (rank < 0 || rank >= world_size)
    return "there is no " + rank_text(rank) + " of " + std::to_string(world_size);
  if (options.workspace_bytes > kMostWorkspaceBytes) return "a workspace is at most 8 GiB large";
  if (!(options.deadline_seconds >= 0 && options.deadline_seconds <= kLongestDeadlineSeconds))
    return "deadline_seconds must be between 0 and 3600";
  return "";
}

core::Result<std::unique_ptr<Communicator>> Communicator::create(
    int rank, int world_size, const CommunicatorOptions& options) {
  const std::string problem = argument_problem(rank, world_size, options);
  if (!problem.empty()) return core::Error{problem};
  int device = 0;
  ASSAY_TRY(check(cudaGetDevice(&device), "finding the current GPU"));
  std::unique_ptr<Communicator> comm(new Communicator(rank, world_size, device, options));
  if (options.use_nccl) {
    const auto library = nccl_library();
    if (library.ok()) {
      comm->nccl_ = library.value();
      if (rank == 0)
        ASSAY_TRY(
            comm->nccl_->check(comm->nccl_->get_unique_id(&comm->nccl_id_), "ncclGetUniqueId"));
    } else {
      comm->no_nccl_ = library.error().message;
    }
  }
  ASSAY_TRY(comm->take_memory(options.workspace_bytes));
  return comm;
}

core::Status Communicator::take_memory(std::size_t budget_bytes) {
  ASSAY_TRY(
      check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device_),
            "counting multiprocessors"));
  for (const StrategyKernel* kernel : core::Registry<StrategyKernel>::all()) {
    const WorkspaceSize size = kernel->workspace_size(world_size_, budget_bytes);
    regions_.push_back({.kernel = kernel, .offset_bytes = size_bytes_, .size = size});
    size_bytes_ += aligned(kControlBytes + size.data_bytes);
  }
  void* memory = nullptr;
  ASSAY_TRY(check(cudaMalloc(&memory, size_bytes_),
                  "taking " + std::to_string(size_bytes_) + " bytes of device memory"));
  base_ = static_cast<std::byte*>(memory);
  for (const Region& region : regions_) {
    std::byte* control = base_ + region.offset_bytes;
    ASSAY_TRY(check(cudaMemset(control, 0, kControlBytes), "emptying the workspace"));
    ASSAY_TRY(check(cudaMemset(control + kControlBytes, 0xFF, region.size.data_bytes),
                    "emptying the workspace"));
  }
  return check(cudaDeviceSynchronize(), "emptying the workspace");
}

Communicator::~Communicator() {
  cudaSetDevice(device_);
  cudaDeviceSynchronize();
  for (ncclWindow_t window : windows_)
    nccl_->comm_window_deregister(nccl_comm_, window);
  if (nccl_comm_ != nullptr) nccl_->comm_destroy(nccl_comm_);
  for (void* memory : allocated_)
    nccl_->mem_free(memory);
  for (void* memory : opened_)
    cudaIpcCloseMemHandle(memory);
  if (base_ != nullptr) cudaFree(base_);
  cudaGetLastError();
}

core::Result<RankHandle> Communicator::handle() const {
  RankHandle handle{};
  handle.magic = kMagic;
  handle.rank = static_cast<std::uint32_t>(rank_);
  handle.world_size = static_cast<std::uint32_t>(world_size_);
  handle.device = device_;
  handle.process = this_process();
  handle.base = reinterpret_cast<std::uint64_t>(base_);
  handle.size_bytes = size_bytes_;
  handle.nccl = nccl_id_;
  handle.has_nccl = nccl_ != nullptr ? 1 : 0;
  ASSAY_TRY(check(cudaIpcGetMemHandle(&handle.memory, base_), "sharing the workspace"));
  return handle;
}

core::Result<std::byte*> Communicator::base_of(const RankHandle& other) {
  const std::string who = rank_text(static_cast<int>(other.rank));
  if (other.process != this_process()) {
    void* memory = nullptr;
    ASSAY_TRY(check(cudaIpcOpenMemHandle(&memory, other.memory, cudaIpcMemLazyEnablePeerAccess),
                    "opening the workspace of " + who));
    opened_.push_back(memory);
    return static_cast<std::byte*>(memory);
  }
  int can = 0;
  ASSAY_TRY(check(cudaDeviceCanAccessPeer(&can, device_, other.device), "asking for peer access"));
  if (can == 0)
    return core::Error{"GPU " + std::to_string(device_) + " cannot reach the memory of GPU " +
                       std::to_string(other.device) + ", " + who};
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(other.device, 0);
  if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    ASSAY_TRY(check(enabled, "enabling peer access to " + who));
  }
  return reinterpret_cast<std::byte*>(other.base);
}

core::Status Communicator::connect(std::span<const RankHandle> handles) {
  for (int rank = 0; rank < world_size_; ++rank) {
    const RankHandle& other = handles[static_cast<std::size_t>(rank)];
    if (other.magic != kMagic || other.rank != static_cast<std::uint32_t>(rank) ||
        other.world_size != static_cast<std::uint32_t>(world_size_) ||
        other.size_bytes != size_bytes_)
      return core::Error{"the handle of " + rank_text(rank) +
                         " is not that of this communicator: same order, same options, same "
                         "version everywhere?"};
    of_rank_[static_cast<std::size_t>(rank)] = rank == rank_ ? base_ : ASSAY_TRY(base_of(other));
  }
  ASSAY_TRY(load_kernels());
  ASSAY_TRY(start_nccl(handles[0]));
  is_connected_ = true;
  return {};
}

core::Status Communicator::load_kernels() const {
  Arguments a{};
  a.world_size = world_size_;
  a.rows = 1;
  for (const Region& region : regions_) {
    for (std::size_t type = 0; type < kDataTypeNames.size(); ++type) {
      for (std::size_t fusion = 0; fusion < kFusionNames.size(); ++fusion) {
        Request request;
        request.purpose = Purpose::kLoad;
        request.data_type = static_cast<DataType>(type);
        request.fusion = static_cast<Fusion>(fusion);
        a.elements_of_vector = static_cast<int>(kVectorBytes / bytes_of(request.data_type));
        a.row_vectors = 1;
        ASSAY_TRY(region.kernel->launch(device_for(region), a, request));
      }
    }
  }
  return {};
}

core::Status Communicator::start_nccl(const RankHandle& first) {
  if (nccl_ == nullptr) return {};
  if (first.has_nccl == 0) {
    no_nccl_ = "rank 0 has no NCCL";
    nccl_ = nullptr;
    return {};
  }
  return nccl_->check(nccl_->comm_init_rank(&nccl_comm_, world_size_, first.nccl, rank_),
                      "ncclCommInitRank");
}

core::Result<void*> Communicator::allocate(std::size_t size_bytes) {
  if (nccl_comm_ == nullptr) return core::Error{no_nccl_};
  void* memory = nullptr;
  ASSAY_TRY(nccl_->check(nccl_->mem_alloc(&memory, size_bytes), "ncclMemAlloc"));
  allocated_.push_back(memory);
  return memory;
}

core::Status Communicator::register_buffer(void* buffer, std::size_t size_bytes) {
  if (nccl_comm_ == nullptr) return core::Error{no_nccl_};
  if (nccl_->comm_window_register == nullptr)
    return core::Error{"this NCCL has no symmetric windows: 2.27 or newer is needed"};
  ncclWindow_t window{};
  ASSAY_TRY(nccl_->check(
      nccl_->comm_window_register(nccl_comm_, buffer, size_bytes, &window, NCCL_WIN_COLL_SYMMETRIC),
      "ncclCommWindowRegister"));
  windows_.push_back(window);
  return {};
}

std::optional<Strategy> Communicator::table_choice(Fusion fusion,
                                                   DataType data_type,
                                                   std::int64_t hidden_size,
                                                   std::int64_t num_tokens) const {
  if (!table_.has_value()) return std::nullopt;
  return table_->lookup(world_size_, fusion, data_type, hidden_size, num_tokens);
}

const Communicator::Region* Communicator::region_of(Strategy strategy) const {
  for (const Region& region : regions_) {
    if (region.kernel->strategy == strategy) return &region;
  }
  return nullptr;
}

Device Communicator::device_for(const Region& region) const {
  Device device{.rank = rank_, .world_size = world_size_, .multiprocessors = multiprocessors_};
  device.workspace.capacity_vectors = region.size.capacity_vectors;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world_size_); ++rank)
    device.workspace.of_rank[rank] = of_rank_[rank] + region.offset_bytes;
  // For tests of the kernels: their threads are late at random.
  static const bool delays = std::getenv("ASSAY_ALLREDUCE_DELAYS") != nullptr;
  device.workspace.patience.delays = delays ? 1 : 0;
  device.nccl = nccl_comm_ == nullptr ? nullptr : nccl_;
  device.nccl_comm = nccl_comm_;
  device.has_windows = !windows_.empty();
  return device;
}

std::string Communicator::refusal(Strategy strategy, const Arguments& a, Fusion fusion) const {
  const Region* region = region_of(strategy);
  if (region == nullptr) return "this library has no strategy " + std::string(name_of(strategy));
  const Device device = device_for(*region);
  if (region->kernel->needs_nccl && device.nccl == nullptr) return no_nccl_;
  return region->kernel->refusal(device, a, fusion);
}

core::Status Communicator::run(Strategy strategy, const Arguments& a, const Request& request) {
  const Region* region = region_of(strategy);
  return region->kernel->launch(device_for(*region), a, request);
}

int Communicator::nccl_version() const {
  int version = 0;
  if (nccl_ != nullptr) nccl_->get_version(&version);
  return version;
}

}  // namespace assay::allreduce
