// The file that libassay_nccl_tuner.so answers from. Its rows are those of NCCL's example tuner
// plugin, with the two optional fields:
//
//   collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
//   allreduce,65536,131071,ring,ll128,16,1,4,1,1
//
// Both sizes are inclusive, -1 stands for any number (as `channels`: NCCL chooses), and the first
// row that matches counts. A line that begins with # is a comment, but these say where the rows
// hold:
//
//   #! gpu NVIDIA H200
//   #! nccl 2.28
//
// It uses nothing but the C++ library, because the plugin, which other programs load, links nothing
// of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::allreduce {

// A number that matches every call, or leaves a choice to NCCL.
inline constexpr int kAny = -1;

struct TunerRow {
  int collective = 0;  // ncclFunc_t
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  int algorithm = 0;  // NCCL_ALGO_*
  int protocol = 0;   // NCCL_PROTO_*
  int channels = kAny;
  int nodes = kAny;
  int ranks = kAny;
  int operations = kAny;  // of a group, for each channel
  int registered = kAny;  // 1: both buffers are registered, or NCCL registers them for a graph

  bool operator==(const TunerRow&) const = default;
};

// What a call to NCCL is, as NCCL tells its tuner.
struct TunerCall {
  int collective = 0;
  std::uint64_t bytes = 0;
  int nodes = 1;
  int ranks = 1;
  int operations = 1;
  int registered = 0;
};

struct TunerFile {
  std::string gpu;   // the name of the GPU that the rows were measured on; "" holds for all
  std::string nccl;  // NCCL's version, such as 2.28; "" holds for all
  std::vector<TunerRow> rows;
  std::string problem;  // "line 3: ..." if the file is not good; then there is no row
};

inline constexpr std::size_t kMostTunerBytes = std::size_t{1} << 20U;

TunerFile parse_tuner_file(std::string_view text);

// Returns nullptr when no row matches.
const TunerRow* row_for(const std::vector<TunerRow>& rows, const TunerCall& call);

// The numbers and the words of the file that stand for them; kAny and "" where there is none.
int collective_number(std::string_view word);
int algorithm_number(std::string_view word);
int protocol_number(std::string_view word);

inline constexpr int kTree = 0;
inline constexpr int kRing = 1;

}  // namespace assay::allreduce
