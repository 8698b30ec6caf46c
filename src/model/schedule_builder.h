// Makes one rank's graph of a GOAL schedule, operation by operation.
#pragma once

#include <cstdint>
#include <vector>

#include "model/schedule.h"

namespace assay::model {

// Where an operation runs.
struct Place {
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
};

class RankBuilder {
 public:
  // Each returns the operation's number, from 0.
  std::uint32_t send(std::uint64_t size_bytes, std::uint32_t peer, std::uint32_t tag, Place place);
  std::uint32_t receive(std::uint64_t size_bytes,
                        std::uint32_t peer,
                        std::uint32_t tag,
                        Place place);
  std::uint32_t calc(std::uint64_t duration_ns, Place place);

  // `op` starts after `before` has ended, or has started.
  void require_finish(std::uint32_t op, std::uint32_t before) { finish_.push_back({before, op}); }

  void require_start(std::uint32_t op, std::uint32_t before) { start_.push_back({before, op}); }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }

  // The rank's bytes; the builder is empty afterwards and keeps its memory for the next rank.
  // `spent`, an image that is done with, gives its memory: fresh memory for each rank would cost
  // more than filling it.
  RankImage finish(RankImage spent = {});

 private:
  struct Edge {
    std::uint32_t before;
    std::uint32_t after;
  };

  std::uint32_t add(const ScheduleOp& op);
  void count_edges();
  void number_dependents();
  void place_dependents(PackedIndex* dependents);

  std::vector<ScheduleOp> ops_;
  std::vector<Edge> finish_;
  std::vector<Edge> start_;
  std::vector<std::uint32_t> next_;
  RankImage image_;
};

}  // namespace assay::model
