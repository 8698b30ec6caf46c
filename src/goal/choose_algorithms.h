// Gives the communicators of an enlarged job the algorithms, protocols and channels that NCCL would
// choose at their new size (model/nccl_choice.h).
#pragma once

#include <cstdint>
#include <vector>

#include "model/job.h"
#include "model/nccl_choice.h"
#include "model/table.h"

namespace assay::goal {

struct ChoiceOptions {
  bool keep = false;     // keep what was recorded
  double nic_gbps = 50;  // of each GPU's network card, one direction, 1e9 bytes per second
};

struct Chosen {
  model::NcclAlgorithm algorithm = model::NcclAlgorithm::kNone;
  model::NcclProtocol protocol = model::NcclProtocol::kNone;
  std::uint32_t channels = 0;

  auto operator<=>(const Chosen&) const = default;
};

// A choice that all operations of one kind share; an operation counts once for all of its ranks.
struct NewChoice {
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::uint64_t bytes = 0;  // as in Operation
  std::uint32_t num_ranks = 0;
  Chosen recorded;
  Chosen chosen;
  std::uint64_t operations = 0;
};

// Chooses for the collectives of the communicators whose number of ranks is not the one in
// `recorded`, and gives those communicators as many rings and trees as NCCL would make. NVLS and
// CollNet are taken to exist where the recording used them, and GPUs to be of Hopper's generation,
// since recordings do not tell. Returns the kinds of operations that changed.
std::vector<NewChoice> choose_algorithms(const model::Job& recorded,
                                         const ChoiceOptions& options,
                                         model::Job& scaled);

// Returns the table "choices".
model::Table choices_table(const std::vector<NewChoice>& choices);

}  // namespace assay::goal
