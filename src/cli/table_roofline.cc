#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "cli/options.h"
#include "cli/table_inputs.h"
#include "collect/plan/operator.h"
#include "store/systems/system_yaml.h"

namespace assay::cli {
namespace {

// Its times are differences of two kernels, which no roofline bounds.
constexpr const char* kDifferences = "computescale_perf";

std::string peak_problem(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign != 0 && sign != std::string::npos &&
      positive_number_problem(text.substr(sign + 1)).empty())
    return "";
  return "takes TYPE=TFLOPS as in bfloat16=989, not '" + text + "'";
}

const model::PerfValue* find_value(const std::vector<model::PerfField>& key,
                                   const std::string& column) {
  const auto found = std::find_if(key.begin(), key.end(), [&](const model::PerfField& field) {
    return field.column == column;
  });
  return found == key.end() ? nullptr : &found->value;
}

// The operator that measures rows with this key; null: unknown.
const collect::Operator* operator_of(const std::vector<const collect::Operator*>& candidates,
                                     const std::vector<model::PerfField>& key) {
  if (candidates.size() == 1) return candidates.front();
  const model::PerfValue* name = find_value(key, "op_name");
  for (const collect::Operator* one : candidates) {
    if (name != nullptr && *name == model::PerfValue(std::string(one->name))) return one;
  }
  return nullptr;
}

// Whether the value is of the kind that the axis has; a type must be one that we know.
bool suits(const collect::Axis& axis, const model::PerfValue& value) {
  if (axis.common.empty() || axis.common.front().index() != value.index()) return false;
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr || !axis.column.ends_with("dtype") ||
         collect::data_type_named(*text).has_value();
}

// How much faster than memory an L2 cache may be: A100's reads 5120 bytes a clock, 4.6 times its
// memory's bandwidth; those of later GPUs are nearer to theirs.
constexpr double kCacheSpeedup = 5;

// kMayHold: data that fit in the L2 cache may come from there.
enum class Cache { kHoldsNothing, kMayHold };

double bound_ms(const collect::Operator& of,
                const std::vector<model::PerfField>& key,
                const store::Peaks& peaks,
                Cache cache) {
  // Two products rather than the three of a gated layer.
  const model::PerfValue* kernel = find_value(key, "kernel_source");
  const auto* kernel_name = kernel == nullptr ? nullptr : std::get_if<std::string>(kernel);
  if (kernel_name != nullptr && kernel_name->find("nongated") != std::string::npos) return 0;
  std::vector<model::PerfValue> values;
  for (const collect::Axis& axis : of.axes) {
    const model::PerfValue* value = find_value(key, axis.column);
    // Tables from before sliding windows have no such column.
    if (value == nullptr && axis.column == "window_size") {
      values.emplace_back(std::int64_t{0});
      continue;
    }
    if (value == nullptr || !suits(axis, *value)) return 0;
    values.push_back(*value);
  }
  const collect::Cost cost = of.cost(collect::Case(of, std::move(values)));
  const bool is_held = cache == Cache::kMayHold && cost.bytes <= peaks.l2_bytes;
  return peaks.roofline_ms(is_held ? cost.bytes / kCacheSpeedup : cost.bytes, cost.flops,
                           collect::name_of(cost.type), cost.link_bytes);
}

}  // namespace

void add_roofline_options(App& app, RooflineInputs& inputs) {
  const char* group = "Roofline options";
  app.add_option("--system", inputs.system,
                 store::shipped_names().empty()
                     ? "peaks of the device: systems/NAME.yaml"
                     : "peaks of the device: systems/NAME.yaml, or a shipped system: " +
                           store::shipped_names())
      ->type_name("FILE")
      ->group(group);
  app.add_option("--mem-bw", inputs.memory_gb_per_s, "memory bandwidth in GB/s (1e9)")
      ->type_name("GB/S")
      ->check(positive_number_problem)
      ->group(group);
  app.add_option("--peak", inputs.peaks, "TFLOPS (1e12) of a data type; may be repeated")
      ->type_name("TYPE=TFLOPS")
      ->check(peak_problem)
      ->group(group);
}

core::Result<store::Rooflines> read_rooflines(const RooflineInputs& inputs,
                                              const TableInputs& rows,
                                              const std::string& table) {
  const store::ShippedSystem* shipped = inputs.system.empty() ? rows.shipped() : nullptr;
  const bool given = shipped != nullptr || !inputs.system.empty() || inputs.memory_gb_per_s > 0 ||
                     !inputs.peaks.empty();
  if (!given) return store::Rooflines();
  auto peaks = std::make_shared<store::Peaks>();
  if (!inputs.system.empty()) *peaks = ASSAY_TRY(store::peaks_of_system(inputs.system));
  if (shipped != nullptr) *peaks = ASSAY_TRY(store::peaks_of(*shipped));
  if (inputs.memory_gb_per_s > 0) peaks->memory_bytes_per_s = inputs.memory_gb_per_s * 1e9;
  for (const std::string& peak : inputs.peaks) {
    const std::size_t sign = peak.find('=');
    peaks->flops_per_s[peak.substr(0, sign)] = std::stod(peak.substr(sign + 1)) * 1e12;
  }
  std::vector<const collect::Operator*> candidates;
  for (const collect::Operator* one : collect::all_operators()) {
    if (one->table == table && table != kDifferences) candidates.push_back(one);
  }
  if (candidates.empty()) return store::Rooflines();
  const auto bound_with = [&](Cache cache) {
    return [peaks, candidates, cache](const std::vector<model::PerfField>& key) {
      const collect::Operator* one = operator_of(candidates, key);
      return one == nullptr ? 0 : bound_ms(*one, key, *peaks, cache);
    };
  };
  return store::Rooflines{.all = bound_with(Cache::kHoldsNothing),
                          .cached = bound_with(Cache::kMayHold)};
}

}  // namespace assay::cli
