#include "collect/cuda/command.h"

#include <cuda_runtime.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "collect/cuda/device.h"
#include "collect/cuda/gpu_rank.h"
#include "collect/worker/conditions.h"
#include "collect/worker/mpi_team.h"
#include "collect/worker/run_case.h"
#include "collect/worker/team.h"

namespace assay::collect {
namespace {

struct Options {
  std::vector<int> gpus = {0};
  bool self_test = false;
  bool in_job = false;  // an MPI job, which has a process for each GPU
  bool nccl_memory = false;
};

std::optional<std::vector<int>> numbers(const std::string& list) {
  std::vector<int> values;
  const char* at = list.data();
  const char* end = at + list.size();
  while (at < end) {
    int value = 0;
    const auto read = std::from_chars(at, end, value);
    if (read.ec != std::errc{} || (read.ptr != end && *read.ptr != ',')) return std::nullopt;
    values.push_back(value);
    at = read.ptr == end ? end : read.ptr + 1;
  }
  if (values.empty()) return std::nullopt;
  return values;
}

core::Result<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--self-test") {
      options.self_test = true;
    } else if (arguments[i] == "--mpi") {
      options.in_job = true;
    } else if (arguments[i] == "--nccl-memory") {
      options.nccl_memory = true;
    } else if (arguments[i] == "--gpus") {
      const auto gpus = numbers(i + 1 < arguments.size() ? arguments[++i] : "");
      if (!gpus) return core::Error{"--gpus must be numbers with commas, like 0,1"};
      options.gpus = *gpus;
    } else {
      return core::Error{"unknown option " + arguments[i]};
    }
  }
  if (options.self_test + options.in_job + options.nccl_memory > 1)
    return core::Error{"--self-test, --mpi and --nccl-memory exclude each other"};
  return options;
}

// Returns nullptr if the driver reports nothing; measuring goes on without it.
std::unique_ptr<StateReader> sensors_of(int gpu) {
  std::array<char, 64> bus_id{};
  if (cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), gpu) != cudaSuccess)
    return nullptr;
  auto reader = nvml_state_reader(bus_id.data());
  if (reader.ok()) return std::move(reader).value();
  std::fprintf(stderr, "assay-worker collect: no clocks or energy: %s\n",
               reader.error().message.c_str());
  return nullptr;
}

core::Result<WorkerDevice> open_alone(const std::vector<int>& gpus) {
  WorkerDevice opened;
  opened.device = ASSAY_TRY(CudaDevice::open(gpus));
  opened.sensors = sensors_of(gpus.front());
  return opened;
}

// Opens the GPUs with a thread for each, for collectives alone.
core::Result<WorkerDevice> open_team(const std::vector<int>& gpus) {
  // Code that is loaded while another GPU's kernel waits for this one would wait for it in turn.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const DeviceFacts facts = ASSAY_TRY(CudaDevice::open(gpus))->facts();
  const RankMeeting meeting = meet_in_process();
  std::vector<std::unique_ptr<TeamRank>> ranks;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank)
    ranks.push_back(make_gpu_rank({.rank = static_cast<int>(rank), .device = gpus[rank]}, meeting));
  WorkerDevice opened;
  opened.device = make_team_device(make_thread_team(std::move(ranks)), facts);
  opened.sensors = sensors_of(gpus.front());
  return opened;
}

core::Result<std::unique_ptr<TeamRank>> rank_of(const MpiRank& job) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  int device = 0;
  ASSAY_TRY(mpi::status_of(job, job.functions->local_rank(&device)));
  return make_gpu_rank({.rank = job.rank, .device = device}, meet_in_job(job));
}

int follow(const MpiRank& job) {
  const auto rank = rank_of(job);
  const core::Status followed = rank.ok() ? follow_mpi(job, *rank.value()) : rank.error();
  if (followed.ok()) return 0;
  std::fprintf(stderr, "assay-worker collect: %s\n", followed.error().message.c_str());
  return 1;
}

core::Result<WorkerDevice> lead(const core::Result<MpiRank>& joined) {
  const MpiRank job = ASSAY_TRY(joined);
  std::unique_ptr<TeamRank> rank = ASSAY_TRY(rank_of(job));
  // Rank 0 is the first of its host.
  const DeviceFacts facts = ASSAY_TRY(CudaDevice::open({0}))->facts();
  WorkerDevice opened;
  opened.device = make_team_device(make_mpi_team(job, std::move(rank)), facts);
  opened.sensors = sensors_of(0);
  return opened;
}

int run_in_job() {
  const core::Result<MpiRank> job = mpi::join();
  if (job.ok() && job.value().rank != 0) return follow(job.value());
  return run_worker([&job] { return lead(job); });
}

}  // namespace

int run_collect_command(const std::vector<std::string>& arguments) {
  const auto options = parse(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "assay-worker collect: %s (see 'assay-worker collect --help')\n",
                 options.error().message.c_str());
    return 2;
  }
  const std::vector<int>& gpus = options.value().gpus;
  if (options.value().self_test) return run_self_test(gpus);
  if (options.value().in_job) return run_in_job();
  if (options.value().nccl_memory) return print_nccl_memory(gpus);
  if (gpus.size() > 1) return run_worker([&gpus] { return open_team(gpus); });
  return run_worker([&gpus] { return open_alone(gpus); });
}

}  // namespace assay::collect
