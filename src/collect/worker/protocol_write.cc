#include <nlohmann/json.hpp>

#include <utility>

#include "collect/worker/protocol.h"
#include "collect/worker/protocol_words.h"

namespace assay::collect {
namespace {

using nlohmann::ordered_json;

ordered_json object_of(const MeasureOptions& options) {
  return {{"certainty", options.certainty},     {"min_samples", options.min_samples},
          {"max_samples", options.max_samples}, {"min_time_ms", options.min_time_ms},
          {"max_time_ms", options.max_time_ms}, {"sample_ms", options.sample_ms},
          {"num_warmups", options.num_warmups}, {"num_runs", options.num_runs},
          {"repeat_n", options.repeat_n},       {"launch", name_in(kLaunches, options.launch)},
          {"allow_eager", options.allow_eager}, {"l2", name_in(kL2States, options.l2)}};
}

std::string line_of(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

template <class Value>
void set(ordered_json& object, const char* name, const std::optional<Value>& value) {
  if (value) object[name] = *value;
}

ordered_json object_of(const WorkerHello& hello) {
  const DeviceFacts& device = hello.device;
  ordered_json facts = ordered_json::object();
  for (const auto& [name, value] : device.more)
    facts[name] = value;
  return {{"hello", kProtocolVersion},
          {"device",
           {{"kind", device.kind},
            {"name", device.name},
            {"sm_version", device.sm_version},
            {"framework", device.framework},
            {"version", device.version},
            {"count", device.count},
            {"memory_bytes", device.memory_bytes},
            {"l2_bytes", device.l2_bytes},
            {"facts", facts}}}};
}

ordered_json object_of(const WorkerFatal& fatal) {
  return {{"fatal", fatal.message}};
}

ordered_json object_of(const CaseDoing& doing) {
  return {{"id", doing.id}, {"doing", doing.doing}};
}

ordered_json object_of(const model::Timing& timing) {
  ordered_json object = {{"median_ms", timing.median_ms},
                         {"mean_ms", timing.mean_ms},
                         {"p10_ms", timing.p10_ms},
                         {"p90_ms", timing.p90_ms},
                         {"low_ms", timing.low_ms},
                         {"high_ms", timing.high_ms},
                         {"launches_per_sample", timing.launches_per_sample},
                         {"launch", name_in(kLaunches, timing.launch)},
                         {"l2", name_in(kL2States, timing.l2)},
                         {"samples_ms", timing.samples_ms}};
  set(object, "skew_ms", timing.skew_ms);
  return object;
}

ordered_json object_of(const model::Conditions& conditions) {
  ordered_json object = ordered_json::object();
  set(object, "sm_mhz_before", conditions.sm_mhz_before);
  set(object, "sm_mhz_after", conditions.sm_mhz_after);
  set(object, "memory_mhz_before", conditions.memory_mhz_before);
  set(object, "memory_mhz_after", conditions.memory_mhz_after);
  set(object, "temperature_celsius", conditions.temperature_celsius);
  object["slowdowns"] = conditions.slowdowns;
  set(object, "energy_joules", conditions.energy_joules);
  object["throttled"] = conditions.throttled;
  object["drifting"] = conditions.drifting;
  return object;
}

ordered_json object_of(const model::PerfMeasurement& measurement) {
  const model::PerfRow& row = measurement.row;
  ordered_json key = ordered_json::array();
  for (const model::PerfField& one : row.key) {
    ordered_json value;
    std::visit([&](const auto& kind) { value = kind; }, one.value);
    ordered_json pair = ordered_json::array();
    pair.push_back(one.column);
    pair.push_back(std::move(value));
    key.push_back(std::move(pair));
  }
  ordered_json object = {
      {"table", row.table},   {"framework", row.framework},  {"version", row.version},
      {"device", row.device}, {"op_name", row.op_name},      {"kernel_source", row.kernel_source},
      {"key", key},           {"latency_ms", row.latency_ms}};
  set(object, "power_watts", row.power_watts);
  set(object, "power_limit_watts", row.power_limit_watts);
  object["timing"] = object_of(measurement.timing);
  object["conditions"] = object_of(measurement.conditions);
  return object;
}

ordered_json object_of(const CaseRow& row) {
  return {{"id", row.id}, {"row", object_of(row.measurement)}};
}

ordered_json object_of(const CaseDone& done) {
  ordered_json object = {{"id", done.id}, {"done", true}};
  set(object, "kernels_ms", done.kernels_ms);
  return object;
}

ordered_json object_of(const CaseSkipped& skipped) {
  return {{"id", skipped.id}, {"skip", skipped.reason}};
}

ordered_json object_of(const CaseError& error) {
  return {{"id", error.id},
          {"error",
           {{"class", error.error_class},
            {"message", error.message},
            {"traceback", error.traceback},
            {"lost", error.lost}}}};
}

}  // namespace

std::string request_line(const CaseRequest& request) {
  constexpr bool kThrow = false;
  ordered_json object = {{"id", request.id}, {"operator", request.operator_name}};
  object["case"] = ordered_json::parse(request.case_json, nullptr, kThrow);
  object["check"] = request.check;
  if (request.measure_power) {
    object["measure_power"] = true;
    object["power_seconds"] = request.power_seconds;
  }
  object["options"] = object_of(request.options);
  for (const SoonCase& soon : request.soon) {
    object["soon"].push_back({{"operator", soon.operator_name},
                              {"case", ordered_json::parse(soon.case_json, nullptr, kThrow)}});
  }
  return line_of(object);
}

std::string message_line(const WorkerMessage& message) {
  return line_of(std::visit([](const auto& kind) { return object_of(kind); }, message));
}

}  // namespace assay::collect
