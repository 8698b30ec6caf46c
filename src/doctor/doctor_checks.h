// The parts of diagnose().
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doctor/doctor.h"

namespace assay::doctor {

// Joins equal findings of several GPUs.
class GpuFindings {
 public:
  // "{gpus}" in a command will become "0,2,3".
  void add(int gpu, Finding finding);

  [[nodiscard]] std::vector<Finding> take() const;

 private:
  struct Entry {
    Finding finding;
    std::set<int> gpus;
  };

  std::vector<Entry> entries_;
};

// A finding that says that something is as it should be.
Finding ok(std::string seen);

// nullptr if there is none.
const gpu::Health* health_of(const std::vector<gpu::Health>& health, int index);

void check_settings(GpuFindings& findings, const gpu::Device& device, const gpu::Health* health);
void check_processes(GpuFindings& findings, const gpu::Device& device);
void check_use(GpuFindings& findings, const gpu::Device& device);
void check_health(GpuFindings& findings, const gpu::Device& device, const gpu::Health& health);
// Checks the links between GPUs; `all` are the chosen ones.
void check_links(GpuFindings& findings,
                 const gpu::Health& health,
                 const std::vector<gpu::Device>& all);

// Checks what concerns all GPUs together: models and NUMA nodes.
std::vector<Finding> check_machine(const gpu::Machine& machine, const std::filesystem::path& root);

// The finding where there is no GPU: a driver without its library, or no driver at all.
Finding no_gpu(const std::filesystem::path& root);

// Checks whether other work is busy on the processors that are allowed to us; takes a quarter of a
// second. std::nullopt if that is not known.
std::optional<Finding> check_load(const std::filesystem::path& root);

std::vector<Finding> check_host(const std::filesystem::path& root);

// CUDA, cuBLASLt, cuDNN and NCCL as our workers find them: by core::open_library().
std::vector<LibraryFound> find_libraries();

}  // namespace assay::doctor
