// assay-cpu-worker: measures the cases of `assay collect --device cpu` on CPUs. The protocol is in
// collect/worker/protocol.h. With --mpi it is one process of an MPI job and measures collectives:
// rank 0 reads the requests and leads, the others follow.
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "collect/cpu/cpu_device.h"
#include "collect/worker/run_case.h"

namespace assay::collect {
namespace {

int run_alone() {
  return run_worker([] {
    WorkerDevice made;
    made.device = std::make_unique<CpuDevice>();
    return core::Result<WorkerDevice>(std::move(made));
  });
}

int follow(const MpiRank& job) {
  const core::Status followed = follow_mpi(job, *make_cpu_mpi_rank(job));
  if (followed.ok()) return 0;
  std::fprintf(stderr, "assay-cpu-worker: %s\n", followed.error().message.c_str());
  return 1;
}

int run_in_job() {
  const core::Result<MpiRank> job = mpi::join();
  if (job.ok() && job.value().rank != 0) return follow(job.value());
  return run_worker([&job]() -> core::Result<WorkerDevice> {
    const MpiRank joined = ASSAY_TRY(job);
    WorkerDevice made;
    made.device = make_team_device(make_mpi_team(joined, make_cpu_mpi_rank(joined)), cpu_facts());
    return made;
  });
}

}  // namespace
}  // namespace assay::collect

int main(int count, char** arguments) {
  const std::string_view verb = count > 1 ? arguments[1] : "";
  const std::string_view option = count > 2 ? arguments[2] : "";
  if (verb != "collect" || (count > 2 && option != "--mpi")) {
    std::fprintf(stderr, "assay-cpu-worker: started by 'assay collect --device cpu'\n");
    return 2;
  }
  return count > 2 ? assay::collect::run_in_job() : assay::collect::run_alone();
}
