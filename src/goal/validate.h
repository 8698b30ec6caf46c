// Compares simulated with measured times, and fits costs and links to them. The stages, each of
// which takes the value of the one before:
//
//   recordings ─ read_job, resolve ─▶ exchanges ─ find_units ─▶ units ─ unit_models ─▶ models
//   ─ validate ─▶ tables, or ─ fit ─▶ costs and links
//
// A unit is the set of operations of a job that must have run at the same time: one collective, or
// the launches that a chain of sends and receives connects. Each unit is a small job of its own,
// which is simulated alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/costs.h"
#include "goal/input.h"
#include "goal/resolve.h"
#include "goal/tags.h"
#include "model/job.h"
#include "model/schedule.h"
#include "model/table.h"

namespace assay::goal {

// One time at which a unit ran.
struct Occurrence {
  std::int64_t measured_ns = 0;  // from the start of the last GPU to the end of the last one
  std::vector<std::int64_t> start_offset_ns;  // by GPU: its start, after the start of the first GPU
};

struct Unit {
  std::string function;  // "AllReduce", "SendRecv"; "AllGather + …" for a group of several
  model::NcclAlgorithm algorithm = model::NcclAlgorithm::kNone;
  model::NcclProtocol protocol = model::NcclProtocol::kNone;
  std::uint64_t bytes = 0;  // Operation::bytes of one GPU, summed over the operations of a group
  std::uint32_t num_gpus = 0;
  std::uint32_t num_nodes = 0;
  std::uint32_t num_channels = 0;  // the most channels of an operation
  std::vector<Occurrence> occurrences;
  model::Job job;  // only its operations, with start_ns 0
};

// A unit that was seen several times has several occurrences. Where its GPUs do not share a clock,
// the measured time is that of the shortest kernel and the offsets are 0.
std::vector<Unit> find_units(const Resolved& resolved);

// Returns the occurrence whose time is the (lower) median.
const Occurrence& median_occurrence(const Unit& unit);

// The links within a node and between nodes.
struct Links {
  model::LogGops intra;
  model::LogGops inter;
};

// NVLink as fitted on H200; between nodes the figures that ATLAHS uses for AI clusters.
const Links& default_links();

// Runs a schedule in which rank r is on node node_of_rank[r], and returns the end of its last
// operation in ns. May be called from several threads.
using Simulate =
    std::function<core::Result<std::int64_t>(const model::Schedule& schedule,
                                             const std::vector<std::uint32_t>& node_of_rank,
                                             const Links& links)>;

// A unit that is expanded and simulated repeatedly under changing parameters.
class UnitModel {
 public:
  // GPUs start as they did in the occurrence with the median time, because a GPU may do some of its
  // work before another one starts.
  static core::Result<UnitModel> make(Unit unit);

  // Returns the time from the start of the last GPU to the end of the last one.
  core::Result<std::int64_t> simulated_ns(const Costs& costs,
                                          const Links& links,
                                          const Simulate& simulate) const;

  [[nodiscard]] const Unit& unit() const { return *unit_; }

  [[nodiscard]] double measured_median_ns() const { return measured_median_ns_; }

 private:
  std::unique_ptr<const Unit> unit_;  // referred to by resolved_
  Resolved resolved_;
  TagPlan tags_;
  std::vector<std::uint32_t> node_of_rank_;
  double measured_median_ns_ = 0;
  std::int64_t last_offset_ns_ = 0;
};

// Models of all units that have a measured time. Fails when none has one.
core::Result<std::vector<UnitModel>> unit_models(std::vector<Unit> units);

// The models of the operations of recordings. The first `skip` times of each unit are left out
// where there are more, because a first time is slow. Appends the warnings of each recording.
core::Result<std::vector<UnitModel>> measured_units(
    const std::vector<std::filesystem::path>& recordings,
    const InputOptions& options,
    std::size_t skip,
    std::vector<model::Warnings>& warnings);

// Returns the tables "errors" (by function, algorithm and protocol), "operations" (one row per kind
// and size) and "measured" (the spread of units that were seen several times).
core::Result<model::Book> validate(const std::vector<UnitModel>& units,
                                   const Costs& costs,
                                   const Links& links,
                                   const Simulate& simulate,
                                   unsigned threads);

// Returns the median of |error| over all kinds and sizes of that book, in percent.
double median_error_percent(const model::Book& book);

struct Fitted {
  LineCosts costs;
  Links links;
  double error_before = 0;  // weighted mean of |log(simulated / measured)|
  double error = 0;
  std::size_t simulations = 0;
};

// Finds the costs and links under which the simulated times come closest to the measured ones: a
// deterministic pattern search over the logarithms of the parameters that the units depend on. The
// others keep their first values.
core::Result<Fitted> fit(const std::vector<UnitModel>& units,
                         const LineCosts& costs,
                         const Links& links,
                         const Simulate& simulate,
                         unsigned threads);

}  // namespace assay::goal
