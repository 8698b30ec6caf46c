#include "goal/costs.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/files.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;
using model::NcclProtocol;
using Json = nlohmann::json;

constexpr std::array<const char*, kNumWorks> kWorkNames = {"copy", "reduce", "reduce_copy",
                                                           "self_copy"};
constexpr const char* kTwoWay = "two_way";
constexpr const char* kLaunch = "launch_ns";
constexpr std::size_t kSimpleRow = static_cast<std::size_t>(NcclProtocol::kSimple);
constexpr std::size_t kLlRow = static_cast<std::size_t>(NcclProtocol::kLl);
constexpr std::size_t kLl128Row = static_cast<std::size_t>(NcclProtocol::kLl128);

// Returns a duration that a schedule can hold for any number that a file can.
std::uint64_t whole_ns(double ns) {
  constexpr double kLongest = 1e15;  // 11 days
  if (!(ns > 0)) return 0;           // also for NaN
  return static_cast<std::uint64_t>(std::llround(std::min(ns, kLongest)));
}

// A number in [0, 1) that depends on nothing but its arguments (splitmix64).
double draw_quantile(std::uint64_t seed, std::uint64_t draw) {
  std::uint64_t x = seed + (draw + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

core::Result<Json> parse_json(std::string_view text, const std::string& name) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return core::Error{name + ": not JSON"};
  return json;
}

core::Result<CostCurve> read_event(const Json& json, const std::string& name, const char* event) {
  const auto failed = [&](const std::string& what) {
    return core::Error{fmt::format("{}: {}: {}", name, event, what)};
  };
  if (!json.is_object() || !json.contains(event)) return failed("missing");
  if (!json[event].is_object()) return failed("no object of sizes");
  std::vector<CostCurve::Point> points;
  for (const auto& [size, durations] : json[event].items()) {
    CostCurve::Point point;
    const char* size_end = size.data() + size.size();
    const auto [end, problem] = std::from_chars(size.data(), size_end, point.bytes);
    const bool is_size =
        problem == std::errc() && end == size_end && point.bytes >= 0 && std::isfinite(point.bytes);
    if (!is_size || !durations.is_array() || durations.empty()) {
      return failed(fmt::format("'{}' is no size with a list of nanoseconds", size));
    }
    double sum = 0;
    for (const Json& duration : durations) {
      if (!duration.is_number() || duration.get<double>() < 0) {
        return failed(fmt::format("size {}: {} is no duration in ns", size, duration.dump()));
      }
      point.sorted_ns.push_back(duration.get<double>());
      sum += point.sorted_ns.back();
    }
    std::sort(point.sorted_ns.begin(), point.sorted_ns.end());
    point.mean_ns = sum / static_cast<double>(point.sorted_ns.size());
    points.push_back(std::move(point));
  }
  if (points.empty()) return failed("no sizes");
  CostCurve curve(std::move(points));
  for (std::size_t i = 1; i < curve.points().size(); ++i) {
    const double bytes = curve.points()[i].bytes;
    if (bytes == curve.points()[i - 1].bytes) return failed(fmt::format("size {}: twice", bytes));
  }
  return curve;
}

core::Result<CostRow> read_npkit_file(const fs::path& file) {
  return parse_npkit(ASSAY_TRY(core::read_file(file)), file.string());
}

}  // namespace

double quantile_of(const CostCurve::Point& point, double quantile) {
  if (point.sorted_ns.empty()) return point.mean_ns;
  const double place = quantile * static_cast<double>(point.sorted_ns.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, point.sorted_ns.size() - 1);
  const double part = place - static_cast<double>(below);
  return point.sorted_ns[below] * (1 - part) + point.sorted_ns[above] * part;
}

