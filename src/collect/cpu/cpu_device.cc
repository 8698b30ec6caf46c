#include "collect/cpu/cpu_device.h"

#include <dnnl_version.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "collect/kernels/kernel_cost.h"
#include "collect/worker/measure.h"

namespace assay::collect {
namespace {

// The name of the first processor, from its line "model name : ...".
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "CPU";
}

std::int64_t last_level_cache_bytes() {
  constexpr std::int64_t kUnknown = std::int64_t{32} << 20;
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : kUnknown;
}

}  // namespace

DeviceFacts cpu_facts() {
  DeviceFacts facts;
  facts.kind = "cpu";
  facts.name = processor_name();
  facts.version =
      fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
  facts.memory_bytes = ::sysconf(_SC_AVPHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  facts.l2_bytes = last_level_cache_bytes();
  facts.more["oneDNN"] = facts.version;
  facts.more["processors"] = std::to_string(std::thread::hardware_concurrency());
  return facts;
}

core::Result<MadeWork> CpuDevice::make(const KernelSpec& spec, model::L2State l2) {
  const auto bytes = static_cast<std::int64_t>(footprint_bytes(spec));
  if (bytes > facts_.memory_bytes / 2) {
    return MadeWork(Unsupported{
        fmt::format("it would take {} MiB of {} MiB", bytes >> 20, facts_.memory_bytes >> 20)});
  }
  const std::int64_t number = copies(spec, l2);
  if (const auto* gemm = std::get_if<GemmSpec>(&spec)) return make_gemm(*gemm, number);
  if (const auto* attention = std::get_if<AttentionSpec>(&spec)) {
    return make_attention(*attention, number);
  }
  if (const auto* memory = std::get_if<MemorySpec>(&spec)) return make_memory_op(*memory, number);
  return MadeWork(Unsupported{"CPUs have no kernel for it here"});
}

core::Result<std::unique_ptr<Stopwatch>> CpuDevice::stopwatch(Work& work,
                                                              const StopwatchRequest& request) {
  if (request.launch == model::Launch::kGraph) {
    return core::Error{"there are no graphs of launches on CPUs"};
  }
  return make_clock_stopwatch(work, request.launches_per_sample);
}

std::int64_t CpuDevice::copies(const KernelSpec& spec, model::L2State l2) const {
  // A CPU's last cache is shared and far larger than a layer's activations and weights of the
  // shapes that are measured here; with kEngine everything stays where it is.
  if (l2 != model::L2State::kCold) return 1;
  constexpr std::int64_t kMost = 64;
  const std::int64_t bytes =
      std::max<std::int64_t>(static_cast<std::int64_t>(footprint_bytes(spec)), 1);
  const std::int64_t wanted = 2 * facts_.l2_bytes / bytes + 2;
  const std::int64_t fitting = std::max<std::int64_t>(facts_.memory_bytes / 4 / bytes, 1);
  return std::min({wanted, fitting, kMost});
}

}  // namespace assay::collect
