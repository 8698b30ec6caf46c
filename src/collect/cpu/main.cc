// assay-cpu-worker: measures on CPUs what `assay collect --device cpu` asks for. The lines that
// they exchange: collect/protocol.h.
#include <cstdio>
#include <string_view>

#include "collect/cpu/cpu_device.h"
#include "collect/worker_loop.h"

int main(int count, char** arguments) {
  if (count < 2 || std::string_view(arguments[1]) != "collect") {
    std::fprintf(stderr, "assay-cpu-worker: started by 'assay collect --device cpu'\n");
    return 2;
  }
  return assay::collect::run_worker([] {
    assay::collect::WorkerDevice made;
    made.device = std::make_unique<assay::collect::CpuDevice>();
    return assay::core::Result<assay::collect::WorkerDevice>(std::move(made));
  });
}
