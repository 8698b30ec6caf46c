// Figures of a benchmark: the three of TensorRT-LLM's all-reduce tools, under the same names, and
// our own.
//
// The extension of a path selects the format, .png or .svg; without one, .png is added. The file
// appears only when it is complete. Errors of all functions: no timed measurement of the fusion
// (the message names the fusions that have times), several TP sizes, data types or ways to launch
// in one benchmark, gnuplot is not installed, the file cannot be written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "allreduce/plot/chooser.h"
#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

// Draws a heat map of times for each strategy, side by side. Hidden sizes descend from the top,
// token counts ascend from the left, and one logarithmic colour bar in microseconds applies to all.
core::Status visualize_2d_heatmap(const Benchmark& benchmark,
                                  Fusion fusion,
                                  const std::filesystem::path& save_path);

// A row of the table of best strategies: the fastest strategy of a cell, not counting AUTO.
struct BestStrategy {
  std::int64_t num_tokens = 0;
  std::int64_t hidden_size = 0;
  Strategy best_strategy = Strategy::kNccl;
  double best_time_us = kUnknown;
};

// Draws the fastest strategy of each cell and the number of cells that each strategy wins. Returns
// one row for each cell with a time, by ascending hidden size and then ascending token count.
core::Result<std::vector<BestStrategy>> visualize_2d_best_strategy(
    const Benchmark& benchmark, Fusion fusion, const std::filesystem::path& save_path);

// Draws how much slower each strategy is than the fastest, in percent, in every cell. AUTO is drawn
// but is never the reference, so it may be below 0.
core::Status visualize_strategy_difference_heatmaps(const Benchmark& benchmark,
                                                    Fusion fusion,
                                                    const std::filesystem::path& save_path);

// Draws time over message size with a line for each strategy: the median of the shapes of one size,
// and a band from their lowest to their highest end of an interval. For SM 90 it also draws the
// shortest times that the links allow.
core::Status visualize_latency(const Benchmark& benchmark,
                               Fusion fusion,
                               const std::filesystem::path& save_path);

// Draws how much slower each choice is than the fastest strategy, in percent, in every cell.
core::Status visualize_regret(const Benchmark& benchmark,
                              Fusion fusion,
                              const std::vector<Chooser>& choices,
                              const std::filesystem::path& save_path);

// Draws where two choices differ and what the second costs relative to the first, in percent.
core::Status visualize_choice_difference(const Benchmark& benchmark,
                                         Fusion fusion,
                                         const Chooser& first,
                                         const Chooser& second,
                                         const std::filesystem::path& save_path);

}  // namespace assay::allreduce
