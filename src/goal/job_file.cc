#include "goal/job_file.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/json_fields.h"
#include "core/output_file.h"
#include "goal/label.h"
#include "model/goal_text.h"

namespace assay::goal {
namespace {

namespace fields = core::fields;
using Json = nlohmann::json;
using model::ChannelLinks;
using model::ChannelPart;
using model::Operation;

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMostReplicas = 1 << 24;

// A column of whole numbers: the name of a member, and how it is read and set.
template <class Row>
struct NumberColumn {
  const char* name;
  std::int64_t (*get)(const Row& row);
  void (*set)(Row& row, std::int64_t value);
  std::int64_t least;
  std::int64_t most;
};

template <class Row, auto kMember>
constexpr NumberColumn<Row> column(const char* name) {
  using Value = std::remove_reference_t<decltype(std::declval<Row&>().*kMember)>;
  constexpr auto kLeast = static_cast<std::int64_t>(std::numeric_limits<Value>::min());
  constexpr std::uint64_t kFits = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMost = static_cast<std::int64_t>(std::min<std::uint64_t>(
      static_cast<std::uint64_t>(std::numeric_limits<Value>::max()), kFits));
  return {name, [](const Row& row) { return static_cast<std::int64_t>(row.*kMember); },
          [](Row& row, std::int64_t value) { row.*kMember = static_cast<Value>(value); }, kLeast,
          kMost};
}

template <auto kMember, auto kMost>
constexpr NumberColumn<Operation> enum_column(const char* name) {
  using Value = std::remove_reference_t<decltype(std::declval<Operation&>().*kMember)>;
  return {name, [](const Operation& row) { return static_cast<std::int64_t>(row.*kMember); },
          [](Operation& row, std::int64_t value) { row.*kMember = static_cast<Value>(value); }, 0,
          static_cast<std::int64_t>(kMost)};
}

constexpr std::array kOperationColumns{
    enum_column<&Operation::function, model::NcclFunction::kGather>("function"),
    enum_column<&Operation::algorithm, model::NcclAlgorithm::kNone>("algorithm"),
    enum_column<&Operation::protocol, model::NcclProtocol::kNone>("protocol"),
    enum_column<&Operation::in_place, 1>("in_place"),
    column<Operation, &Operation::communicator>("communicator"),
    column<Operation, &Operation::stream>("stream"),
    column<Operation, &Operation::group>("group"),
    column<Operation, &Operation::call_group>("call_group"),
    column<Operation, &Operation::root>("root"),
    column<Operation, &Operation::peer>("peer"),
    column<Operation, &Operation::sequence>("sequence"),
    column<Operation, &Operation::bytes>("bytes"),
    column<Operation, &Operation::element_bytes>("element_bytes"),
    column<Operation, &Operation::chunk_steps>("chunk_steps"),
    column<Operation, &Operation::slice_steps>("slice_steps"),
    column<Operation, &Operation::step_bytes>("step_bytes"),
    column<Operation, &Operation::num_channels>("num_channels"),
    column<Operation, &Operation::first_part>("first_part"),
    column<Operation, &Operation::num_parts>("num_parts"),
    column<Operation, &Operation::start_ns>("start_ns"),
    column<Operation, &Operation::end_ns>("end_ns"),
    column<Operation, &Operation::first_wait>("first_wait"),
    column<Operation, &Operation::num_waits>("num_waits"),
    column<Operation, &Operation::compute_ns>("compute_ns")};

constexpr std::array kPartColumns{
    column<ChannelPart, &ChannelPart::channel>("channel"),
    column<ChannelPart, &ChannelPart::count>("count"),
    column<ChannelPart, &ChannelPart::chunk_count>("chunk_count"),
    column<ChannelPart, &ChannelPart::last_chunk_count>("last_chunk_count")};

template <class Row, std::size_t kColumns>
Json write_rows(const std::vector<Row>& rows,
                const std::array<NumberColumn<Row>, kColumns>& columns) {
  Json json = Json::object();
  const Row standard{};
  for (const NumberColumn<Row>& column : columns) {
    const bool tells =
        &column == &columns[0] || std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
          return column.get(row) != column.get(standard);
        });
    if (!tells) continue;
    std::vector<std::int64_t> values;
    values.reserve(rows.size());
    for (const Row& row : rows)
      values.push_back(column.get(row));
    json[column.name] = std::move(values);
  }
  return json;
}

