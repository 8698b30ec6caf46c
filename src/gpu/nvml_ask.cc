#include "gpu/nvml_ask.h"

namespace assay::gpu::nvml {

std::optional<double> temperature_celsius(const Functions& nvml, Handle handle) {
  Temperature temperature{.version = kTemperatureVersion, .sensor = kGpuSensor, .celsius = 0};
  if (nvml.temperature != nullptr && nvml.temperature(handle, &temperature) == kSuccess) {
    return temperature.celsius;
  }
  return ask<unsigned>(nvml.temperature_celsius, handle, kGpuSensor);
}

std::optional<double> thermal_margin_celsius(const Functions& nvml, Handle handle) {
  MarginTemperature margin{.version = kMarginTemperatureVersion, .celsius = 0};
  if (nvml.thermal_margin != nullptr && nvml.thermal_margin(handle, &margin) == kSuccess) {
    return margin.celsius;
  }
  const auto now = temperature_celsius(nvml, handle);
  const auto threshold = ask<unsigned>(nvml.threshold_celsius, handle, kSlowdownThreshold);
  if (!now || !threshold) return {};
  return *threshold - *now;
}

}  // namespace assay::gpu::nvml
