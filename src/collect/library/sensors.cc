#include <assay/measure.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "collect/worker/conditions.h"
#include "collect/worker/nvml_state.h"

struct assay_measure_sensors {
  std::unique_ptr<assay::collect::StateReader> reader;
};

extern "C" __attribute__((visibility("default"))) assay_measure_sensors* assay_measure_open_sensors(
    const char* gpu, char* message, size_t bytes) {
  auto reader = assay::collect::nvml_state_reader(gpu);
  if (reader.ok()) return new assay_measure_sensors{std::move(reader).value()};
  if (bytes == 0) return nullptr;
  const std::string& why = reader.error().message;
  const size_t length = std::min(why.size(), bytes - 1);
  std::memcpy(message, why.data(), length);
  message[length] = '\0';
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) int assay_measure_read_sensors(
    assay_measure_sensors* sensors, assay_measure_state* state) {
  const auto read = sensors->reader->read();
  if (!read.ok()) return 1;
  const assay::collect::DeviceState& now = read.value();
  *state = {.sm_mhz = now.sm_mhz.value_or(-1),
            .memory_mhz = now.memory_mhz.value_or(-1),
            .temperature_celsius = now.temperature_celsius.value_or(-1),
            .power_limit_watts = now.power_limit_watts.value_or(-1),
            .slowed = now.slowdowns.empty() ? 0 : 1};
  return 0;
}

extern "C" __attribute__((visibility("default"))) double assay_measure_read_energy(
    assay_measure_sensors* sensors) {
  const auto joules = sensors->reader->energy_joules();
  return joules.ok() ? joules.value().value_or(-1) : -1;
}

extern "C" __attribute__((visibility("default"))) void assay_measure_close_sensors(
    assay_measure_sensors* sensors) {
  delete sensors;
}
