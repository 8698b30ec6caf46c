// Makes a job of the programs of a pipeline's stages: the GPUs of the smallest block of
// data-parallel replicas that the others repeat, their communicators, and every operation with the
// times that a step would have if each collective took what estimated_ns() says.
//
// GPUs are numbered as Megatron-LM numbers ranks: those that share tensors lie beside each other,
// then come replicas, then stages. A block has as many replicas as fill whole nodes and whole
// groups of experts, where such a number divides them; otherwise it has all.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "goal/synth/program.h"
#include "model/job.h"

namespace assay::goal {

struct JobGrid {
  std::uint32_t tp = 1;
  std::uint32_t stages = 1;
  std::uint32_t dp = 1;
  std::uint32_t ep = 1;  // divides dp
  std::uint32_t gpus_per_node = 8;

  // The replicas of a block.
  [[nodiscard]] std::uint32_t block_dp() const;

  // How often the block is repeated: ScaleOptions::replicas.
  [[nodiscard]] std::uint32_t repeats() const { return dp / block_dp(); }

  [[nodiscard]] std::uint64_t gpus() const { return std::uint64_t{tp} * stages * dp; }
};

// Error: more GPUs than a schedule or this computer holds.
core::Status check_grid(const JobGrid& grid);

struct AssembledJob {
  model::Job job;                 // of one block
  std::int64_t estimated_ns = 0;  // when the last operation ends
  std::int64_t busiest_ns = 0;    // computation of the stage that has most
  // By how much of that collectives beside it make it longer.
  std::int64_t busiest_held_ns = 0;
};

// One program for each stage. Computation beside collectives takes longer by the share of the GPU
// that their channels hold (held_share()) for as long as they run, by the rough times. Error:
// stages that wait for each other in a circle.
core::Result<AssembledJob> assemble(const std::vector<Program>& programs, const JobGrid& grid);

}  // namespace assay::goal