template <class Row>
core::Status read_column(const Json& json,
                         const NumberColumn<Row>& column,
                         std::vector<Row>& rows) {
  if (!json.is_array() || (!rows.empty() && json.size() != rows.size())) {
    return core::Error{fmt::format("\"{}\" is no list of {} numbers", column.name, rows.size())};
  }
  if (rows.empty()) rows.resize(json.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto value = fields::value_as<std::int64_t>(json[i]);
    if (!value.ok()) return fields::in_field(column.name, value.error());
    if (value.value() < column.least || value.value() > column.most) {
      return core::Error{fmt::format("{} of row {} is {}: it must be {} to {}", column.name, i,
                                     value.value(), column.least, column.most)};
    }
    column.set(rows[i], value.value());
  }
  return {};
}

template <class Row, std::size_t kColumns>
core::Result<std::vector<Row>> read_rows(const Json& json,
                                         const std::array<NumberColumn<Row>, kColumns>& columns) {
  std::vector<Row> rows;
  if (!json.is_object()) return core::Error{"is no object of columns"};
  for (const auto& [name, values] : json.items()) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&name = name](const auto& c) { return name == c.name; });
    if (found == columns.end()) return core::Error{fmt::format("unknown column \"{}\"", name)};
    ASSAY_TRY(read_column(values, *found, rows));
  }
  return rows;
}

// Costs

constexpr std::array<const char*, 3> kProtocols{"LL", "LL128", "SIMPLE"};
constexpr std::array<const char*, kNumWorks> kWorks{"copy", "reduce", "reduce_copy", "self_copy"};
constexpr const char* kTwoWayMember = "two_way";

Json write_curve(const CostCurve& curve, const CostChoice& choice) {
  Json points = Json::array();
  for (const CostCurve::Point& point : curve.points()) {
    const double ns = choice.kind == CostChoice::Kind::kMean ? point.mean_ns
                                                             : quantile_of(point, choice.quantile);
    points.push_back({point.bytes, ns});
  }
  return points;
}

Json write_costs(const Costs& costs) {
  Json json{{"source", costs.source}, {"launch_ns", costs.launch_ns}};
  for (std::size_t protocol = 0; protocol < kProtocols.size(); ++protocol) {
    Json& row = json[kProtocols[protocol]];
    for (std::size_t work = 0; work < kWorks.size(); ++work)
      row[kWorks[work]] = write_curve(costs.curves[protocol][work], costs.choice);
    row[kTwoWayMember] = write_curve(costs.two_way[protocol], costs.choice);
  }
  return json;
}

core::Result<CostCurve> read_curve(const Json& json, const std::string& name) {
  std::vector<CostCurve::Point> points;
  if (!json.is_array()) return core::Error{name + " is no list of points"};
  for (const Json& point : json) {
    const bool good = point.is_array() && point.size() == 2 && point[0].is_number() &&
                      point[1].is_number() && point[0].get<double>() >= 0 &&
                      point[1].get<double>() >= 0 && point[1].get<double>() <= 1e15;
    if (!good)
      return core::Error{fmt::format("{}: {} is no pair of bytes and ns", name, point.dump())};
    points.push_back({.bytes = point[0], .mean_ns = point[1]});
  }
  if (points.empty()) return CostCurve();
  CostCurve curve(std::move(points));
  for (std::size_t i = 1; i < curve.points().size(); ++i) {
    if (curve.points()[i].bytes == curve.points()[i - 1].bytes) {
      return core::Error{fmt::format("{}: {} bytes twice", name, curve.points()[i].bytes)};
    }
  }
  return curve;
}

