// The roofline sheets: one for each family of operators, with separate sheets for forward and
// backward operators.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/statistics.h"
#include "trace/perf/operator_instances.h"
#include "trace/perf/performance.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;
using model::Table;

// The order of the public tool.
constexpr std::array<std::string_view, 16> kSheetOrder = {
    "GEMM",      "SDPA",        "CONV",    "BinaryElementwise", "GroupedGEMM",
    "MoE_comm",  "SSM",         "RoPE",    "CrossEntropy",      "UnaryElementwise",
    "MoE_fused", "MoE_unfused", "RMSNorm", "GroupQuant",        "Normalization",
    "Reduce"};

// Calls with the same name and parameters, all of which recompute, or none.
struct RooflineGroup {
  std::vector<const OperatorInstance*> instances;
  Achieved achieved;
  double total_us = 0;
};

class RooflineTable {
 public:
  RooflineTable(const RankAnalysis& rank, const std::optional<GpuArchitecture>& architecture)
      : rank_(rank), architecture_(architecture) {}

  Table build(const std::string& name, const std::vector<OperatorInstance>& instances) {
    for (const OperatorInstance& instance : instances)
      add(instance);
    for (RooflineGroup& group : groups_)
      group.total_us = core::sum(group.achieved.kernel_us);
    std::sort(
        groups_.begin(), groups_.end(), [this](const RooflineGroup& a, const RooflineGroup& b) {
          return a.total_us != b.total_us ? a.total_us > b.total_us : first_uid(a) < first_uid(b);
        });
    Table table{name, "Achieved rates against the work of each call", columns()};
    for (const RooflineGroup& group : groups_)
      table.add_row(row(group));
    if (left_out_ > 0) table.notes.push_back(left_out_note(left_out_));
    return table;
  }

 private:
  [[nodiscard]] std::uint32_t first_uid(const RooflineGroup& group) const {
    return node_uid(*rank_.trace, rank_.tree.nodes[group.instances.front()->node]);
  }

  [[nodiscard]] model::TextId name_of(const OperatorInstance& instance) const {
    return node_name(*rank_.trace, rank_.tree.nodes[instance.node]);
  }

  void add(const OperatorInstance& instance) {
    RooflineGroup& group = groups_[group_of(instance)];
    group.instances.push_back(&instance);
    group.achieved.add(instance.kernel_us, instance.work, instance.estimate->compute_spec,
                       architecture_);
  }

  // Similar calls share an estimate, so the group of most is found by the address of that.
  std::size_t group_of(const OperatorInstance& instance) {
    const bool recomputes = rank_.recomputes(instance.node);
    const auto [known, is_new] =
        group_of_estimate_.try_emplace(std::pair(instance.estimate, recomputes), 0);
    if (!is_new) return known->second;
    std::string key = std::to_string(name_of(instance)) + (recomputes ? "\nagain" : "");
    for (const Parameter& parameter : instance.estimate->parameters) {
      note_parameter(parameter.name);
      key += '\n' + parameter.name + '=' + python_repr(parameter.value, parameter.brackets);
    }
    const auto [found, inserted] = group_of_key_.try_emplace(std::move(key), groups_.size());
    if (inserted) groups_.emplace_back();
    known->second = found->second;
    return found->second;
  }

  void note_parameter(const std::string& name) {
    if (std::find(parameters_.begin(), parameters_.end(), name) == parameters_.end())
      parameters_.push_back(name);
  }

  [[nodiscard]] std::vector<model::Column> columns() const {
    std::vector<model::Column> columns{{"name"}};
    for (const std::string& parameter : parameters_)
      columns.push_back({"param: " + parameter});
    if (rank_.options.detect_recompute) columns.push_back(recompute_column());
    columns.push_back({"GFLOPS_first", "1e9"});
    columns.push_back({"Data Moved (MB)_first", "MiB"});
    columns.push_back({"FLOPS/Byte_first", "1/B"});
    add_spread(columns, "TB/s", "1e12 B/s", Better::kHigher);
    add_spread(columns, "TFLOPS/s", "1e12/s", Better::kHigher);
    for (const char* name :
         {"process_name_first", "process_label_first", "thread_name_first", "Compute Spec",
          "kernel_details__summarize_kernel_stats", "trunc_kernel_details", "Input Dims_first",
          "Input type_first", "Input Strides_first", "Concrete Inputs_first"})
      columns.push_back({name});
    add_spread(columns, "Kernel Time (µs)", "µs", Better::kLower);
    columns.push_back({"Kernel Time (µs)_sum", "µs", Better::kLower});
    columns.push_back({"name_count"});
    columns.push_back({"UID_first"});
    if (!architecture_) return columns;
    columns.push_back({"Roofline Time (µs)_first", "µs"});
    columns.push_back({"Roofline Bound_first"});
    add_spread(columns, "Pct Roofline", "%", Better::kHigher);
    return columns;
  }

