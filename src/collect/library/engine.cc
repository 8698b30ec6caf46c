// The functions of assay/measure.h.
#include <assay/measure.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
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
  options.num_runs = request.num_runs;
  options.repeat_n = request.repeat_n;
  options.launch = request.cuda_graph != nullptr ? model::Launch::kGraph : model::Launch::kEager;
  return options;
}

core::Status check_samples(const char* name, std::int64_t samples) {
  if (samples >= 0 && samples <= ASSAY_MEASURE_MOST_SAMPLES) return {};
  return core::Error{fmt::format("{} is {}, not a number from 0 to {}", name, samples,
                                 ASSAY_MEASURE_MOST_SAMPLES)};
}

core::Status check_request(const assay_measure_request& request) {
  if (request.launch == nullptr && request.cuda_graph == nullptr) {
    return core::Error{"neither a callback nor a graph"};
  }
  if (request.num_runs == 0 && (request.min_samples < 1 || request.max_samples < 1)) {
    return core::Error{"no samples asked for"};
  }
  if (request.repeat_n < 0 || request.num_warmups < 0) {
    return core::Error{
        fmt::format("{} is negative", request.repeat_n < 0 ? "repeat_n" : "num_warmups")};
  }
  if (request.num_runs == 0) return check_samples("min_samples", request.min_samples);
  return check_samples("num_runs", request.num_runs);
}

core::Result<model::Timing> measure_request(const assay_measure_request& request) {
  ASSAY_TRY(check_request(request));
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

// Writes a text and its NUL into `bytes` bytes, as much of it as they hold.
void tell(std::string_view text, char* message, std::size_t bytes) {
  if (message == nullptr || bytes == 0) return;
  const std::size_t length = text.copy(message, bytes - 1);
  message[length] = '\0';
}

// Runs body(), which fails by an error or an exception. Returns whether it succeeded, and otherwise
// tells why not.
template <class Body>
bool guarded(char* message, std::size_t bytes, const Body& body) {
  try {
    const core::Status done = body();
    if (!done.ok()) tell(done.error().message, message, bytes);
    return done.ok();
  } catch (const std::exception& error) {
    tell(error.what(), message, bytes);
    return false;
  }
}

}  // namespace
}  // namespace assay::collect

extern "C" __attribute__((visibility("default"))) void assay_measure_defaults(
    assay_measure_request* request) {
  if (request == nullptr) return;
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
  if (result == nullptr) return 1;
  *result = {};
  const auto body = [&]() -> assay::core::Status {
    if (request == nullptr) return assay::core::Error{"the request is null"};
    assay::collect::fill(*result, ASSAY_TRY(assay::collect::measure_request(*request)));
    return {};
  };
  return assay::collect::guarded(result->message, sizeof(result->message), body) ? 0 : 1;
}

struct assay_measure_sensors {
  explicit assay_measure_sensors(std::unique_ptr<assay::collect::StateReader> opened)
      : reader(std::move(opened)) {}

  std::unique_ptr<assay::collect::StateReader> reader;
};

extern "C" __attribute__((visibility("default"))) assay_measure_sensors* assay_measure_open_sensors(
    const char* gpu, char* message, size_t bytes) {
  std::unique_ptr<assay_measure_sensors> opened;
  const auto body = [&]() -> assay::core::Status {
    if (gpu == nullptr) return assay::core::Error{"the name of the GPU is null"};
    opened =
        std::make_unique<assay_measure_sensors>(ASSAY_TRY(assay::collect::nvml_state_reader(gpu)));
    return {};
  };
  assay::collect::guarded(message, bytes, body);
  return opened.release();
}

extern "C" __attribute__((visibility("default"))) int assay_measure_read_sensors(
    assay_measure_sensors* sensors, assay_measure_state* state) {
  if (sensors == nullptr || state == nullptr) return 1;
  const auto body = [&]() -> assay::core::Status {
    const assay::collect::DeviceState now = ASSAY_TRY(sensors->reader->read());
    *state = {.sm_mhz = now.sm_mhz.value_or(-1),
              .memory_mhz = now.memory_mhz.value_or(-1),
              .temperature_celsius = now.temperature_celsius.value_or(-1),
              .power_limit_watts = now.power_limit_watts.value_or(-1),
              .slowed = now.slowdowns.empty() ? 0 : 1};
    return {};
  };
  return assay::collect::guarded(nullptr, 0, body) ? 0 : 1;
}

extern "C" __attribute__((visibility("default"))) double assay_measure_read_energy(
    assay_measure_sensors* sensors) {
  double joules = -1;
  if (sensors == nullptr) return joules;
  const auto body = [&]() -> assay::core::Status {
    joules = ASSAY_TRY(sensors->reader->energy_joules()).value_or(-1);
    return {};
  };
  assay::collect::guarded(nullptr, 0, body);
  return joules;
}

extern "C" __attribute__((visibility("default"))) void assay_measure_close_sensors(
    assay_measure_sensors* sensors) {
  delete sensors;
}
