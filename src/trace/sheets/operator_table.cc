#include "trace/sheets/operator_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"
#include "trace/arguments.h"
#include "trace/perf/kernel_category.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

template <class Map, class Key>
model::Cell name_cell(const RankAnalysis& rank, const Map& names, Key key) {
  const auto found = names.find(key);
  if (found != names.end()) return text_cell(rank.trace->text(found->second));
  return rank.options.compat == Compat::kTraceLens ? model::Cell{"Unknown"} : model::Cell{};
}

template <class Map, class Key>
model::TextId name_in(const Map& names, Key key) {
  const auto found = names.find(key);
  return found == names.end() ? model::TextId{0} : found->second;
}

// Removes the blanks outside the strings of a JSON text.
std::string without_blanks(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"' && (i == 0 || json[i - 1] != '\\')) in_string = !in_string;
    if (in_string || static_cast<unsigned char>(c) > ' ') result += c;
  }
  return result;
}

constexpr std::size_t kShownNameBytes = 64;

// The n-th piece of GPU work of each call.
struct Position {
  std::string_view name;
  std::int32_t stream = -1;
  std::vector<double> durations_us = {};
  double total_us = 0;
};

// Sums in the order of NumPy (pairwise, in eight lanes). Its rounding decides ties when means are
// rounded to two decimals.
double pairwise_sum(std::span<const double> values) {
  constexpr std::size_t kLanes = 8;
  constexpr std::size_t kBlock = 128;
  const std::size_t count = values.size();
  if (count < kLanes) return core::sum(values);
  if (count > kBlock) {
    const std::size_t half = count / 2 - count / 2 % kLanes;
    return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
  }
  std::array<double, kLanes> lanes{};
  const std::size_t whole = count - count % kLanes;
  for (std::size_t i = 0; i < whole; ++i)
    lanes[i % kLanes] += values[i];
  const double total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                       ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(whole), values.end(), total);
}

std::vector<Position> positions_of(const RankAnalysis& rank,
                                   std::span<const GpuWorkList> instances) {
  std::vector<Position> positions;
  for (const std::uint32_t index : instances.front()) {
    const model::GpuEvent& event = rank.trace->gpu_events[index];
    positions.push_back({rank.trace->text(event.name), event.stream});
  }
  for (const GpuWorkList& instance : instances) {
    if (instance.size() != positions.size()) continue;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      positions[i].durations_us.push_back(rank.gpu_event_us(instance[i]));
    }
  }
  for (Position& position : positions)
    position.total_us = pairwise_sum(position.durations_us);
  std::stable_sort(positions.begin(), positions.end(), [](const Position& a, const Position& b) {
    return std::tie(a.total_us, a.name) < std::tie(b.total_us, b.name);
  });
  return positions;
}

double mean_us(const Position& position) {
  return position.total_us / static_cast<double>(position.durations_us.size());
}

// Shortens a name without cutting a UTF-8 character in two.
std::string shown_name(std::string_view name) {
  if (name.size() <= kShownNameBytes) return std::string(name);
  std::size_t end = kShownNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U)
    --end;
  return std::string(name.substr(0, end)) + "...";
}

std::string full_text(const Position& position) {
  const std::vector<double>& us = position.durations_us;
  return fmt::format(
      "{{'name': {}, 'stream': {}, 'count': {}, 'total_duration_us': {}, 'mean_duration_us': {}, "
      "'median_duration_us': {}, 'std_dev_duration_us': {}, 'min_duration_us': {}, "
      "'max_duration_us': {}}}",
      python_repr(position.name), position.stream, us.size(), core::shortest(position.total_us),
      core::shortest(mean_us(position)), core::shortest(core::median(us)),
      core::shortest(core::population_deviation(us)), core::shortest(core::minimum(us)),
      core::shortest(core::maximum(us)));
}

std::string truncated_text(const Position& position) {
  // NumPy rounds to even after scaling.
  const double rounded_us = std::nearbyint(mean_us(position) * 100) / 100;
  return fmt::format("{{'name': {}, 'stream': {}, 'mean_duration_us': {}}}",
                     python_repr(shown_name(position.name)), position.stream,
                     core::shortest(rounded_us));
}

}  // namespace

