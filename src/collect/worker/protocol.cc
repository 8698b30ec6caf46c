#include "collect/worker/protocol.h"

#include <nlohmann/json.hpp>

#include <array>
#include <string_view>
#include <utility>

#include "core/json_fields.h"

namespace assay::core::fields {

template <>
Result<model::PerfValue> value_as(const json& value) {
  if (value.is_number_integer()) {
    return model::PerfValue(ASSAY_TRY(value_as<std::int64_t>(value)));
  }
  if (value.is_number()) return model::PerfValue(ASSAY_TRY(value_as<double>(value)));
  return model::PerfValue(ASSAY_TRY(value_as<std::string>(value)));
}

}  // namespace assay::core::fields

namespace assay::collect {
namespace {

constexpr int kProtocolVersion = 1;

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

constexpr std::array kLaunches = {
    Named<model::Launch>{name_of(model::Launch::kGraph), model::Launch::kGraph},
    Named<model::Launch>{name_of(model::Launch::kEager), model::Launch::kEager}};
constexpr std::array kL2States = {Named<model::L2State>{"hot", model::L2State::kHot},
                                  Named<model::L2State>{"cold", model::L2State::kCold},
                                  Named<model::L2State>{"engine", model::L2State::kEngine}};

template <class Names, class Enum>
std::string_view name_in(const Names& names, Enum value) {
  for (const auto& named : names) {
    if (named.value == value) return named.name;
  }
  return "";
}

using core::fields::field;
using core::fields::find;
using core::fields::in_field;
using core::fields::member;
using core::fields::object_member;
using core::fields::parse_line;
using core::fields::read;
using core::fields::read_count;
using core::fields::read_int;
using core::fields::read_message;
using core::fields::value_as;
using nlohmann::json;

template <class Names, class Enum>
core::Status read_named(const json& object, const char* name, const Names& names, Enum& target) {
  std::string word(name_in(names, target));
  ASSAY_TRY(read(object, name, word));
  for (const auto& named : names) {
    if (word != named.name) continue;
    target = named.value;
    return {};
  }
  return in_field(name, core::Error{"unknown word '" + word + "'"});
}

core::Result<MeasureOptions> options_of(const json& object) {
  MeasureOptions options;
  ASSAY_TRY(read(object, "certainty", options.certainty));
  ASSAY_TRY(read_count(object, "min_samples", options.min_samples));
  ASSAY_TRY(read_count(object, "max_samples", options.max_samples));
  ASSAY_TRY(read(object, "min_time_ms", options.min_time_ms));
  ASSAY_TRY(read(object, "max_time_ms", options.max_time_ms));
  ASSAY_TRY(read(object, "sample_ms", options.sample_ms));
  ASSAY_TRY(read_count(object, "num_warmups", options.num_warmups));
  ASSAY_TRY(read_count(object, "num_runs", options.num_runs));
  ASSAY_TRY(read_count(object, "repeat_n", options.repeat_n));
  ASSAY_TRY(read_named(object, "launch", kLaunches, options.launch));
  ASSAY_TRY(read(object, "allow_eager", options.allow_eager));
  ASSAY_TRY(read_named(object, "l2", kL2States, options.l2));
  return options;
}

// The cases that may come next. Those that cannot be read are left out.
std::vector<SoonCase> soon_of(const json& object) {
  std::vector<SoonCase> soon;
  const json* written = find(object, "soon");
  if (written == nullptr || !written->is_array()) return soon;
  for (const json& one : *written) {
    if (!one.is_object()) continue;
    const auto name = field<std::string>(one, "operator");
    const json* of_case = find(one, "case");
    if (name.ok() && of_case != nullptr) soon.push_back({name.value(), of_case->dump()});
  }
  return soon;
}

core::Result<CaseRequest> request_of(const json& object) {
  CaseRequest request;
  request.id = ASSAY_TRY(field<std::int64_t>(object, "id"));
  request.operator_name = ASSAY_TRY(field<std::string>(object, "operator"));
  const json& of_case = *ASSAY_TRY(member(object, "case"));
  if (!of_case.is_object() && !of_case.is_array()) {
    return in_field("case", core::Error{"neither an object nor a list"});
  }
  request.case_json = of_case.dump();
  ASSAY_TRY(read(object, "check", request.check));
  ASSAY_TRY(read(object, "measure_power", request.measure_power));
  ASSAY_TRY(read(object, "power_seconds", request.power_seconds));
  request.soon = soon_of(object);
  if (find(object, "options") == nullptr) return request;
  auto options = options_of(*ASSAY_TRY(object_member(object, "options")));
  if (!options.ok()) return in_field("options", options.error());
  request.options = std::move(options).value();
  return request;
}

core::Result<WorkerMessage> hello_of(const json& object) {
  const auto version = ASSAY_TRY(field<std::int64_t>(object, "hello"));
  if (version != kProtocolVersion) {
    return core::Error{"speaks version " + std::to_string(version) + " of the protocol, not " +
                       std::to_string(kProtocolVersion)};
  }
  const json& written = *ASSAY_TRY(object_member(object, "device"));
  DeviceFacts device;
  device.kind = ASSAY_TRY(field<std::string>(written, "kind"));
  device.name = ASSAY_TRY(field<std::string>(written, "name"));
  ASSAY_TRY(read(written, "framework", device.framework));
  ASSAY_TRY(read(written, "version", device.version));
  ASSAY_TRY(read_int(written, "sm_version", device.sm_version));
  ASSAY_TRY(read_int(written, "count", device.count));
  ASSAY_TRY(read_count(written, "memory_bytes", device.memory_bytes));
  ASSAY_TRY(read_count(written, "l2_bytes", device.l2_bytes));
  if (find(written, "facts") != nullptr) {
    for (const auto& [name, value] : ASSAY_TRY(object_member(written, "facts"))->items())
      device.more[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return WorkerMessage(WorkerHello{std::move(device)});
}

core::Result<WorkerMessage> fatal_of(const json& object) {
  return WorkerMessage(WorkerFatal{ASSAY_TRY(field<std::string>(object, "fatal"))});
}

core::Result<WorkerMessage> doing_of(const json& object) {
  return WorkerMessage(CaseDoing{.id = ASSAY_TRY(field<std::int64_t>(object, "id")),
                                 .doing = ASSAY_TRY(field<std::string>(object, "doing"))});
}

core::Result<WorkerMessage> done_of(const json& object) {
  CaseDone done{.id = ASSAY_TRY(field<std::int64_t>(object, "id"))};
  if (find(object, "kernels_ms") != nullptr) {
    done.times = CaseTimes{.kernels_ms = ASSAY_TRY(field<double>(object, "kernels_ms")),
                           .prepare_ms = ASSAY_TRY(field<double>(object, "prepare_ms")),
                           .check_ms = ASSAY_TRY(field<double>(object, "check_ms")),
                           .rest_ms = ASSAY_TRY(field<double>(object, "rest_ms"))};
  }
  return WorkerMessage(done);
}

core::Result<WorkerMessage> skip_of(const json& object) {
  return WorkerMessage(CaseSkipped{.id = ASSAY_TRY(field<std::int64_t>(object, "id")),
                                   .reason = ASSAY_TRY(field<std::string>(object, "skip"))});
}

core::Result<WorkerMessage> error_of(const json& object) {
  CaseError error;
  error.id = ASSAY_TRY(field<std::int64_t>(object, "id"));
  const json& written = *ASSAY_TRY(object_member(object, "error"));
  error.error_class = ASSAY_TRY(field<std::string>(written, "class"));
  error.message = ASSAY_TRY(field<std::string>(written, "message"));
  ASSAY_TRY(read(written, "traceback", error.traceback));
  ASSAY_TRY(read(written, "lost", error.lost));
  return WorkerMessage(std::move(error));
}

// The key is a list of pairs, because the order of columns counts:
// [["gemm_dtype","bfloat16"],["m",1]].
core::Result<std::vector<model::PerfField>> key_of(const json& row) {
  const json& written = *ASSAY_TRY(member(row, "key"));
  if (!written.is_array()) return in_field("key", core::Error{"not a list of pairs"});
  std::vector<model::PerfField> key;
  for (const json& pair : written) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) {
      return in_field("key", core::Error{"not a list of pairs of a column and its value"});
    }
    auto value = value_as<model::PerfValue>(pair[1]);
    if (!value.ok()) return in_field("key", value.error());
    key.push_back({pair[0].get<std::string>(), std::move(value).value()});
  }
  return key;
}

core::Result<model::PerfRow> row_of(const json& object) {
  model::PerfRow row;
  row.table = ASSAY_TRY(field<std::string>(object, "table"));
  row.framework = ASSAY_TRY(field<std::string>(object, "framework"));
  row.version = ASSAY_TRY(field<std::string>(object, "version"));
  row.device = ASSAY_TRY(field<std::string>(object, "device"));
  row.op_name = ASSAY_TRY(field<std::string>(object, "op_name"));
  row.kernel_source = ASSAY_TRY(field<std::string>(object, "kernel_source"));
  row.key = ASSAY_TRY(key_of(object));
  row.latency_ms = ASSAY_TRY(field<double>(object, "latency_ms"));
  if (row.latency_ms < 0) return in_field("latency_ms", core::Error{"less than 0"});
  ASSAY_TRY(read(object, "power_watts", row.power_watts));
  ASSAY_TRY(read(object, "power_limit_watts", row.power_limit_watts));
  return row;
}

core::Result<model::Timing> timing_of(const json& object) {
  model::Timing timing;
  timing.median_ms = ASSAY_TRY(field<double>(object, "median_ms"));
  ASSAY_TRY(read(object, "mean_ms", timing.mean_ms));
  ASSAY_TRY(read(object, "p10_ms", timing.p10_ms));
  ASSAY_TRY(read(object, "p90_ms", timing.p90_ms));
  ASSAY_TRY(read(object, "low_ms", timing.low_ms));
  ASSAY_TRY(read(object, "high_ms", timing.high_ms));
  ASSAY_TRY(read_count(object, "launches_per_sample", timing.launches_per_sample));
  ASSAY_TRY(read_named(object, "launch", kLaunches, timing.launch));
  ASSAY_TRY(read_named(object, "l2", kL2States, timing.l2));
  ASSAY_TRY(read(object, "samples_ms", timing.samples_ms));
  ASSAY_TRY(read(object, "skew_ms", timing.skew_ms));
  return timing;
}

core::Result<model::Conditions> conditions_of(const json& object) {
  model::Conditions conditions;
  ASSAY_TRY(read(object, "sm_mhz_before", conditions.sm_mhz_before));
  ASSAY_TRY(read(object, "sm_mhz_after", conditions.sm_mhz_after));
  ASSAY_TRY(read(object, "memory_mhz_before", conditions.memory_mhz_before));
  ASSAY_TRY(read(object, "memory_mhz_after", conditions.memory_mhz_after));
  ASSAY_TRY(read(object, "temperature_celsius", conditions.temperature_celsius));
  ASSAY_TRY(read(object, "slowdowns", conditions.slowdowns));
  ASSAY_TRY(read(object, "energy_joules", conditions.energy_joules));
  ASSAY_TRY(read(object, "throttled", conditions.throttled));
  ASSAY_TRY(read(object, "drifting", conditions.drifting));
  return conditions;
}

core::Result<model::PerfMeasurement> measurement_of(const json& object) {
  model::PerfMeasurement measurement;
  measurement.row = ASSAY_TRY(row_of(object));
  measurement.timing = ASSAY_TRY(timing_of(*ASSAY_TRY(object_member(object, "timing"))));
  if (find(object, "conditions") == nullptr) return measurement;
  measurement.conditions =
      ASSAY_TRY(conditions_of(*ASSAY_TRY(object_member(object, "conditions"))));
  return measurement;
}

core::Result<WorkerMessage> row_message_of(const json& object) {
  CaseRow row;
  row.id = ASSAY_TRY(field<std::int64_t>(object, "id"));
  auto measurement = measurement_of(*ASSAY_TRY(object_member(object, "row")));
  if (!measurement.ok()) return in_field("row", measurement.error());
  row.measurement = std::move(measurement).value();
  return WorkerMessage(std::move(row));
}

using MessageKind = core::fields::MessageKind<WorkerMessage>;

constexpr std::array kMessageKinds = {
    MessageKind{"hello", hello_of}, MessageKind{"fatal", fatal_of},
    MessageKind{"doing", doing_of}, MessageKind{"row", row_message_of},
    MessageKind{"done", done_of},   MessageKind{"skip", skip_of},
    MessageKind{"error", error_of},
};

core::Result<WorkerMessage> message_of(const json& object) {
  return read_message(object, kMessageKinds);
}

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
  if (!done.times) return object;
  object["kernels_ms"] = done.times->kernels_ms;
  object["prepare_ms"] = done.times->prepare_ms;
  object["check_ms"] = done.times->check_ms;
  object["rest_ms"] = done.times->rest_ms;
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

core::Result<CaseRequest> parse_request(std::string_view line) {
  return parse_line(line, request_of);
}

core::Result<WorkerMessage> parse_message(std::string_view line) {
  return parse_line(line, message_of);
}

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
