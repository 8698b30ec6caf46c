// Proves a schedule rank by rank while it is written, without keeping it. This proves what `assay
// goal check` proves of a file, at a few nanoseconds per operation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "goal/check.h"
#include "model/schedule.h"
#include "model/schedule_writer.h"

namespace assay::goal {

// Passes ranks on to another sink. Sends and receives are compared as multisets of (source,
// destination, tag, size) by two independent 64-bit sums of hashes; a schedule that does not match
// passes with a probability of 2^-128.
class Proof final : public model::RankSink {
 public:
  explicit Proof(model::RankSink& next) : next_(next) {}

  // Fails when operations wait for each other in a circle or a limit of the binary form is
  // exceeded.
  core::Status append(const model::RankImage& rank) override;

  // Call it after the last rank. Fails unless each send has its receive.
  [[nodiscard]] core::Status finish() const;

  [[nodiscard]] std::uint64_t messages() const { return sends_; }

 private:
  core::Status add(const model::RankView& view);
  void add_message(const model::ScheduleOp& op);

  model::RankSink& next_;
  std::uint32_t rank_ = 0;
  std::uint64_t sends_ = 0;
  std::uint64_t receives_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t other_sum_ = 0;
};

// Returns one circle, in which each operation waits for the one before it and the first for the
// last; empty when there is none.
std::vector<std::uint32_t> find_cycle(const model::RankView& rank);

void check_cycles(const model::Schedule& schedule, Findings& findings);

}  // namespace assay::goal
