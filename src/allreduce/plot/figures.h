// Figures of a benchmark: the three of TensorRT-LLM's all-reduce tools by their names, and ours.
//
// A path's extension says what is written, .png or .svg; without one, .png is added. The file
// appears when it is whole. Errors of all: no timed measurement of the fusion (the message names
// those that there are), several TPs, data types or ways to launch in one benchmark, gnuplot is
// not installed, the file cannot be written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

// A heat map of times for each strategy, side by side: hidden sizes descending from the top, token
// counts ascending from the left, one logarithmic colour bar in microseconds for all.
core::Status visualize_2d_heatmap(const Benchmark& benchmark,
                                  Fusion fusion,
                                  const std::filesystem::path& save_path);

// A row of the best table: the fastest strategy of a cell, AUTO left out.
struct BestStrategy {
  std::int64_t num_tokens = 0;
  std::int64_t hidden_size = 0;
  Strategy best_strategy = Strategy::kNccl;
  double best_time_us = kUnknown;
};

// A map of the fastest strategy of each cell, with how many cells each one wins. Returns what it
// shows: hidden sizes ascending, within each the token counts ascending, cells with a time only.
core::Result<std::vector<BestStrategy>> visualize_2d_best_strategy(
    const Benchmark& benchmark, Fusion fusion, const std::filesystem::path& save_path);

// For each strategy how much slower than the fastest it is, in percent, in every cell. AUTO is
// drawn but never the reference: it may be below 0.
core::Status visualize_strategy_difference_heatmaps(const Benchmark& benchmark,
                                                    Fusion fusion,
                                                    const std::filesystem::path& save_path);

// Time over message size, a line a strategy: the median of the shapes of one size, the band from
// their lowest to their highest 95 % limit; and what the links allow at least (SM 90 only).
core::Status visualize_latency(const Benchmark& benchmark,
                               Fusion fusion,
                               const std::filesystem::path& save_path);

// How much slower than the fastest each choice is, in percent, in every cell.
core::Status visualize_regret(const Benchmark& benchmark,
                              Fusion fusion,
                              const std::vector<Chooser>& choices,
                              const std::filesystem::path& save_path);

// Where two choices differ and what the second costs beside the first, in percent.
core::Status visualize_choice_difference(const Benchmark& benchmark,
                                         Fusion fusion,
                                         const Chooser& first,
                                         const Chooser& second,
                                         const std::filesystem::path& save_path);

}  // namespace assay::allreduce
