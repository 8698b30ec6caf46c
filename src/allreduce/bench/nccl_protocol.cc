#include "allreduce/bench/nccl_protocol.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

#include "core/json_fields.h"

namespace assay::allreduce {
namespace {

namespace fields = core::fields;
using nlohmann::json;

template <class Value>
core::Result<Value> known_word(std::optional<Value> value, const std::string& word) {
  if (value) return *value;
  return core::Error{"unknown word '" + word + "'"};
}

core::Result<NcclArm> arm_named(const std::string& name) {
  return known_word(nccl_arm_named(name), name);
}

core::Result<NcclArm> arm_field(const json& object) {
  return arm_named(ASSAY_TRY(fields::field<std::string>(object, "arm")));
}

core::Result<std::int64_t> at_least(const json& object, const char* name, std::int64_t least) {
  const auto value = ASSAY_TRY(fields::field<std::int64_t>(object, name));
  if (value >= least) return value;
  return fields::in_field(name, core::Error{"less than " + std::to_string(least)});
}

core::Result<NcclCell> nccl_cell_of(const json& object) {
  const json& written = *ASSAY_TRY(fields::object_member(object, "sweep"));
  NcclCell cell;
  const auto collective = ASSAY_TRY(fields::field<std::string>(written, "collective"));
  cell.collective = ASSAY_TRY(known_word(nccl_collective_named(collective), collective));
  cell.world_size = static_cast<int>(ASSAY_TRY(at_least(written, "world_size", 1)));
  cell.size_bytes = ASSAY_TRY(at_least(written, "size", 1));
  const auto launch = ASSAY_TRY(fields::field<std::string>(written, "launch"));
  cell.launch = ASSAY_TRY(known_word(launch_named(launch), launch));
  const auto type = ASSAY_TRY(fields::field<std::string>(written, "dtype"));
  cell.data_type = ASSAY_TRY(known_word(summed_type_named(type), type));
  return cell;
}

core::Result<NcclRequest> nccl_request_of(const json& object) {
  NcclRequest request;
  request.id = ASSAY_TRY(fields::field<std::int64_t>(object, "id"));
  request.cell = ASSAY_TRY(nccl_cell_of(object));
  for (const std::string& name : ASSAY_TRY(fields::field<std::vector<std::string>>(object, "arms")))
    request.arms.push_back(ASSAY_TRY(arm_named(name)));
  request.tie = ASSAY_TRY(fields::field<double>(object, "tie"));
  request.min_samples = ASSAY_TRY(at_least(object, "min_samples", 1));
  request.max_samples = ASSAY_TRY(at_least(object, "max_samples", request.min_samples));
  request.seed = ASSAY_TRY(fields::field<std::uint64_t>(object, "seed"));
  return request;
}

core::Result<Outcome> outcome_of_word(const json& object) {
  const auto word = ASSAY_TRY(fields::field<std::string>(object, "outcome"));
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i) {
    if (kOutcomeNames.at(i) == word) return static_cast<Outcome>(i);
  }
  return core::Error{"unknown word '" + word + "'"};
}

core::Result<NcclMeasurement> nccl_measurement_of(const json& object) {
  NcclMeasurement measured;
  measured.arm = ASSAY_TRY(arm_field(object));
  measured.outcome = ASSAY_TRY(outcome_of_word(object));
  ASSAY_TRY(fields::read(object, "time_us", measured.time_us));
  ASSAY_TRY(fields::read(object, "low_us", measured.low_us));
  ASSAY_TRY(fields::read(object, "high_us", measured.high_us));
  ASSAY_TRY(fields::read(object, "min_us", measured.min_us));
  measured.samples = ASSAY_TRY(at_least(object, "samples", 0));
  measured.ran = ASSAY_TRY(fields::field<std::string>(object, "ran"));
  measured.reason = ASSAY_TRY(fields::field<std::string>(object, "reason"));
  if (measured.outcome == Outcome::kOk && !(measured.time_us > 0)) {
    return core::Error{"outcome 'ok' without a field 'time_us' above 0"};
  }
  return measured;
}

core::Result<NcclMessage> nccl_result_of(const json& object) {
  NcclResult result;
  result.id = ASSAY_TRY(fields::field<std::int64_t>(object, "id"));
  auto measured = nccl_measurement_of(*ASSAY_TRY(fields::object_member(object, "measured")));
  if (!measured.ok()) return fields::in_field("measured", measured.error());
  result.measurement = std::move(measured).value();
  return NcclMessage(std::move(result));
}

core::Result<NcclMessage> nccl_doing_of(const json& object) {
  NcclDoing doing;
  doing.id = ASSAY_TRY(fields::field<std::int64_t>(object, "id"));
  doing.arm = ASSAY_TRY(arm_field(object));
  return NcclMessage(std::move(doing));
}

core::Result<NcclMessage> nccl_over_of(const json& object) {
  return NcclMessage(NcclOver{ASSAY_TRY(fields::field<std::int64_t>(object, "id"))});
}

using NcclMessageKind = fields::MessageKind<NcclMessage>;

constexpr std::array kNcclMessageKinds = {
    NcclMessageKind{"arm", nccl_doing_of},
    NcclMessageKind{"measured", nccl_result_of},
    NcclMessageKind{"over", nccl_over_of},
};

core::Result<NcclMessage> nccl_message_of(const json& object) {
  return fields::read_message(object, kNcclMessageKinds);
}

std::string nccl_line(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

void add_time(json& object, const char* name, double time_us) {
  if (!std::isnan(time_us)) object[name] = time_us;
}

std::string line_of_message(const WorkerHello& hello) {
  return message_line(hello);
}

std::string line_of_message(const WorkerFatal& fatal) {
  return message_line(fatal);
}

std::string line_of_message(const NcclDoing& doing) {
  return nccl_line({{"id", doing.id}, {"arm", nccl_arm_name(doing.arm)}});
}

std::string line_of_message(const NcclResult& result) {
  const NcclMeasurement& measured = result.measurement;
  json written = {{"arm", nccl_arm_name(measured.arm)},
                  {"ran", measured.ran},
                  {"outcome", kOutcomeNames.at(static_cast<std::size_t>(measured.outcome))},
                  {"samples", measured.samples},
                  {"reason", measured.reason}};
  add_time(written, "time_us", measured.time_us);
  add_time(written, "low_us", measured.low_us);
  add_time(written, "high_us", measured.high_us);
  add_time(written, "min_us", measured.min_us);
  return nccl_line({{"id", result.id}, {"measured", written}});
}

std::string line_of_message(const NcclOver& over) {
  return nccl_line({{"id", over.id}, {"over", true}});
}

}  // namespace

std::string request_line(const NcclRequest& request) {
  json arms = json::array();
  for (const NcclArm& arm : request.arms)
    arms.push_back(nccl_arm_name(arm));
  const NcclCell& cell = request.cell;
  const json sweep = {{"collective", name_of(cell.collective)},
                      {"world_size", cell.world_size},
                      {"size", cell.size_bytes},
                      {"launch", name_of(cell.launch)},
                      {"dtype", name_of(cell.data_type)}};
  return nccl_line({{"id", request.id},
                    {"sweep", sweep},
                    {"arms", arms},
                    {"tie", request.tie},
                    {"min_samples", request.min_samples},
                    {"max_samples", request.max_samples},
                    {"seed", request.seed}});
}

core::Result<NcclRequest> parse_nccl_request(std::string_view line) {
  return fields::parse_line(line, nccl_request_of);
}

std::string nccl_message_line(const NcclMessage& message) {
  return std::visit([](const auto& kind) { return line_of_message(kind); }, message);
}

core::Result<NcclMessage> parse_nccl_message(std::string_view line) {
  const json object = ASSAY_TRY(fields::object_of_line(line));
  if (object.contains("hello") || object.contains("fatal")) {
    const WorkerMessage message = ASSAY_TRY(parse_message(line));
    if (const auto* hello = std::get_if<WorkerHello>(&message)) return NcclMessage(*hello);
    if (const auto* fatal = std::get_if<WorkerFatal>(&message)) return NcclMessage(*fatal);
  }
  return fields::parse_line(line, nccl_message_of);
}

}  // namespace assay::allreduce