constexpr std::uint64_t kLongestLaunchNs = 3'600'000'000'000;  // sums with gaps stay far from 2^64

// Reads one for each protocol; files of before have one number for all.
core::Status read_launches(const Json& json, Costs& costs) {
  const bool one = !json.is_array();
  if (!one && json.size() != costs.launch_ns.size()) {
    return core::Error{"launch_ns has no number for each protocol"};
  }
  for (std::size_t protocol = 0; protocol < costs.launch_ns.size(); ++protocol) {
    const auto value = fields::value_as<std::uint64_t>(one ? json : json[protocol]);
    if (!value.ok()) return fields::in_field("launch_ns", value.error());
    if (value.value() > kLongestLaunchNs) return core::Error{"launch_ns is longer than an hour"};
    costs.launch_ns[protocol] = value.value();
  }
  return {};
}

core::Result<Costs> read_costs(const Json& json) {
  Costs costs;
  costs.source = ASSAY_TRY(fields::field<std::string>(json, "source"));
  ASSAY_TRY(read_launches(*ASSAY_TRY(fields::member(json, "launch_ns")), costs));
  for (std::size_t protocol = 0; protocol < kProtocols.size(); ++protocol) {
    const Json& row = *ASSAY_TRY(fields::object_member(json, kProtocols[protocol]));
    for (std::size_t work = 0; work < kWorks.size(); ++work) {
      const std::string name = fmt::format("costs of {} {}", kProtocols[protocol], kWorks[work]);
      // Files of before have none for what a rank sends to itself.
      if (work == static_cast<std::size_t>(Work::kSelfCopy) && !row.contains(kWorks[work])) {
        costs.curves[protocol][work] = costs.curves[protocol][0];
        continue;
      }
      costs.curves[protocol][work] =
          ASSAY_TRY(read_curve(*ASSAY_TRY(fields::member(row, kWorks[work])), name));
    }
    // Files of before have none.
    if (!row.contains(kTwoWayMember)) continue;
    const std::string name = fmt::format("costs of {} {}", kProtocols[protocol], kTwoWayMember);
    costs.two_way[protocol] = ASSAY_TRY(read_curve(row[kTwoWayMember], name));
  }
  return costs;
}

// Communicators

constexpr std::size_t kLinks = 6;

Json write_links(const ChannelLinks& links) {
  return {links.ring_previous, links.ring_next,    links.tree_up,
          links.tree_down[0],  links.tree_down[1], links.tree_down[2]};
}

core::Result<ChannelLinks> read_links(const Json& json, std::size_t num_ranks) {
  if (!json.is_array() || json.size() != kLinks) return core::Error{"a rank has no six neighbours"};
  std::array<std::int32_t, kLinks> values{};
  for (std::size_t i = 0; i < kLinks; ++i) {
    const std::int64_t value = ASSAY_TRY(fields::value_as<std::int64_t>(json[i]));
    if (value < -1 || value >= static_cast<std::int64_t>(num_ranks)) {
      return core::Error{
          fmt::format("{} is no neighbour in a communicator of {} ranks", value, num_ranks)};
    }
    values[i] = static_cast<std::int32_t>(value);
  }
  return ChannelLinks{.ring_previous = values[0],
                      .ring_next = values[1],
                      .tree_up = values[2],
                      .tree_down = {values[3], values[4], values[5]}};
}

