#include "cli/nccl_curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "model/collective.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

using CurveKey = std::pair<model::NcclFunction, int>;  // and ranks

double element_bytes(const std::string& dtype) {
  if (dtype == "half" || dtype == "bfloat16") return 2;
  return dtype == "int8" ? 1 : 0;
}

// The rows of nccl_perf, by column.
class NcclRows {
 public:
  explicit NcclRows(const store::Frame& frame)
      : functions_(texts(frame, "op_name")),
        types_(texts(frame, "nccl_dtype")),
        ranks_(frame.find("num_gpus")),
        elements_(frame.find("message_size")),
        latencies_(frame.find("latency")),
        count_(ranks_ == nullptr || elements_ == nullptr || latencies_ == nullptr
                   ? 0
                   : frame.num_rows()) {}

  // Adds the row to its curve, if it is one that can be drawn.
  void add_to(std::map<CurveKey, trace::NcclCurve>& curves, std::size_t row) const {
    if (functions_.codes.empty() || types_.codes.empty()) return;
    const auto function = model::nccl_function_of_table(functions_.words[functions_.codes[row]]);
    const double bytes =
        number_at(*elements_, row) * element_bytes(types_.words[types_.codes[row]]);
    const double seconds = number_at(*latencies_, row) / 1000;
    const int ranks = static_cast<int>(number_at(*ranks_, row));
    if (!function || !(bytes > 0) || !(seconds > 0)) return;
    trace::NcclCurve& curve = curves[{*function, ranks}];
    curve.function = *function;
    curve.ranks = ranks;
    curve.points.push_back(
        {.bytes = bytes, .bus_gbps = bytes / seconds / 1e9 * model::bus_factor(*function, ranks)});
  }

  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  static store::TextColumn texts(const store::Frame& frame, std::string_view name) {
    const store::FrameColumn* column = frame.find(name);
    return column == nullptr ? store::TextColumn() : as_text(*column);
  }

  store::TextColumn functions_;
  store::TextColumn types_;
  const store::FrameColumn* ranks_;
  const store::FrameColumn* elements_;
  const store::FrameColumn* latencies_;
  std::size_t count_;
};

core::Result<std::vector<trace::NcclCurve>> curves_of(const store::ShippedSystem& system,
                                                      const std::string& gpu_name) {
  std::map<CurveKey, trace::NcclCurve> curves;
  const store::Store opened = ASSAY_TRY(store::open_shipped(system));
  std::string source;
  for (const store::Content& content : ASSAY_TRY(opened.list())) {
    if (content.table != "nccl_perf" || content.device != gpu_name) continue;
    source = fmt::format("NCCL {} alone ({}, {})", content.version, system.name,
                         content.last_at.substr(0, 10));
  }
  if (source.empty()) return std::vector<trace::NcclCurve>();
  const store::Frame frame = ASSAY_TRY(opened.table({.table = "nccl_perf", .device = gpu_name},
                                                    store::Store::Columns::kWithStatistics));
  const NcclRows rows(frame);
  for (std::size_t row = 0; row < rows.size(); ++row)
    rows.add_to(curves, row);
  std::vector<trace::NcclCurve> result;
  for (auto& [key, curve] : curves) {
    std::sort(curve.points.begin(), curve.points.end(),
              [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    curve.source = source;
    result.push_back(std::move(curve));
  }
  return result;
}

}  // namespace

std::vector<trace::NcclCurve> nccl_curves(const std::string& gpu_name) {
  if (gpu_name.empty()) return {};
  for (const store::ShippedSystem& system : store::shipped_systems()) {
    auto curves = curves_of(system, gpu_name);
    if (curves.ok() && !curves.value().empty()) return std::move(curves.value());
  }
  return {};
}

}  // namespace assay::cli
