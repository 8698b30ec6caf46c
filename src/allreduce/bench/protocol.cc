#include "allreduce/bench/protocol.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

#include "core/json_fields.h"

namespace assay::allreduce {
namespace {

using core::fields::field;
using core::fields::find;
using core::fields::in_field;
using core::fields::member;
using core::fields::object_member;
using core::fields::parse_line;
using core::fields::read_message;
using core::fields::value_as;
using nlohmann::json;

constexpr int kProtocolVersion = 1;

core::Result<std::int64_t> count_field(const json& object, const char* name, std::int64_t least) {
  const std::int64_t count = ASSAY_TRY(field<std::int64_t>(object, name));
  if (count >= least) return count;
  return in_field(name,
                  core::Error{std::to_string(count) + " is less than " + std::to_string(least)});
}

// A time that was not measured is absent.
core::Result<double> time_field(const json& object, const char* name) {
  if (find(object, name) == nullptr) return kUnknown;
  return field<double>(object, name);
}

template <class Enum>
core::Result<Enum> known(std::optional<Enum> value, const char* what, const std::string& name) {
  if (value) return *value;
  return core::Error{std::string("unknown ") + what + " '" + name + "'"};
}

core::Result<Strategy> strategy_field(const json& object) {
  const auto name = ASSAY_TRY(field<std::string>(object, "strategy"));
  return known(strategy_named(name), "strategy", name);
}

core::Result<Outcome> outcome_field(const json& object) {
  const auto name = ASSAY_TRY(field<std::string>(object, "outcome"));
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i) {
    if (kOutcomeNames.at(i) == name) return static_cast<Outcome>(i);
  }
  return core::Error{"unknown outcome '" + name + "'"};
}

core::Result<Cell> cell_field(const json& object) {
  const json& written = *ASSAY_TRY(object_member(object, "cell"));
  Cell cell;
  cell.world_size = static_cast<int>(ASSAY_TRY(count_field(written, "world_size", 1)));
  const auto type = ASSAY_TRY(field<std::string>(written, "dtype"));
  cell.data_type = ASSAY_TRY(known(summed_type_named(type), "data type", type));
  const auto fusion = ASSAY_TRY(field<std::string>(written, "fusion"));
  cell.fusion = ASSAY_TRY(known(fusion_named(fusion), "fusion", fusion));
  cell.hidden_size = ASSAY_TRY(count_field(written, "hidden_size", 1));
  cell.num_tokens = ASSAY_TRY(count_field(written, "num_tokens", 1));
  return cell;
}

core::Result<std::vector<Strategy>> strategies_field(const json& object) {
  const json& written = *ASSAY_TRY(member(object, "strategies"));
  if (!written.is_array() || written.empty()) {
    return core::Error{"field 'strategies': not a list of names"};
  }
  std::vector<Strategy> strategies;
  for (const json& name : written) {
    const auto text = ASSAY_TRY(value_as<std::string>(name));
    strategies.push_back(ASSAY_TRY(known(strategy_named(text), "strategy", text)));
  }
  return strategies;
}

core::Status read_sampling(const json& object, CellRequest& request) {
  request.tie = ASSAY_TRY(field<double>(object, "tie"));
  request.min_samples = ASSAY_TRY(count_field(object, "min_samples", 1));
  request.max_samples = ASSAY_TRY(count_field(object, "max_samples", 1));
  request.seed = ASSAY_TRY(field<std::uint64_t>(object, "seed"));
  if (!(request.tie >= 0)) return core::Error{"field 'tie': less than 0"};
  if (request.max_samples < request.min_samples) {
    return core::Error{"field 'max_samples': less than 'min_samples'"};
  }
  return {};
}

core::Result<CellRequest> request_of(const json& object) {
  CellRequest request;
  request.id = ASSAY_TRY(field<std::int64_t>(object, "id"));
  request.cell = ASSAY_TRY(cell_field(object));
  const auto launch = ASSAY_TRY(field<std::string>(object, "launch"));
  request.launch = ASSAY_TRY(known(launch_named(launch), "launch", launch));
  request.strategies = ASSAY_TRY(strategies_field(object));
  request.memory_limit_bytes = ASSAY_TRY(count_field(object, "memory_limit_bytes", 0));
  ASSAY_TRY(read_sampling(object, request));
  return request;
}

core::Result<WorkerMessage> hello_of(const json& object) {
  const auto version = ASSAY_TRY(field<std::int64_t>(object, "hello"));
  if (version != kProtocolVersion) {
    return core::Error{"speaks version " + std::to_string(version) + " of the protocol, not " +
                       std::to_string(kProtocolVersion)};
  }
  WorkerHello hello;
  hello.sm_version = static_cast<int>(ASSAY_TRY(count_field(object, "sm_version", 1)));
  const json& facts = *ASSAY_TRY(object_member(object, "facts"));
  for (const auto& [name, value] : facts.items()) {
    hello.facts[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return WorkerMessage(std::move(hello));
}

core::Result<WorkerMessage> fatal_of(const json& object) {
  return WorkerMessage(WorkerFatal{ASSAY_TRY(field<std::string>(object, "fatal"))});
}

core::Result<WorkerMessage> doing_of(const json& object) {
  WorkerDoing doing;
  doing.id = ASSAY_TRY(field<std::int64_t>(object, "id"));
  doing.doing = ASSAY_TRY(field<std::string>(object, "doing"));
  doing.strategy = ASSAY_TRY(strategy_field(object));
  return WorkerMessage(std::move(doing));
}

core::Result<Measurement> measurement_of(const json& object) {
  Measurement measurement;
  measurement.strategy = ASSAY_TRY(strategy_field(object));
  measurement.outcome = ASSAY_TRY(outcome_field(object));
  measurement.time_us = ASSAY_TRY(time_field(object, "time_us"));
  measurement.low_us = ASSAY_TRY(time_field(object, "low_us"));
  measurement.high_us = ASSAY_TRY(time_field(object, "high_us"));
  measurement.min_us = ASSAY_TRY(time_field(object, "min_us"));
  measurement.samples = ASSAY_TRY(count_field(object, "samples", 0));
  measurement.memory_bytes = ASSAY_TRY(count_field(object, "memory_bytes", 0));
  measurement.reason = ASSAY_TRY(field<std::string>(object, "reason"));
  if (measurement.outcome == Outcome::kOk && !(measurement.time_us > 0)) {
    return core::Error{"outcome 'ok' without a field 'time_us' above 0"};
  }
  return measurement;
}

core::Result<WorkerMessage> result_of(const json& object) {
  WorkerResult result;
  result.id = ASSAY_TRY(field<std::int64_t>(object, "id"));
  auto measurement = measurement_of(*ASSAY_TRY(object_member(object, "result")));
  if (!measurement.ok()) return in_field("result", measurement.error());
  result.measurement = std::move(measurement).value();
  return WorkerMessage(std::move(result));
}

core::Result<WorkerMessage> done_of(const json& object) {
  return WorkerMessage(WorkerDone{ASSAY_TRY(field<std::int64_t>(object, "id"))});
}

using MessageKind = core::fields::MessageKind<WorkerMessage>;

constexpr std::array kMessageKinds = {
    MessageKind{"hello", hello_of}, MessageKind{"fatal", fatal_of},
    MessageKind{"doing", doing_of}, MessageKind{"result", result_of},
    MessageKind{"done", done_of},
};

core::Result<WorkerMessage> message_of(const json& object) {
  return read_message(object, kMessageKinds);
}

std::string line_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

void set_time(json& object, const char* name, double time_us) {
  if (!std::isnan(time_us)) object[name] = time_us;
}

json object_of(const WorkerHello& hello) {
  json facts = json::object();
  for (const auto& [name, value] : hello.facts)
    facts[name] = value;
  return {{"hello", kProtocolVersion}, {"sm_version", hello.sm_version}, {"facts", facts}};
}

json object_of(const WorkerFatal& fatal) {
  return {{"fatal", fatal.message}};
}

json object_of(const WorkerDoing& doing) {
  return {{"id", doing.id}, {"doing", doing.doing}, {"strategy", name_of(doing.strategy)}};
}

json object_of(const WorkerResult& result) {
  const Measurement& measured = result.measurement;
  json written = {{"strategy", name_of(measured.strategy)},
                  {"outcome", kOutcomeNames.at(static_cast<std::size_t>(measured.outcome))},
                  {"samples", measured.samples},
                  {"memory_bytes", measured.memory_bytes},
                  {"reason", measured.reason}};
  set_time(written, "time_us", measured.time_us);
  set_time(written, "low_us", measured.low_us);
  set_time(written, "high_us", measured.high_us);
  set_time(written, "min_us", measured.min_us);
  return {{"id", result.id}, {"result", written}};
}

json object_of(const WorkerDone& done) {
  return {{"id", done.id}, {"done", true}};
}

json object_of(const Cell& cell) {
  return {{"world_size", cell.world_size},
          {"dtype", name_of(cell.data_type)},
          {"fusion", name_of(cell.fusion)},
          {"hidden_size", cell.hidden_size},
          {"num_tokens", cell.num_tokens}};
}

}  // namespace

std::string request_line(const CellRequest& request) {
  json strategies = json::array();
  for (const Strategy strategy : request.strategies)
    strategies.push_back(name_of(strategy));
  return line_of({{"id", request.id},
                  {"cell", object_of(request.cell)},
                  {"launch", name_of(request.launch)},
                  {"strategies", strategies},
                  {"tie", request.tie},
                  {"min_samples", request.min_samples},
                  {"max_samples", request.max_samples},
                  {"memory_limit_bytes", request.memory_limit_bytes},
                  {"seed", request.seed}});
}

core::Result<CellRequest> parse_request(std::string_view line) {
  return parse_line(line, request_of);
}

std::string message_line(const WorkerMessage& message) {
  return line_of(std::visit([](const auto& kind) { return object_of(kind); }, message));
}

core::Result<WorkerMessage> parse_message(std::string_view line) {
  return parse_line(line, message_of);
}

}  // namespace assay::allreduce
