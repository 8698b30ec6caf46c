#include "collect/worker/nvml_state.h"

#include <utility>

#include "gpu/nvidia_state.h"

namespace assay::collect {
namespace {

class NvmlStateReader final : public StateReader {
 public:
  explicit NvmlStateReader(gpu::NvidiaStateReader reader) : reader_(std::move(reader)) {}

  core::Result<DeviceState> read() override {
    gpu::DeviceState state = ASSAY_TRY(reader_.read());
    return DeviceState{.sm_mhz = state.sm_mhz,
                       .most_sm_mhz = state.most_sm_mhz,
                       .memory_mhz = state.memory_mhz,
                       .temperature_celsius = state.temperature_celsius,
                       .power_limit_watts = state.power_limit_watts,
                       .slowdowns = std::move(state.slowdowns)};
  }

  core::Result<std::optional<double>> energy_joules() override { return reader_.energy_joules(); }

 private:
  gpu::NvidiaStateReader reader_;
};

}  // namespace

core::Result<std::unique_ptr<StateReader>> nvml_state_reader(const std::string& gpu,
                                                             const std::string& nvml_library) {
  auto reader = ASSAY_TRY(gpu::NvidiaStateReader::open(nvml_library, gpu));
  return std::unique_ptr<StateReader>(std::make_unique<NvmlStateReader>(std::move(reader)));
}

}  // namespace assay::collect