Json write_communicator(const model::Communicator& communicator) {
  Json gpus = Json::array();
  for (const std::uint32_t gpu : communicator.gpus)
    gpus.push_back(gpu == model::kNoGpu ? Json() : Json(gpu));
  Json channels = Json::array();
  for (const std::vector<ChannelLinks>& ranks : communicator.channels) {
    Json& channel = channels.emplace_back(Json::array());
    for (const ChannelLinks& links : ranks)
      channel.push_back(write_links(links));
  }
  Json written = {{"name", communicator.name}, {"gpus", gpus}, {"channels", channels}};
  if (communicator.parallelism) written["parallelism"] = name_of(*communicator.parallelism);
  return written;
}

core::Result<std::vector<ChannelLinks>> read_channel(const Json& json, std::size_t num_ranks) {
  std::vector<ChannelLinks> links;
  if (!json.is_array() || json.size() != num_ranks) {
    return core::Error{fmt::format("a channel does not have {} ranks", num_ranks)};
  }
  for (const Json& rank : json)
    links.push_back(ASSAY_TRY(read_links(rank, num_ranks)));
  return links;
}

// Files of before `parallelism` was stated have `spans_replicas`.
core::Result<std::optional<Parallelism>> read_parallelism(const Json& json) {
  bool spans_replicas = false;
  ASSAY_TRY(fields::read(json, "spans_replicas", spans_replicas));
  std::string name;
  ASSAY_TRY(fields::read(json, "parallelism", name));
  if (name.empty()) return spans_replicas ? std::optional(Parallelism::kData) : std::nullopt;
  const std::optional<Parallelism> stated = parallelism_of(name);
  if (stated) return stated;
  return core::Error{fmt::format("parallelism '{}' is none of Other, PP, DP, EP, TP", name)};
}

core::Result<model::Communicator> read_communicator(const Json& json, std::size_t num_gpus) {
  model::Communicator communicator;
  communicator.name = ASSAY_TRY(fields::field<std::string>(json, "name"));
  for (const Json& member : *ASSAY_TRY(fields::member(json, "gpus"))) {
    const auto gpu = member.is_null() ? std::int64_t{model::kNoGpu}
                                      : ASSAY_TRY(fields::value_as<std::int64_t>(member));
    if (!member.is_null() && (gpu < 0 || gpu >= static_cast<std::int64_t>(num_gpus))) {
      return core::Error{fmt::format("communicator {} has GPU {}, the job has {}",
                                     communicator.name, gpu, num_gpus)};
    }
    const auto known = std::find(communicator.gpus.begin(), communicator.gpus.end(),
                                 static_cast<std::uint32_t>(gpu));
    if (!member.is_null() && known != communicator.gpus.end()) {
      return core::Error{fmt::format("communicator {} has GPU {} twice", communicator.name, gpu)};
    }
    communicator.gpus.push_back(static_cast<std::uint32_t>(gpu));
  }
  communicator.parallelism = ASSAY_TRY(read_parallelism(json));
  for (const Json& channel : *ASSAY_TRY(fields::member(json, "channels")))
    communicator.channels.push_back(ASSAY_TRY(read_channel(channel, communicator.gpus.size())));
  return communicator;
}

// GPUs

Json write_gpu(const model::JobGpu& gpu) {
  return {{"node", gpu.node},
          {"process", gpu.process_id},
          {"device", gpu.device},
          {"clock", gpu.clock},
          {"window", {gpu.window_start_ns, gpu.window_end_ns}},
          {"streams", gpu.streams},
          {"states_waits", gpu.states_waits},
          {"waits", gpu.waits},
          {"operations", write_rows(gpu.operations, kOperationColumns)},
          {"parts", write_rows(gpu.parts, kPartColumns)}};
}

