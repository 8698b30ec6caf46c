// The time that a thread block of NCCL needs to work on the data of a slice. The figures come from
// NPKit's summaries, from a file that `assay simulate fit` wrote, or from the fit on H200 that is
// part of assay.
#pragma once

#include <algorithm>
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

// Selects one of several measurements of a size.
struct CostChoice {
  enum class Kind { kMean, kQuantile, kSample };
  Kind kind = Kind::kMean;
  double quantile = 0.5;  // kQuantile
  // The seed for kSample: each slice draws a quantile of its own, the same in every run.
  std::uint64_t seed = 0;
};

// A duration as a function of the size: linear between the measured sizes and beyond the largest.
class CostCurve {
 public:
  struct Point {
    double bytes = 0;
    double mean_ns = 0;
    std::vector<double> sorted_ns = {};
  };

  CostCurve() = default;
  // Needs at least one point. Sorts them by size.
  explicit CostCurve(std::vector<Point> points);
  static CostCurve line(double latency_ns, double ns_per_byte);

  // `draw` identifies the slice for kSample.
  [[nodiscard]] std::uint64_t duration_ns(std::uint64_t bytes,
                                          const CostChoice& choice,
                                          std::uint64_t draw) const;

  [[nodiscard]] bool empty() const { return points_.empty(); }

  // Sorted by size.
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

// Returns a quantile of a size's measurements, or their mean where only that is known.
double quantile_of(const CostCurve::Point& point, double quantile);

using CostRow = std::array<CostCurve, kNumWorks>;  // the curves of one protocol, by Work

struct Costs {
  std::string source;  // describes the origin of the costs to the user
  // The time from the start of a kernel to its first step plus the time from its last step to its
  // end, by protocol.
  std::array<std::uint64_t, 3> launch_ns = {};
  CostChoice choice;
  // Indexed by protocol (LL, LL128, SIMPLE), then by Work.
  std::array<CostRow, 3> curves;
  // These are what a step of Step::two_way takes more, by protocol. An empty curve adds nothing.
  std::array<CostCurve, 3> two_way;

  [[nodiscard]] std::uint64_t launch_of(model::NcclProtocol protocol) const {
    return launch_ns[static_cast<std::size_t>(protocol) % launch_ns.size()];
  }

  // Returns what a step takes for its first slice, of so many bytes.
  [[nodiscard]] std::uint64_t duration_ns(model::NcclProtocol protocol,
                                          const Step& step,
                                          std::uint64_t bytes,
                                          std::uint64_t draw) const {
    const auto row = static_cast<std::size_t>(protocol) % curves.size();
    const CostCurve& curve = curves[row][static_cast<std::size_t>(step.work)];
    const std::uint64_t more = step.two_way ? two_way[row].duration_ns(bytes, choice, draw) : 0;
    return curve.duration_ns(bytes, choice, draw) + more;
  }

  // Returns what a step takes for a slice of so many bytes that follows another one. Where the
  // threads do not wait for each other in between, it is what the bytes alone take.
  [[nodiscard]] std::uint64_t following_ns(model::NcclProtocol protocol,
                                           const Step& step,
                                           bool waits,
                                           std::uint64_t bytes,
                                           std::uint64_t draw) const {
    const std::uint64_t all = duration_ns(protocol, step, bytes, draw);
    return waits ? all : all - std::min(all, duration_ns(protocol, step, 0, draw));
  }
};

// A linear cost for one kind of work and one protocol.
struct LineCost {
  double latency_ns = 0;
  double ns_per_byte = 0;
};

// The result of `assay simulate fit`.
struct LineCosts {
  std::array<double, 3> launch_ns = {};  // by protocol
  // Indexed by protocol, then by Work.
  std::array<std::array<LineCost, kNumWorks>, 3> lines;
  std::array<LineCost, 3> two_way = {};  // by protocol
};

// Fitted on H200 with NVLink and NCCL 2.28.
const LineCosts& default_costs();
inline constexpr const char* kDefaultCosts = "fitted on H200 with NVLink";

Costs costs_from_lines(const LineCosts& lines, std::string source);

// Reads NPKit's npkit_data_summary_Simple.json and npkit_data_summary_LL.json: {event: {bytes: [ns,
// …]}}. Either file may be absent, and its protocols then have the default costs, as the source
// says; LL128 takes the figures of LL. Errors name the file and what it lacks.
core::Result<Costs> read_npkit(const std::optional<std::filesystem::path>& simple,
                               const std::optional<std::filesystem::path>& ll);

// Reads one such file from its text; errors call it `name`.
core::Result<CostRow> parse_npkit(std::string_view text, const std::string& name);

// The "costs" of a parameter file:
//   {"SIMPLE": {"launch_ns": …, "copy": {"latency_ns": …, "ns_per_byte": …}, "reduce": …,
//    "reduce_copy": …, "self_copy": …, "two_way": …}, "LL": …, "LL128": …}
// A "launch_ns" beside the protocols is that of those which have none of their own.
core::Result<LineCosts> read_line_costs(const std::filesystem::path& file);

// The same for the text of a file, which errors call `file`.
core::Result<LineCosts> parse_line_costs(std::string_view text, const std::string& file);

// Returns that object as JSON, indented by two because it is a member of a larger file.
std::string line_costs_json(const LineCosts& costs);

}  // namespace assay::goal
