#include "allreduce/library/communicator.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "allreduce/library/cuda_check.h"

namespace assay::allreduce {
namespace {

constexpr std::size_t kLeastWorkspaceBytes = std::size_t{4} << 20U;
constexpr std::size_t kMostWorkspaceBytes = std::size_t{8} << 30U;  // kernels count in 32 bits
constexpr double kLongestDeadlineSeconds = 3600;

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char character : text)
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3U;
  return hash;
}

std::uint32_t folded(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash ^ hash >> 32U);
}

const StrategyKernel* kernel_of(Strategy strategy) {
  for (const StrategyKernel* kernel : core::Registry<StrategyKernel>::all()) {
    if (kernel->strategy == strategy) return kernel;
  }
  return nullptr;
}

int version_of(const NcclLibrary* nccl) {
  int version = 0;
  if (nccl != nullptr) nccl->get_version(&version);
  return version;
}

}  // namespace

std::string Communicator::argument_problem(int rank,
                                           int world_size,
                                           const CommunicatorOptions& options) {
  if (world_size < 2 || world_size > kMaxRanks)
    return "between 2 and 8 ranks can be joined, not " + std::to_string(world_size);
  if (rank < 0 || rank >= world_size)
    return "there is no rank " + std::to_string(rank) + " of " + std::to_string(world_size);
  if (options.workspace_bytes < kLeastWorkspaceBytes ||
      options.workspace_bytes > kMostWorkspaceBytes)
    return "workspace_bytes must be between 4 MiB and 8 GiB";
  if (!(options.deadline_seconds >= 0 && options.deadline_seconds <= kLongestDeadlineSeconds))
    return "deadline_seconds must be between 0 and 3600";
  return "";
}

core::Result<std::unique_ptr<Communicator>> Communicator::create(
    int rank, int world_size, const CommunicatorOptions& options) {
  const std::string problem = argument_problem(rank, world_size, options);
  if (!problem.empty()) return core::Error{problem};
  int device = 0;
  ASSAY_TRY(check_cuda(cudaGetDevice(&device), "finding the current GPU"));
  std::unique_ptr<Communicator> comm(new Communicator(rank, world_size, device, options));
  ASSAY_TRY(comm->start());
  return comm;
}

core::Status Communicator::start() {
  ASSAY_TRY(ask_device());
  if (options_.use_nccl) find_nccl();
  if (options_.deadline_seconds > 0) ASSAY_TRY(take_missing_word());
  workspaces_ =
      ASSAY_TRY(Workspaces::take(world_size_, divide_workspace(options_.workspace_bytes)));
  return {};
}

core::Status Communicator::ask_device() {
  int major = 0;
  int minor = 0;
  int domain = 0;
  int bus = 0;
  int slot = 0;
  const std::pair<int*, cudaDeviceAttr> questions[] = {
      {&own_multiprocessors_, cudaDevAttrMultiProcessorCount},
      {&major, cudaDevAttrComputeCapabilityMajor},
      {&minor, cudaDevAttrComputeCapabilityMinor},
      {&domain, cudaDevAttrPciDomainId},
      {&bus, cudaDevAttrPciBusId},
      {&slot, cudaDevAttrPciDeviceId}};
  for (const auto& [answer, attribute] : questions)
    ASSAY_TRY(check_cuda(cudaDeviceGetAttribute(answer, attribute, device_), "asking the GPU"));
  sm_version_ = major * 10 + minor;
  pci_place_ = static_cast<std::uint32_t>(domain) << 16 | static_cast<std::uint32_t>(bus) << 8 |
               static_cast<std::uint32_t>(slot);
  return {};
}

core::Status Communicator::take_missing_word() {
  void* word = nullptr;
  ASSAY_TRY(check_cuda(
      cudaHostAlloc(&word, sizeof *missing_, cudaHostAllocMapped | cudaHostAllocPortable),
      "taking memory of the host"));
  missing_ = static_cast<std::uint32_t*>(word);
  *missing_ = 0;
  return {};
}