  static void add_spread(std::vector<model::Column>& columns,
                         const std::string& name,
                         const std::string& unit,
                         Better better) {
    for (const char* statistic : {"_mean", "_median", "_std", "_min", "_max"})
      columns.push_back({name + statistic, unit, better});
  }

  static void add_spread(std::vector<Cell>& row, const std::vector<double>& values) {
    const Spread spread = spread_of(values);
    for (const double value :
         {spread.mean, spread.median, spread.deviation, spread.minimum, spread.maximum})
      row.emplace_back(value);
  }

  std::vector<Cell> row(const RooflineGroup& group) {
    const Achieved& achieved = group.achieved;
    const OperatorInstance& first = *group.instances.front();
    std::vector<Cell> row{std::string(rank_.trace->text(name_of(first)))};
    add_parameters(first, row);
    if (rank_.options.detect_recompute) row.emplace_back(rank_.recomputes(first.node));
    row.push_back(gflops_cell(achieved));
    row.push_back(megabytes_cell(achieved));
    row.push_back(intensity_cell(achieved));
    add_spread(row, achieved.terabytes_per_s);
    add_spread(row, achieved.teraflops_per_s);
    add_track_names(rank_, node_track(*rank_.trace, rank_.tree.nodes[first.node]), row);
    row.push_back(text_cell(achieved.compute_spec));
    add_kernels(group, row);
    add_argument_texts(*rank_.trace, argument_texts(*rank_.trace, rank_.tree.nodes[first.node]),
                       Brackets::kList, row);
    add_spread(row, achieved.kernel_us);
    row.emplace_back(group.total_us);
    row.emplace_back(static_cast<std::int64_t>(group.instances.size()));
    row.emplace_back(static_cast<std::int64_t>(first_uid(group)));
    if (!architecture_) return row;
    row.push_back(achieved.roofline ? Cell{achieved.roofline->time_us} : Cell{});
    row.push_back(achieved.roofline ? Cell{std::string(achieved.roofline->bound)} : Cell{});
    add_spread(row, achieved.percent_of_roofline);
    return row;
  }

  void add_parameters(const OperatorInstance& instance, std::vector<Cell>& row) const {
    const std::vector<Parameter>& all = instance.estimate->parameters;
    for (const std::string& name : parameters_) {
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == name; });
      if (found != all.end())
        row.push_back(parameter_cell(*found));
      else
        row.push_back(rank_.options.compat == Compat::kTraceLens ? Cell{"nan"} : Cell{});
    }
  }

  static Cell parameter_cell(const Parameter& parameter) {
    if (const auto* integer = std::get_if<std::int64_t>(&parameter.value.value)) return *integer;
    if (const auto* real = std::get_if<double>(&parameter.value.value)) return *real;
    if (const std::string* text = parameter.value.text()) return *text;
    return python_repr(parameter.value, parameter.brackets);
  }

  void add_kernels(const RooflineGroup& group, std::vector<Cell>& row) {
    std::vector<GpuWorkList> lists;
    for (const OperatorInstance* instance : group.instances)
      if (!instance->gpu_events.empty()) lists.emplace_back(instance->gpu_events);
    KernelDetails details = kernel_details(rank_, lists);
    left_out_ += details.left_out;
    row.emplace_back(lists.empty() ? "[]" : std::move(details.full));
    row.push_back(text_cell(details.truncated));
  }

  const RankAnalysis& rank_;
  const std::optional<GpuArchitecture>& architecture_;
  std::vector<RooflineGroup> groups_;
  std::map<std::pair<const Estimate*, bool>, std::size_t> group_of_estimate_;
  std::map<std::string, std::size_t> group_of_key_;
  std::vector<std::string> parameters_;  // in order of first appearance
  std::int64_t left_out_ = 0;
};

std::vector<Table> build_roofline(const RankAnalysis& rank) {
  Estimates estimates(rank);
  const RooflineSheets sheets = roofline_sheets(rank, estimates);
  const std::optional<GpuArchitecture> architecture = architecture_of(rank);
  std::vector<Table> tables;
  for (const std::string_view family : kSheetOrder) {
    for (const char* suffix : {"", "_fwd", "_bwd"}) {
      const auto sheet = sheets.find(std::string(family) + suffix);
      if (sheet == sheets.end()) continue;
      tables.push_back(RooflineTable(rank, architecture).build(sheet->first, sheet->second));
    }
  }
  return tables;
}

const SheetSpec kRoofline{.name = "roofline", .position = 600, .build = build_roofline};
ASSAY_REGISTER(SheetSpec, kRoofline);

}  // namespace
}  // namespace assay::trace
