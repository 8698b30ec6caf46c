// What a thread block of NCCL needs to work on the data of a slice: from NPKit's summaries, from a
// file that `assay simulate fit` wrote, or the figures fitted on 8 H200 that come with assay.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/lowering.h"
#include "model/collective.h"

namespace assay::goal {

// Which of several measurements of a size counts.
struct CostChoice {
  enum class Kind { kMean, kQuantile, kSample };
  Kind kind = Kind::kMean;
  double quantile = 0.5;   // kQuantile
  std::uint64_t seed = 0;  // kSample: each slice draws its own quantile, the same in every run
};

// Duration by size; straight lines between the sizes and past the largest.
class CostCurve {
 public:
  struct Point {
    double bytes = 0;
    double mean_ns = 0;
    std::vector<double> sorted_ns = {};
  };

  CostCurve() = default;
  // By size, at least one.
  explicit CostCurve(std::vector<Point> points);
  static CostCurve line(double latency_ns, double ns_per_byte);

  // `draw` identifies the slice for kSample.
  [[nodiscard]] std::uint64_t duration_ns(std::uint64_t bytes,
                                          const CostChoice& choice,
                                          std::uint64_t draw) const;

  [[nodiscard]] bool empty() const { return points_.empty(); }

  // By size.
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

struct Costs {
  std::string source;  // for people
  // From the start of a kernel to its first step and from its last to its end.
  std::uint64_t launch_ns = 0;
  CostChoice choice;
  // By protocol (LL, LL128, SIMPLE), then by Work.
  std::array<std::array<CostCurve, 3>, 3> curves;

  [[nodiscard]] std::uint64_t duration_ns(model::NcclProtocol protocol,
                                          Work work,
                                          std::uint64_t bytes,
                                          std::uint64_t draw) const {
    const auto row = static_cast<std::size_t>(protocol) % curves.size();
    return curves[row][static_cast<std::size_t>(work)].duration_ns(bytes, choice, draw);
  }
};

// A straight line for one kind of work with one protocol.
struct LineCost {
  double latency_ns = 0;
  double ns_per_byte = 0;
};

// What `assay simulate fit` finds.
struct LineCosts {
  double launch_ns = 0;
  // By protocol, then by Work.
  std::array<std::array<LineCost, 3>, 3> lines;
};

// Fitted on 8 H200 with NVLink, NCCL 2.28.
const LineCosts& default_costs();
Costs costs_from_lines(const LineCosts& lines, std::string source);

// NPKit's npkit_data_summary_{Simple,LL}.json: {event: {bytes: [ns, …]}}. Either may be missing;
// LL128 takes LL's figures. Errors name the file and what it lacks.
core::Result<Costs> read_npkit(const std::optional<std::filesystem::path>& simple,
                               const std::optional<std::filesystem::path>& ll);

// The "costs" of a parameter file:
//   {"launch_ns": …, "SIMPLE": {"copy": {"latency_ns": …, "ns_per_byte": …}, "reduce": …,
//    "reduce_copy": …}, "LL": …, "LL128": …}
core::Result<LineCosts> read_line_costs(const std::filesystem::path& file);

// That object as JSON, indented by two for a file of several.
std::string line_costs_json(const LineCosts& costs);

}  // namespace assay::goal