void Communicator::find_nccl() {
  const auto library = nccl_library();
  if (library.ok()) {
    nccl_ = library.value();
  } else {
    no_nccl_ = library.error().message;
  }
}

Communicator::~Communicator() {
  int current = device_;
  cudaGetDevice(&current);
  cudaSetDevice(device_);
  cudaDeviceSynchronize();
  for (ncclWindow_t window : windows_)
    nccl_->comm_window_deregister(nccl_comm_, window);
  if (nccl_comm_ != nullptr) nccl_->comm_destroy(nccl_comm_);
  for (void* memory : allocated_)
    nccl_->mem_free(memory);
  if (missing_ != nullptr) cudaFreeHost(missing_);
  // They close and free on the current device.
  workspaces_.reset();
  used_before_.clear();
  unused_.clear();
  cudaSetDevice(current);
  cudaGetLastError();
}

RankFacts Communicator::facts() const {
  return {.workspace_bytes = workspaces_->size_bytes(),
          .magic = kHandleMagic,
          .library = folded(hash_of(ASSAY_VERSION)),
          .nccl_version = static_cast<std::uint32_t>(version_of(nccl_)),
          .table = folded(table_hash_),
          .deadline_seconds = static_cast<float>(options_.deadline_seconds),
          .gpu = pci_place_,
          .multiprocessors = static_cast<std::uint16_t>(own_multiprocessors_),
          .sm_version = static_cast<std::uint16_t>(sm_version_),
          .rank = static_cast<std::uint8_t>(rank_),
          .world_size = static_cast<std::uint8_t>(world_size_),
          .is_deterministic = static_cast<std::uint8_t>(options_.deterministic ? 1 : 0),
          .unused = 0};
}

core::Result<RankHandle> Communicator::handle() {
  RankHandle handle{};
  handle.facts = facts();
  handle.device = device_;
  ASSAY_TRY(workspaces_->describe(handle));
  if (rank_ == 0 && nccl_ != nullptr && nccl_comm_ == nullptr)
    ASSAY_TRY(nccl_->check(nccl_->get_unique_id(&handle.nccl), "ncclGetUniqueId"));
  return handle;
}

core::Status Communicator::connect(std::span<const RankHandle> handles) {
  if (missing_rank()) return core::Error{"the communicator is broken, and can only be destroyed"};
  std::vector<RankFacts> facts;
  for (const RankHandle& handle : handles)
    facts.push_back(handle.facts);
  // A test may have more ranks than there are GPUs. A job whose ranks all took GPU 0 is wrong.
  const bool may_share_gpus = std::getenv("ASSAY_ALLREDUCE_SHARED_GPUS") != nullptr;
  const Agreement agreement = ASSAY_TRY(agree(facts, may_share_gpus));
  if (is_connected_) return {};
  if (handles[static_cast<std::size_t>(rank_)].facts.workspace_bytes != workspaces_->size_bytes())
    return core::Error{"the handles are older than the last reserve"};
  const bool had_nccl = nccl_comm_ != nullptr;
  const core::Status joined = join(handles, agreement);
  is_connected_ = joined.ok();
  if (joined.ok()) {
    unused_.clear();
    return {};
  }
  workspaces_->close();
  if (nccl_comm_ != nullptr && !had_nccl) nccl_->comm_abort(std::exchange(nccl_comm_, nullptr));
  return joined;
}

// Nobody starts NCCL, which waits for all, before all have come so far.
core::Status Communicator::join(std::span<const RankHandle> handles, const Agreement& agreement) {
  multiprocessors_ = agreement.multiprocessors;
  shares_gpus_ = agreement.shares_gpus;
  core::Status status = workspaces_->open(rank_, handles);
  if (status.ok()) status = load_kernels();
  ASSAY_TRY(workspaces_->hear_all(rank_, handles, Workspaces::Step::kMapped, status));
  status = start_nccl(handles[0], agreement);
  return workspaces_->hear_all(rank_, handles, Workspaces::Step::kJoined, status);
}

