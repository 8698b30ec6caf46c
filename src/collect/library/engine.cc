// The functions of assay/measure.h.
#include <assay/measure.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "collect/library/engine_device.h"
#include "collect/worker/conditions.h"
#include "collect/worker/measure.h"

namespace assay::collect {
namespace {

MeasureOptions options_of(const assay_measure_request& request) {
  MeasureOptions options;
  options.certainty = request.certainty;
  options.min_samples = request.min_samples;
  options.max_samples = std::min<std::int64_t>(request.max_samples, ASSAY_MEASURE_MOST_SAMPLES);
  options.min_time_ms = request.min_time_ms;
  options.max_time_ms = request.max_time_ms;
  options.sample_ms = request.sample_ms;
  options.num_warmups = request.num_warmups;
  options.num_runs = std::min<std::int64_t>(request.num_runs, ASSAY_MEASURE_MOST_SAMPLES);
  options.repeat_n = request.repeat_n;
  options.launch = request.cuda_graph != nullptr ? model::Launch::kGraph : model::Launch::kEager;
  return options;
}

core::Result<model::Timing> measure_request(const assay_measure_request& request) {
  if (request.launch == nullptr && request.cuda_graph == nullptr) {
    return core::Error{"neither a callback nor a graph"};
  }
  if (request.num_runs == 0 && (request.min_samples < 1 || request.max_samples < 1)) {
    return core::Error{"no samples asked for"};
  }
  const std::unique_ptr<Device> device = ASSAY_TRY(make_engine_device(request));
  const MadeWork work = ASSAY_TRY(device->make(GemmSpec{}, model::L2State::kHot));
  return ASSAY_TRY(measure(*device, *std::get<std::unique_ptr<Work>>(work), options_of(request)))
      .timing;
}

void fill(assay_measure_result& result, const model::Timing& timing) {
  result.median_ms = timing.median_ms;
  result.mean_ms = timing.mean_ms;
  result.p10_ms = timing.p10_ms;
  result.p90_ms = timing.p90_ms;
  result.low_ms = timing.low_ms;
  result.high_ms = timing.high_ms;
  result.launches_per_sample = timing.launches_per_sample;
  result.samples = static_cast<std::int64_t>(timing.samples_ms.size());
  result.eager = timing.launch == model::Launch::kEager ? 1 : 0;
  std::copy(timing.samples_ms.begin(), timing.samples_ms.end(), result.samples_ms);
}

}  // namespace
}  // namespace assay::collect

extern "C" __attribute__((visibility("default"))) void assay_measure_defaults(
    assay_measure_request* request) {
  const assay::collect::MeasureOptions options;
  *request = {};
  request->num_warmups = options.num_warmups;
  request->min_samples = options.min_samples;
  request->max_samples = options.max_samples;
  request->certainty = options.certainty;
  request->min_time_ms = options.min_time_ms;
  request->max_time_ms = options.max_time_ms;
  request->sample_ms = options.sample_ms;
}

extern "C" __attribute__((visibility("default"))) int assay_measure(
    const assay_measure_request* request, assay_measure_result* result) {
  *result = {};
  const auto timing = assay::collect::measure_request(*request);
  if (timing.ok()) {
    assay::collect::fill(*result, timing.value());
    return 0;
  }
  const std::string& message = timing.error().message;
  std::memcpy(result->message, message.data(),
              std::min(message.size(), sizeof(result->message) - 1));
  return 1;
}

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