core::Status check_operation(const Operation& operation,
                             const model::Job& job,
                             const model::JobGpu& gpu) {
  const auto index = static_cast<std::size_t>(&operation - gpu.operations.data());
  const std::uint64_t last_wait = std::uint64_t{operation.first_wait} + operation.num_waits;
  if (operation.stream >= gpu.streams.size() || last_wait > gpu.waits.size()) {
    return core::Error{fmt::format("operation {} has a stream or waits that are none", index)};
  }
  for (std::uint64_t i = operation.first_wait; i < last_wait; ++i) {
    if (gpu.waits[i] < index) continue;
    return core::Error{fmt::format("operation {} waits for {}", index, gpu.waits[i])};
  }
  if (operation.communicator == model::kNoCommunicator) return {};
  if (operation.communicator >= job.communicators.size()) {
    return core::Error{
        fmt::format("communicator {} of {}", operation.communicator, job.communicators.size())};
  }
  const auto ranks =
      static_cast<std::int64_t>(job.communicators[operation.communicator].gpus.size());
  const bool good = operation.element_bytes > 0 && operation.root >= -1 && operation.root < ranks &&
                    operation.peer >= -1 && operation.peer < ranks &&
                    (operation.peer >= 0 || !is_point_to_point(operation.function)) &&
                    std::uint64_t{operation.first_part} + operation.num_parts <= gpu.parts.size();
  if (operation.num_channels > model::kMostNcclChannels) {
    return core::Error{fmt::format("operation {} has {} channels, NCCL at most {}", index,
                                   operation.num_channels, model::kMostNcclChannels)};
  }
  if (good) return {};
  return core::Error{
      fmt::format("operation {} has an element, a root, a peer or parts that are none", index)};
}

core::Status read_waits(const Json& json, std::vector<std::uint32_t>& waits) {
  const Json* list = fields::find(json, "waits");
  if (list == nullptr) return {};
  if (!list->is_array()) return core::Error{"\"waits\" is no list"};
  for (const Json& wait : *list) {
    const std::uint64_t value = ASSAY_TRY(fields::value_as<std::uint64_t>(wait));
    waits.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX)));
  }
  return {};
}

core::Result<model::JobGpu> read_gpu(const Json& json, const model::Job& job) {
  model::JobGpu gpu;
  int device = -1;
  std::int64_t clock = 0;
  gpu.node = ASSAY_TRY(fields::field<std::string>(json, "node"));
  ASSAY_TRY(fields::read(json, "process", gpu.process_id));
  ASSAY_TRY(fields::read_int(json, "device", device));
  ASSAY_TRY(fields::read_count(json, "clock", clock));
  ASSAY_TRY(fields::read(json, "streams", gpu.streams));
  ASSAY_TRY(fields::read(json, "states_waits", gpu.states_waits));
  ASSAY_TRY(read_waits(json, gpu.waits));
  gpu.device = device;
  gpu.clock = static_cast<std::uint32_t>(std::min<std::int64_t>(clock, INT32_MAX));
  const Json& window = *ASSAY_TRY(fields::member(json, "window"));
  if (!window.is_array() || window.size() != 2)
    return core::Error{"\"window\" is no pair of times"};
  gpu.window_start_ns = ASSAY_TRY(fields::value_as<std::int64_t>(window[0]));
  gpu.window_end_ns = ASSAY_TRY(fields::value_as<std::int64_t>(window[1]));
  gpu.operations = ASSAY_TRY(
      read_rows<Operation>(*ASSAY_TRY(fields::member(json, "operations")), kOperationColumns));
  gpu.parts =
      ASSAY_TRY(read_rows<ChannelPart>(*ASSAY_TRY(fields::member(json, "parts")), kPartColumns));
  for (const ChannelPart& part : gpu.parts) {
    if (part.chunk_count == 0) return core::Error{"a part has chunks of 0 elements"};
  }
  for (const Operation& operation : gpu.operations)
    ASSAY_TRY(check_operation(operation, job, gpu));
  return gpu;
}

