// How well the graphs stand for what NCCL did: every kind and size of operation simulated alone,
// beside the times that were measured.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/result.h"
#include "goal/costs.h"
#include "goal/tags.h"
#include "goal/unit.h"
#include "model/schedule.h"
#include "model/table.h"

namespace assay::goal {

// Links within a node and between nodes.
struct Links {
  model::LogGops intra;
  model::LogGops inter;
};

// NVLink as fitted on H200, and between nodes the figures that ATLAHS uses for AI clusters.
const Links& default_links();

// Runs a schedule; rank r is on node node_of_rank[r]. The time of its last operation, in ns. May be
// called from several threads.
using Simulate =
    std::function<core::Result<std::int64_t>(const model::Schedule& schedule,
                                             const std::vector<std::uint32_t>& node_of_rank,
                                             const Links& links)>;

// A unit that is expanded and simulated again and again under changing parameters.
class UnitModel {
 public:
  // GPUs start as they did in the occurrence of the median time: what a GPU has to do may be done
  // before another one starts.
  static core::Result<UnitModel> make(Unit unit);

  // From the last GPU's start to the last one's end.
  core::Result<std::int64_t> simulated_ns(const Costs& costs,
                                          const Links& links,
                                          const Simulate& simulate) const;

  [[nodiscard]] const Unit& unit() const { return *unit_; }

  [[nodiscard]] double measured_median_ns() const { return measured_median_ns_; }

 private:
  std::unique_ptr<const Unit> unit_;  // which resolved_ refers to
  Resolved resolved_;
  TagPlan tags_;
  std::vector<std::uint32_t> node_of_rank_;
  double measured_median_ns_ = 0;
  std::int64_t last_offset_ns_ = 0;
};

core::Result<std::vector<UnitModel>> unit_models(std::vector<Unit> units);

// Tables "errors" (by function, algorithm and protocol), "operations" (each kind and size) and
// "measured" (the spread of those that were seen several times).
core::Result<model::Book> validate(const std::vector<UnitModel>& units,
                                   const Costs& costs,
                                   const Links& links,
                                   const Simulate& simulate,
                                   unsigned threads);

// The median of |error| over all kinds and sizes, in percent, of that book.
double median_error_percent(const model::Book& book);

}  // namespace assay::goal
