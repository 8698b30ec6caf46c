// Makes files for NCCL's tuner plugins from measurements in which NCCL was told to use one
// algorithm, protocol and number of channels after another.
//
// The rows are those of NCCL's example plugin (plugins/tuner/example, formerly ext-tuner/example,
// in NCCL 2.27 to 2.30):
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks
// and two more that may be left out, numPipeOps and regBuff. Both sizes are inclusive, and the
// first row that matches counts. Two properties of the example plugin limit what may be written for
// it:
//   - It takes a word that it does not know for ring or simple, so there is no "default".
//   - It answers "one channel" to every call for which no row names channels: because the row says
//     -1, because no row matches, or because the call is another collective.
// Our own plugin (allreduce/tuner) has neither, so its file has only rows that are worth having.
#pragma once

#include <span>
#include <string>

#include "allreduce/nccl_csv.h"
#include "allreduce/nccl_setting.h"

namespace assay::allreduce {

struct NcclTunerFacts {
  int sm_version = 0;
  std::string provenance = {};  // one line
  // As size grows, a setting is kept until another is faster by more than this fraction, and a lead
  // over NCCL's own choice counts when it is larger.
  double tie = 0.02;
  std::string gpu = {};   // what the measurements were made on; "" if unknown
  std::string nccl = {};  // the version, such as 2.28.3
};

// Returns the file for the example plugin: for each collective and number of ranks, ranges of sizes
// that cover all sizes, with the fastest setting in each, as CUDA graphs have it. NCCL's own choice
// counts by what it ran. Borders lie at the geometric mean of neighbouring measured sizes. Without
// timings the file has only comments.
std::string nccl_tuner_config(std::span<const NcclMeasurement> timings,
                              const NcclTunerFacts& facts);

// Returns the file for our plugin: only ranges around measured sizes at which a setting beats
// NCCL's own choice by more than the tie, with 95 % intervals apart, and never beyond the sizes
// measured. They go on to the middle of the way to a size at which another choice is made only
// where the setting, as NCCL carries it out there, is no slower than NCCL's own choice. Rows from
// CUDA graphs are for registered buffers, which NCCL makes of every buffer in a graph, and rows
// from eager calls for others.
std::string assay_tuner_config(std::span<const NcclMeasurement> timings,
                               const NcclTunerFacts& facts);

}  // namespace assay::allreduce
