#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

#include "collect/cuda/command.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/device.h"
#include "collect/cuda/gpu_rank.h"
#include "collect/worker/team.h"

namespace assay::collect {
namespace {

// There are few elements, because the buffers themselves also count, in pages of 2 MiB.
constexpr std::int64_t kElementsOfRank = 1024;

core::Result<std::int64_t> free_bytes(int gpu) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSAY_TRY(cuda_status(cudaSetDevice(gpu), "choosing the GPU"));
  ASSAY_TRY(cuda_status(cudaMemGetInfo(&free, &total), "asking for free memory"));
  return static_cast<std::int64_t>(free);
}

std::unique_ptr<Team> team_of(const std::vector<int>& gpus) {
  const RankMeeting meeting = meet_in_process();
  std::vector<std::unique_ptr<TeamRank>> ranks;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank)
    ranks.push_back(make_gpu_rank({.rank = static_cast<int>(rank), .device = gpus[rank]}, meeting));
  return make_thread_team(std::move(ranks));
}

core::Result<std::int64_t> communicator_bytes(const std::vector<int>& gpus) {
  // This creates the GPUs' contexts first, whose memory is not NCCL's.
  const DeviceFacts facts = ASSAY_TRY(CudaDevice::open(gpus))->facts();
  const std::int64_t before = ASSAY_TRY(free_bytes(gpus.front()));
  const std::unique_ptr<Device> team = make_team_device(team_of(gpus), facts);
  const auto ranks = static_cast<int>(gpus.size());
  MadeWork made = ASSAY_TRY(team->make(
      CollectiveSpec{.elements = kElementsOfRank * ranks, .ranks = ranks}, model::L2State::kHot));
  if (const auto* unsupported = std::get_if<Unsupported>(&made)) {
    return core::Error{unsupported->reason};
  }
  ASSAY_TRY(std::get<std::unique_ptr<Work>>(made)->launch());
  ASSAY_TRY(team->finish());
  return before - ASSAY_TRY(free_bytes(gpus.front()));
}

int print_communicator(const std::vector<int>& gpus) {
  const core::Result<std::int64_t> bytes = communicator_bytes(gpus);
  if (bytes.ok()) {
    std::printf("    %zu: %lld\n", gpus.size(), static_cast<long long>(bytes.value()));
  } else {
    std::fprintf(stderr, "assay-worker collect: %zu GPUs: %s\n", gpus.size(),
                 bytes.error().message.c_str());
  }
  return bytes.ok() && std::fflush(stdout) == 0 ? 0 : 1;
}

// Runs in a child process, which ends without destroying NCCL's communicators, because that would
// need all ranks at once.
int print_apart(const std::vector<int>& gpus) {
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("assay-worker collect: cannot start a process");
    return 1;
  }
  if (child == 0) ::_exit(print_communicator(gpus));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int print_nccl_memory(const std::vector<int>& gpus) {
  if (gpus.size() < 2) {
    std::fprintf(stderr, "assay-worker collect: --nccl-memory needs two or more --gpus\n");
    return 2;
  }
  std::printf("misc:\n  nccl_mem:\n    1: 0\n");
  std::fflush(stdout);
  int status = 0;
  for (std::size_t count = 2; count <= gpus.size(); count *= 2) {
    const auto end = gpus.begin() + static_cast<std::ptrdiff_t>(count);
    if (print_apart({gpus.begin(), end}) != 0) status = 1;
  }
  return status;
}

}  // namespace assay::collect