ArgumentTexts argument_texts(const model::Trace& trace, const Node& node) {
  if (node.kind != Node::Kind::kCpuOp) return {};
  const model::CpuOp& op = trace.cpu_ops[node.index];
  return {op.input_dims, op.input_types, op.input_strides, op.concrete_inputs};
}

bool hides_operators(const RankAnalysis& rank) {
  return rank.options.compat == Compat::kTraceLens && rank.trace->cpu_ops.empty();
}

std::vector<OperatorRow> operator_rows(const RankAnalysis& rank) {
  if (hides_operators(rank)) return {};
  const model::Trace& trace = *rank.trace;
  std::map<std::pair<model::TextId, model::TextId>, std::string_view> categories;
  std::vector<OperatorRow> rows;
  rows.reserve(rank.launchers.size());
  for (const Launcher& launcher : rank.launchers) {
    const model::TextId kernel = trace.gpu_events[launcher.kernels.front()].name;
    const model::TextId name =
        launcher.is_replayed ? kernel : node_name(trace, rank.tree.nodes[launcher.node]);
    const auto [found, inserted] = categories.try_emplace({name, kernel});
    if (inserted) {
      found->second = launcher.is_replayed
                          ? kernel_category(trace.text(kernel))
                          : op_category(trace.text(name), trace.text(kernel), rank.options.compat);
    }
    rows.push_back({&launcher, name, found->second});
  }
  return rows;
}

double percent(double part, double total) {
  return total == 0 ? 0 : 100 * part / total;
}

model::Cell text_cell(std::string_view text) {
  return text.empty() ? model::Cell{} : model::Cell{std::string(text)};
}

model::Column recompute_column() {
  return {"is_recompute", "", model::Better::kNeither, "forward again, during backward"};
}

void add_track_names(const RankAnalysis& rank,
                     model::TrackId track,
                     std::vector<model::Cell>& row) {
  const model::Trace& trace = *rank.trace;
  const model::TextId process = trace.tracks[track].process;
  row.push_back(name_cell(rank, trace.process_names, process));
  row.push_back(name_cell(rank, trace.process_labels, process));
  row.push_back(name_cell(rank, trace.thread_names, track));
}

CallIdentity CallIdentities::of(const Node& node) {
  const model::TrackId track = node_track(trace_, node);
  const model::TextId process = trace_.tracks[track].process;
  const ArgumentTexts texts = argument_texts(trace_, node);
  return {{name_in(trace_.process_names, process), name_in(trace_.process_labels, process),
           name_in(trace_.thread_names, track)},
          {shown_text(texts.dims), shown_text(texts.types), shown_text(texts.strides),
           shown_text(texts.concrete)}};
}

model::TextId CallIdentities::shown_text(model::TextId json) {
  const auto [known, is_new] = shown_.try_emplace(json, json);
  if (is_new) {
    known->second = first_of_.try_emplace(without_blanks(trace_.text(json)), json).first->second;
  }
  return known->second;
}

void add_argument_texts(const model::Trace& trace,
                        const ArgumentTexts& arguments,
                        Brackets brackets,
                        std::vector<model::Cell>& row) {
  for (const model::TextId id :
       {arguments.dims, arguments.types, arguments.strides, arguments.concrete})
    row.push_back(text_cell(python_repr_json(trace.text(id), brackets)));
}

std::string left_out_note(std::int64_t calls) {
  return fmt::format(
      "{} launched another number of kernels than the first of their row: their kernels are not in "
      "kernel_details",
      core::counted(calls, "call"));
}

KernelDetails kernel_details(const RankAnalysis& rank, std::span<const GpuWorkList> instances) {
  if (instances.empty()) return {};
  std::vector<std::string> full;
  std::vector<std::string> truncated;
  for (const Position& position : positions_of(rank, instances)) {
    full.push_back(full_text(position));
    truncated.push_back(truncated_text(position));
  }
  const auto same_size = [&](const GpuWorkList& instance) {
    return instance.size() == instances.front().size();
  };
  const auto counted = std::count_if(instances.begin(), instances.end(), same_size);
  return {"[" + core::join(full, ", ") + "]", "[" + core::join(truncated, ", ") + "]",
          static_cast<std::int64_t>(instances.size()) - counted};
}

}  // namespace assay::trace