core::Status Communicator::start_nccl(const RankHandle& first, const Agreement& agreement) {
  if (nccl_ == nullptr || nccl_comm_ != nullptr) return {};
  if (!agreement.no_nccl.empty()) {
    no_nccl_ = agreement.no_nccl;
    return {};
  }
  return nccl_->check(nccl_->comm_init_rank(&nccl_comm_, world_size_, first.nccl, rank_),
                      "ncclCommInitRank");
}

core::Status Communicator::reserve(std::size_t message_bytes) {
  if (missing_rank()) return core::Error{"the communicator is broken, and can only be destroyed"};
  const WorkspaceBudget budget = budget_for_messages(message_bytes, workspaces_->budget());
  if (budget == workspaces_->budget()) return {};
  ASSAY_TRY(check_cuda(cudaDeviceSynchronize(), "waiting for earlier calls"));
  // All ranks refuse calls from here on, also one that finds no memory.
  is_connected_ = false;
  auto larger = ASSAY_TRY(Workspaces::take(world_size_, budget));
  auto earlier = std::exchange(workspaces_, std::move(larger));
  if (std::exchange(has_run_, false)) {
    used_before_.push_back(std::move(earlier));
  } else {
    earlier->close();
    unused_.push_back(std::move(earlier));
  }
  return {};
}

core::Status Communicator::load_kernels() const {
  Arguments a{};
  a.world_size = world_size_;
  a.rows = 1;
  for (const StrategyKernel* kernel : core::Registry<StrategyKernel>::all()) {
    for (std::size_t type = 0; type < kDataTypeNames.size(); ++type) {
      for (std::size_t fusion = 0; fusion < kFusionNames.size(); ++fusion) {
        Request request;
        request.purpose = Purpose::kLoad;
        request.data_type = static_cast<DataType>(type);
        request.fusion = static_cast<Fusion>(fusion);
        a.elements_of_vector = static_cast<int>(kVectorBytes / bytes_of(request.data_type));
        a.row_vectors = 1;
        ASSAY_TRY(kernel->launch(device_for(*kernel), a, request));
      }
    }
  }
  return {};
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

void Communicator::set_table(StrategyTable table) {
  table_hash_ = hash_of(table_json(table));
  table_ = std::move(table);
}

std::optional<int> Communicator::missing_rank() const {
  if (missing_ == nullptr) return std::nullopt;
  const volatile std::uint32_t* word = missing_;
  const std::uint32_t value = *word;
  return value == 0 ? std::nullopt : std::optional(static_cast<int>(value) - 1);
}

Device Communicator::device_for(const StrategyKernel& kernel) const {
  Device device{.rank = rank_,
                .world_size = world_size_,
                .multiprocessors = multiprocessors_,
                .shares_gpu = shares_gpus_};
  device.workspace = workspaces_->of(kernel);
  // For tests of the kernels: their threads are late at random.
  static const bool delays = std::getenv("ASSAY_ALLREDUCE_DELAYS") != nullptr;
  device.workspace.patience = {
      .nanoseconds = static_cast<std::uint64_t>(options_.deadline_seconds * 1e9),
      .missing = missing_,
      .delays = delays ? 1U : 0U};
  device.nccl = nccl_comm_ == nullptr ? nullptr : nccl_;
  device.nccl_comm = nccl_comm_;
  device.has_windows = !windows_.empty();
  return device;
}

std::string Communicator::refusal(Strategy strategy, const Arguments& a, Fusion fusion) const {
  const StrategyKernel* kernel = kernel_of(strategy);
  if (kernel == nullptr) return "this library has no strategy " + std::string(name_of(strategy));
  const Device device = device_for(*kernel);
  if (kernel->needs_nccl && device.nccl == nullptr) return no_nccl_;
  return kernel->refusal(device, a, fusion);
}

core::Status Communicator::run(Strategy strategy, const Arguments& a, const Request& request) {
  const StrategyKernel* kernel = kernel_of(strategy);
  if (kernel->area != Area::kNone) has_run_ = true;
  return kernel->launch(device_for(*kernel), a, request);
}

int Communicator::nccl_version() const {
  return is_connected_ && nccl_comm_ == nullptr ? 0 : version_of(nccl_);
}

}  // namespace assay::allreduce