CostCurve::CostCurve(std::vector<Point> points) : points_(std::move(points)) {
  std::sort(points_.begin(), points_.end(),
            [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
}

CostCurve CostCurve::line(double latency_ns, double ns_per_byte) {
  constexpr double kFar = 1 << 20;
  return CostCurve({{0, latency_ns}, {kFar, latency_ns + kFar * ns_per_byte}});
}

std::uint64_t CostCurve::duration_ns(std::uint64_t bytes,
                                     const CostChoice& choice,
                                     std::uint64_t draw) const {
  const double quantile =
      choice.kind == CostChoice::Kind::kSample ? draw_quantile(choice.seed, draw) : choice.quantile;
  const auto value = [&](const Point& point) {
    return choice.kind == CostChoice::Kind::kMean ? point.mean_ns : quantile_of(point, quantile);
  };
  const auto size = static_cast<double>(bytes);
  if (points_.empty()) return 0;
  if (points_.size() == 1 || size <= points_.front().bytes) {
    return whole_ns(value(points_.front()));
  }
  auto above = std::lower_bound(points_.begin(), points_.end(), size,
                                [](const Point& point, double x) { return point.bytes < x; });
  if (above == points_.end()) --above;
  const Point& high = *above;
  const Point& low = *(above - 1);
  const double slope = (value(high) - value(low)) / (high.bytes - low.bytes);
  return whole_ns(value(high) + slope * (size - high.bytes));
}

// Fitted by `assay simulate fit` to 255 kinds and sizes of operations on 4 H200 with NVLink (NCCL
// 2.28.9, 2026-11-27): docs/case-study-goal.md.
const LineCosts& default_costs() {
  static const LineCosts costs = {
      {4030, 6280, 3690},
      {{
          {{{68, 0.075}, {209, 0.0097}, {209, 0.0097}, {100, 0.04}}},        // LL
          {{{1032, 0.0742}, {1675, 0.0495}, {1675, 0.0495}, {1055, 0.04}}},  // LL128
          {{{3528, 0.033}, {2900, 0.0326}, {2900, 0.0326}, {3490, 0.04}}},   // SIMPLE
      }},
      {{{83, 0.07}, {0, 0}, {542, 0.0091}}}};
  return costs;
}

Costs costs_from_lines(const LineCosts& lines, std::string source) {
  Costs costs;
  costs.source = std::move(source);
  for (std::size_t row = 0; row < lines.lines.size(); ++row) {
    costs.launch_ns[row] = whole_ns(lines.launch_ns[row]);
    for (std::size_t work = 0; work < lines.lines[row].size(); ++work) {
      const LineCost& line = lines.lines[row][work];
      costs.curves[row][work] = CostCurve::line(line.latency_ns, line.ns_per_byte);
    }
    costs.two_way[row] =
        CostCurve::line(lines.two_way[row].latency_ns, lines.two_way[row].ns_per_byte);
  }
  return costs;
}

core::Result<CostRow> parse_npkit(std::string_view text, const std::string& name) {
  const Json json = ASSAY_TRY(parse_json(text, name));
  CostRow row;
  row[static_cast<std::size_t>(Work::kCopy)] =
      ASSAY_TRY(read_event(json, name, "NPKIT_EVENT_GPU_DIRECT_RECV_COPY_SEND"));
  row[static_cast<std::size_t>(Work::kReduce)] =
      ASSAY_TRY(read_event(json, name, "NPKIT_EVENT_GPU_RECV_REDUCE_SEND"));
  // NCCL writes both results in one pass over the data.
  const char* both = "NPKIT_EVENT_GPU_DIRECT_RECV_REDUCE_COPY_SEND";
  row[static_cast<std::size_t>(Work::kReduceCopy)] =
      json.contains(both) ? ASSAY_TRY(read_event(json, name, both))
                          : row[static_cast<std::size_t>(Work::kReduce)];
  return row;
}

namespace {

// NPKit does not time what a rank sends to itself.
void take_row(const CostRow& measured, CostRow& row) {
  for (const Work work : {Work::kCopy, Work::kReduce, Work::kReduceCopy})
    row[static_cast<std::size_t>(work)] = measured[static_cast<std::size_t>(work)];
}

}  // namespace

core::Result<Costs> read_npkit(const std::optional<fs::path>& simple,
                               const std::optional<fs::path>& ll) {
  Costs costs = costs_from_lines(default_costs(), "");
  if (simple) {
    take_row(ASSAY_TRY(read_npkit_file(*simple)), costs.curves[kSimpleRow]);
    costs.two_way[kSimpleRow] = CostCurve();
    costs.source += simple->filename().string();
  }
  if (ll) {
    take_row(ASSAY_TRY(read_npkit_file(*ll)), costs.curves[kLlRow]);
    take_row(costs.curves[kLlRow], costs.curves[kLl128Row]);
    costs.two_way[kLlRow] = costs.two_way[kLl128Row] = CostCurve();
    costs.source += (costs.source.empty() ? "" : ", ") + ll->filename().string();
  }
  if (!ll) costs.source += fmt::format("; LL and LL128 {}", kDefaultCosts);
  if (!simple) costs.source += fmt::format("; Simple {}", kDefaultCosts);
  return costs;
}

core::Result<LineCosts> read_line_costs(const fs::path& file) {
  return parse_line_costs(ASSAY_TRY(core::read_file(file)), file.string());
}

namespace {

double number_in(const Json& object, const char* field) {
  const bool known = object.is_object() && object.contains(field) && object[field].is_number();
  return known ? object[field].get<double>() : std::nan("");
}

core::Status read_launch(const Json& object, double& launch_ns) {
  launch_ns = number_in(object, kLaunch);
  if (!(launch_ns >= 0)) return core::Error{"launch_ns must be a number from 0"};
  return {};
}

core::Status read_protocol(const std::string& name, const Json& works, LineCosts& costs) {
  const auto protocol = model::nccl_protocol(name);
  if (!protocol || *protocol == NcclProtocol::kNone || !works.is_object()) {
    return core::Error{fmt::format("'{}' is no protocol with costs; LL, LL128, SIMPLE are", name)};
  }
  const auto row = static_cast<std::size_t>(*protocol);
  for (const auto& [work, line] : works.items()) {
    if (work == kLaunch) {
      ASSAY_TRY(read_launch(works, costs.launch_ns[row]));
      continue;
    }
    const auto known = std::find(kWorkNames.begin(), kWorkNames.end(), work);
    if (known == kWorkNames.end() && work != kTwoWay) {
      return core::Error{fmt::format(
          "{}: '{}' is none of launch_ns, copy, reduce, reduce_copy, self_copy, two_way", name,
          work)};
    }
    const auto place = static_cast<std::size_t>(known - kWorkNames.begin());
    LineCost& cost = work == kTwoWay ? costs.two_way[row] : costs.lines[row][place];
    cost = {number_in(line, "latency_ns"), number_in(line, "ns_per_byte")};
    if (!(cost.latency_ns >= 0 && cost.ns_per_byte >= 0)) {
      return core::Error{
          fmt::format("{} {}: latency_ns and ns_per_byte must be numbers from 0", name, work)};
    }
  }
  return {};
}

core::Result<LineCosts> line_costs_in(const Json& json) {
  if (!json.is_object() || !json.contains("costs")) return core::Error{"has no \"costs\""};
  if (!json["costs"].is_object()) return core::Error{"\"costs\" is no object"};
  LineCosts costs = default_costs();
  if (json["costs"].contains(kLaunch)) {
    double of_all = 0;
    ASSAY_TRY(read_launch(json["costs"], of_all));
    costs.launch_ns.fill(of_all);
  }
  for (const auto& [name, works] : json["costs"].items()) {
    if (name != kLaunch) ASSAY_TRY(read_protocol(name, works, costs));
  }
  return costs;
}

}  // namespace

core::Result<LineCosts> parse_line_costs(std::string_view text, const std::string& file) {
  auto costs = line_costs_in(ASSAY_TRY(parse_json(text, file)));
  if (!costs.ok()) return costs.error().context(file);
  return costs;
}

std::string line_costs_json(const LineCosts& costs) {
  std::string text = "{";
  for (std::size_t row = 0; row < costs.lines.size(); ++row) {
    text += fmt::format("{}\n    \"{}\": {{\n      \"{}\": {:.6g}", row == 0 ? "" : ",",
                        name_of(static_cast<NcclProtocol>(row)), kLaunch, costs.launch_ns[row]);
    const auto add = [&](const char* work, const LineCost& line) {
      text += fmt::format(",\n      \"{}\": {{\"latency_ns\": {:.6g}, \"ns_per_byte\": {:.6g}}}",
                          work, line.latency_ns, line.ns_per_byte);
    };
    for (std::size_t work = 0; work < kWorkNames.size(); ++work)
      add(kWorkNames[work], costs.lines[row][work]);
    add(kTwoWay, costs.two_way[row]);
    text += "\n    }";
  }
  return text + "\n  }";
}

}  // namespace assay::goal
