/* The three figures of an all-reduce benchmark as functions, those that `assay allreduce plot`
 * draws. C99; part of libassay, like assay/assay.h, whose rules for errors, threads and results
 * hold here, too.
 *
 *   assay_visualize_2d_heatmap("data/benchmark.tp2.sm90.csv", "NONE", "heatmap.png", NULL);
 */
#ifndef ASSAY_FIGURES_H
#define ASSAY_FIGURES_H

#include <assay/assay.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#  pragma GCC visibility push(default)
#endif

/* Of all functions:
 *
 * `benchmark` is a CSV file as `assay allreduce bench` or TensorRT-LLM's microbenchmark writes it,
 * of one TP size, data type and way to launch. Its name says the SM version where it has the form
 * benchmark.tp2.sm90.csv; another name will do. It is not changed.
 *
 * `fusion_op` is "NONE", "RESIDUAL_RMS_NORM", "RESIDUAL_RMS_NORM_QUANT_FP8" or
 * "RESIDUAL_RMS_NORM_QUANT_NVFP4"; null is "NONE".
 *
 * `save_path` is a .png or .svg; without an ending, .png is added. Its folder must be there. The
 * file appears only when it is whole.
 *
 * `result` may be null. Its messages tell which rows were left out. It is to be freed, and null
 * only where memory ran out.
 *
 * ASSAY_WRONG_USAGE: benchmark or save_path is null, there is no such fusion. ASSAY_FAILED: the
 * file cannot be read or has no time of the fusion (the error names those that it has), several TP
 * sizes, data types or ways to launch, gnuplot is not installed, the figure cannot be written. */

/* Times: a map for each strategy side by side, hidden sizes over token counts, with one logarithmic
 * colour bar in microseconds for all. */
int assay_visualize_2d_heatmap(const char* benchmark,
                               const char* fusion_op,
                               const char* save_path,
                               assay_result** result);

/* The fastest strategy of each cell, never AUTO, and how many cells each wins. The result has the
 * table "best_strategy", a row for each cell with a time, by ascending hidden_size and then
 * num_tokens: num_tokens, hidden_size, best_strategy, best_time (us). */
int assay_visualize_2d_best_strategy(const char* benchmark,
                                     const char* fusion_op,
                                     const char* save_path,
                                     assay_result** result);

/* How much slower each strategy is than the fastest, in percent, written into every cell. AUTO is
 * drawn but is never the reference, so that it may be below 0. */
int assay_visualize_strategy_difference_heatmaps(const char* benchmark,
                                                 const char* fusion_op,
                                                 const char* save_path,
                                                 assay_result** result);

#if defined(__GNUC__)
#  pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_FIGURES_H */
