// Merges several schedules into one: jobs that run at the same time on one machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/schedule.h"
#include "model/schedule_writer.h"

namespace assay::goal {

struct MergeJob {
  std::string name;  // for messages
  model::Schedule schedule;
  // The place of each of its ranks. Empty: after the last rank used so far, in order.
  std::vector<std::uint32_t> places = {};
  double time_unit_ns = 1;              // calculations are counted in this
  std::string made_for = "assay";       // as ScheduleNotes has it
  double nic_gbps = 0;                  // as ScheduleNotes has it
  std::vector<std::string> nodes = {};  // of each of its ranks; empty where nothing tells
};

struct PlacedJob {
  std::vector<std::uint32_t> places;
  // Empty, or all its tags, of which each is replaced by its index.
  std::vector<std::uint32_t> tags = {};
  std::uint32_t tag_offset = 0;  // added to its tags, or to the indices
  std::uint64_t ambiguous = 0;   // receives that take any tag on a rank that another job uses, too
};

// Jobs that share a rank run there side by side: each has its own cpus and its own tags, while the
// nics are shared. A rank without any job has no operations.
class Merge {
 public:
  // Fails when a job names too few or too many places or one place twice, when jobs count time in
  // different units, and when the cpus or tags of jobs that share a rank exceed the limits of the
  // format. Tags are numbered anew only where moving them would exceed it.
  static core::Result<Merge> plan(std::vector<MergeJob> jobs);

  [[nodiscard]] std::uint32_t num_ranks() const {
    return static_cast<std::uint32_t>(parts_.size());
  }

  // The placed jobs, in the order in which the jobs were given.
  [[nodiscard]] const std::vector<PlacedJob>& placed() const { return placed_; }

  // Calculations of all jobs are counted in this.
  [[nodiscard]] double time_unit_ns() const { return jobs_.empty() ? 1 : jobs_[0].time_unit_ns; }

  // The simulator that all jobs were made for, or else ours.
  [[nodiscard]] std::string made_for() const;

  // The NICs for which the algorithms were chosen, of the jobs whose notes tell; 0 where none does.
  // Fails where two tell different ones.
  [[nodiscard]] core::Result<double> nic_gbps() const;

  // The node of each rank, counted from 0; empty where no job tells. Ranks are on one node where a
  // job has them on one, so that jobs on different ranks have different nodes, and one that nothing
  // is known of is a node of its own. Fails where two nodes of a job would be one.
  [[nodiscard]] core::Result<std::vector<std::uint32_t>> nodes() const;

  core::Status write(model::RankSink& ranks) const;

 private:
  // A rank of a job at the place where it goes.
  struct Part {
    std::uint32_t job = 0;
    std::uint32_t rank = 0;
    unsigned first_cpu = 0;
  };

  explicit Merge(std::vector<MergeJob> jobs) : jobs_(std::move(jobs)) {}

  core::Status check_units() const;
  core::Status place(std::uint32_t job);
  core::Status separate_cpus();
  core::Status separate_tags();
  bool move_tags(const std::vector<std::uint64_t>& counts);
  bool shares_ranks(std::uint32_t job) const;
  void count_ambiguous();

  std::vector<MergeJob> jobs_;
  std::vector<PlacedJob> placed_;
  std::vector<std::vector<Part>> parts_;  // by rank of the merged schedule
};

// Reads "0-3,8,10" as 0, 1, 2, 3, 8, 10.
core::Result<std::vector<std::uint32_t>> parse_places(const std::string& text);

}  // namespace assay::goal
