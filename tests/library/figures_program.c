/* What a program in C does with the figures of a benchmark: draws the three into a folder, and
 * counts the cells that have a best strategy.
 *
 * usage: figures_program BENCHMARK.csv FOLDER
 */
#include <assay/figures.h>
#include <stdio.h>

static void expect_ok(int status, const char* what) {
  if (status != ASSAY_OK) fprintf(stderr, "%s: %s\n", what, assay_error());
}

static long long rows_of(const assay_result* result) {
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  if (assay_result_table(result, 0, &stream) != ASSAY_OK) return -1;
  if (stream.get_next(&stream, &batch) != 0) return -1;
  const long long rows = (long long)batch.length;
  batch.release(&batch);
  stream.release(&stream);
  return rows;
}

int main(int argc, char** argv) {
  char path[4096];
  assay_result* result = NULL;
  if (argc != 3) return 2;
  snprintf(path, sizeof path, "%s/heatmap.png", argv[2]);
  expect_ok(assay_visualize_2d_heatmap(argv[1], NULL, path, NULL), "heatmap");
  snprintf(path, sizeof path, "%s/diff.png", argv[2]);
  expect_ok(assay_visualize_strategy_difference_heatmaps(argv[1], "NONE", path, NULL),
            "difference");
  snprintf(path, sizeof path, "%s/best_strategy.png", argv[2]);
  expect_ok(assay_visualize_2d_best_strategy(argv[1], "NONE", path, &result), "best strategy");
  printf("%lld cells have a best strategy\n", rows_of(result));
  assay_result_free(result);
  return 0;
}
