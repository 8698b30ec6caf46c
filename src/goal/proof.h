// Proves a schedule while it is written, rank by rank, without keeping it: what `assay goal check`
// proves of a file, at a few nanoseconds an operation.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "model/schedule_writer.h"

namespace assay::goal {

// Passes ranks on to another sink. Sends and receives are compared as multisets of (source,
// destination, tag, size) by two independent 64-bit sums of hashes; a schedule that does not match
// passes with a probability of 2^-128.
class Proof final : public model::RankSink {
 public:
  explicit Proof(model::RankSink& next) : next_(next) {}

  // Fails on a circle of dependencies or a broken limit of the binary form.
  core::Status append(const model::RankImage& rank) override;

  // After the last rank: whether each send has its receive.
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

}  // namespace assay::goal