core::Result<JobFile> read(const Json& json) {
  JobFile file;
  const std::int64_t version = ASSAY_TRY(fields::field<std::int64_t>(json, "assay_job"));
  if (version != kVersion) {
    return core::Error{fmt::format("has version {}; this assay reads {}", version, kVersion)};
  }
  const Json& gpus = *ASSAY_TRY(fields::member(json, "gpus"));
  if (!gpus.is_array()) return core::Error{"\"gpus\" is no list"};
  ASSAY_TRY(fields::read(json, "nccl_version", file.job.nccl_version));
  for (const Json& each : *ASSAY_TRY(fields::member(json, "communicators")))
    file.job.communicators.push_back(ASSAY_TRY(read_communicator(each, gpus.size())));
  for (const Json& each : gpus)
    file.job.gpus.push_back(ASSAY_TRY(read_gpu(each, file.job)));
  std::int64_t replicas = 1;
  ASSAY_TRY(fields::read_count(json, "replicas", replicas));
  if (replicas < 1 || replicas > kMostReplicas) {
    return core::Error{
        fmt::format("\"replicas\" is {}: it must be 1 to {}", replicas, kMostReplicas)};
  }
  file.scale.replicas = static_cast<unsigned>(replicas);
  ASSAY_TRY(fields::read(json, "replica_communicator", file.scale.communicator));
  ASSAY_TRY(fields::read(json, "keep_algorithms", file.choices.keep));
  ASSAY_TRY(fields::read(json, "nic_gbps", file.choices.nic_gbps));
  if (!(file.choices.nic_gbps > 0)) return core::Error{"\"nic_gbps\" is not above 0"};
  bool merged = false;
  std::string order = "observed";
  ASSAY_TRY(fields::read(json, "merged", merged));
  ASSAY_TRY(fields::read(json, "stream_order", order));
  if (merged) file.streams.streams = Streams::kMergedWhenDisjoint;
  if (order == "independent") {
    file.streams.order = StreamOrder::kIndependent;
  } else if (order != "observed") {
    return core::Error{fmt::format("\"stream_order\" is \"{}\": observed or independent", order)};
  }
  file.costs = ASSAY_TRY(read_costs(*ASSAY_TRY(fields::object_member(json, "costs"))));
  return file;
}

}  // namespace

bool is_job_file(std::string_view first_bytes) {
  return first_bytes.starts_with(model::kJobFileStart);
}

core::Status write_job_file(const std::filesystem::path& path, const JobFile& file) {
  if (file.costs.choice.kind == CostChoice::Kind::kSample) {
    return core::Error{"a job's file has one cost for each size: not --cost sample"};
  }
  // The first field tells the kind of file; the others follow in the order of the alphabet.
  Json json{{"nccl_version", file.job.nccl_version},
            {"replicas", file.scale.replicas},
            {"replica_communicator", file.scale.communicator},
            {"keep_algorithms", file.choices.keep},
            {"nic_gbps", file.choices.nic_gbps},
            {"merged", file.streams.streams == Streams::kMergedWhenDisjoint},
            {"stream_order",
             file.streams.order == StreamOrder::kIndependent ? "independent" : "observed"},
            {"costs", write_costs(file.costs)},
            {"communicators", Json::array()},
            {"gpus", Json::array()}};
  for (const model::Communicator& communicator : file.job.communicators)
    json["communicators"].push_back(write_communicator(communicator));
  for (const model::JobGpu& gpu : file.job.gpus)
    json["gpus"].push_back(write_gpu(gpu));
  return core::write_file(path,
                          fmt::format("{{\"assay_job\":{},{}\n", kVersion, json.dump().substr(1)));
}

core::Result<JobFile> parse_job_file(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    return core::Error{fmt::format("'{}' is no JSON: it is cut, or was changed", name)};
  if (!json.is_object())
    return core::Error{fmt::format("'{}' is no job of 'assay goal generate'", name)};
  auto file = read(json);
  if (!file.ok()) return file.error().context(fmt::format("'{}'", name));
  return file;
}

core::Result<JobFile> read_job_file(const std::filesystem::path& path) {
  return parse_job_file(ASSAY_TRY(core::read_file(path)), path.string());
}

}  // namespace assay::goal
