// This is the rule by which the threads of a fused kernel are divided over the rows of a message.
// The launches (strategies/) read it here. It knows no CUDA.
#pragma once

#include <cstdint>

namespace assay::allreduce {

inline constexpr int kWarpThreads = 32;
inline constexpr int kMaxCluster = 8;

// Elements that share a scale: of NVFP4, and of FP8 in groups.
inline constexpr int kNvfp4Group = 16;
inline constexpr int kFp8Group = 128;

template <class Integer>
constexpr Integer divide_up(Integer value, Integer by) {
  return (value + by - 1) / by;
}

// Returns the 16-byte vectors of a rank's slice of a row. They are whole quantisation groups, so
// that the threads of a group are neighbours in every slice.
constexpr int slice_vectors(int row_vectors, int world_size, int group_vectors) {
  return divide_up(divide_up(row_vectors, world_size), group_vectors) * group_vectors;
}

// Returns the threads that work on `vectors` vectors of a row in one block: whole warps, or a part
// of a warp that is a power of two.
constexpr int threads_of_row(int vectors) {
  if (vectors > kWarpThreads) return divide_up(vectors, kWarpThreads) * kWarpThreads;
  int power = 1;
  while (power < vectors)
    power *= 2;
  return power;
}

struct RowDivision {
  int cluster = 1;         // blocks that share a row
  int threads_of_row = 1;  // threads of one block
  int threads = 32;        // of a block; there are whole rows in it
};

// These are rows of `vectors` vectors each, for blocks of at most `most_of_block` threads.
struct RowsToDivide {
  std::int64_t count = 1;
  int vectors = 1;
  int most_of_block = 1024;
  int multiprocessors = 1;
  int asked_threads = 0;  // of a block, for experiments; 0: none asked for
  int asked_cluster = 0;  // blocks that share a row; 0: by cluster_of()'s rule
};

// Returns the blocks that hold a row.
constexpr int fewest_blocks(const RowsToDivide& rows) {
  int cluster = 1;
  while (divide_up(rows.vectors, cluster) > rows.most_of_block)
    cluster *= 2;
  return cluster;
}

// Several SMs share a long row, in blocks of 64 threads and more: each then sends, looks for and
// computes less. With many rows all SMs have enough to do without. Measured on 2 and 4 H200, with
// rows of 512 threads: 3.3 instead of 4.1 us for a row, 7.8 instead of 8.5 for 64, 13.9 instead
// of 13.2 for 128.
constexpr int cluster_of(const RowsToDivide& rows) {
  if (rows.asked_cluster != 0) return rows.asked_cluster;
  int cluster = fewest_blocks(rows);
  while (rows.asked_threads == 0 && rows.vectors > 256 && cluster < kMaxCluster &&
         rows.count * cluster * 2 <= 4 * rows.multiprocessors &&
         divide_up(rows.vectors, cluster * 2) >= 64)
    cluster *= 2;
  while (rows.asked_threads != 0 && cluster < kMaxCluster &&
         divide_up(rows.vectors, cluster) > rows.asked_threads)
    cluster *= 2;
  return cluster;
}

constexpr RowDivision divide_rows(const RowsToDivide& rows) {
  constexpr int kThreadsOfShortRows = 128;
  RowDivision division{.cluster = cluster_of(rows)};
  const int of_block = divide_up(rows.vectors, division.cluster);
  division.threads_of_row = threads_of_row(of_block);
  division.threads = kThreadsOfShortRows;
  if (of_block > kWarpThreads || division.cluster > 1) {
    division.threads_of_row = divide_up(of_block, kWarpThreads) * kWarpThreads;
    division.threads = division.threads_of_row;
  }
  return division;
}

// Chooses how many blocks share a row.
enum class RowBlocks {
  kByRows,  // more where rows are few: the rule of cluster_of(); the fewest where the GPU is better
            // filled so by rows that it does not hold at once
  kFewest,  // as few as hold it
  kFuller,  // by that rule, but two instead of one where the GPU does not hold all rows at once
            // and more of them with two; of rows of several blocks, the fewest with which the GPU
            // holds all
};

constexpr RowDivision divide_rows(RowsToDivide rows, int cluster) {
  rows.asked_cluster = cluster;
  return divide_rows(rows);
}

// Returns the rows in two blocks each where the GPU holds more of them so. If an SM has registers
// for 16 warps, a row of 192 vectors keeps 384 threads at work in blocks of 6 warps, and 480 in two
// blocks of 3 warps. Measured with many rows on 2 and 4 H200:
// two blocks take 0.88 to 0.98 of the time where more threads work; four instead of two took 1.2
// to 1.3.
template <class Held>
constexpr RowDivision fuller(const RowsToDivide& rows, const RowDivision& one, const Held& held) {
  const RowDivision two = divide_rows(rows, 2);
  return held(two) > held(one) ? two : one;
}

// Returns the rows in more blocks each where the GPU holds all of them at once only then. Measured
// on 2 H200: 200 rows of 336 vectors take 0.87 to 0.91 of the time in three blocks instead of two.
template <class Held>
constexpr RowDivision of_one_round(const RowsToDivide& rows,
                                   const RowDivision& fewest,
                                   const Held& held) {
  for (int cluster = fewest.cluster + 1; cluster <= kMaxCluster; ++cluster) {
    const RowDivision more = divide_rows(rows, cluster);
    if (rows.count <= held(more)) return more;
  }
  return fewest;
}

// Rows that the GPU does not hold at once come in rounds. Two even rounds of the fewest blocks take
// less than a full round of more blocks and a part of one, but more than a full round and a few
// rows. Measured on 2 H200 with rows of 640 vectors, of which the GPU holds 198 in two blocks each
// and 132 in one: one block takes 0.92 to 0.98 of the time with 256 rows, 1.09 to 1.11 with 200.
template <class Held>
constexpr RowDivision of_even_rounds(const RowsToDivide& rows,
                                     const RowDivision& more,
                                     const RowDivision& fewest,
                                     const Held& held) {
  const int of_more = held(more);
  const bool is_nearly_one_round = rows.count < of_more + of_more / 6;
  return is_nearly_one_round || of_more == held(fewest) ? more : fewest;
}

// The same for a launch. held(RowDivision) is the number of clusters that the GPU holds at once of
// its kernel.
template <class Held>
constexpr RowDivision divide_rows(const RowsToDivide& rows, RowBlocks blocks, const Held& held) {
  const RowDivision fewest = divide_rows(rows, fewest_blocks(rows));
  if (blocks == RowBlocks::kFewest) return fewest;
  const RowDivision division = divide_rows(rows);
  const bool is_row = division.threads == division.threads_of_row;
  if (rows.asked_threads != 0 || !is_row || rows.vectors <= 2 * kWarpThreads ||
      rows.count <= held(division))
    return division;
  if (blocks == RowBlocks::kByRows) return of_even_rounds(rows, division, fewest, held);
  return division.cluster == 1 ? fuller(rows, division, held) : of_one_round(rows, division, held);
}

}  // namespace assay::allreduce
