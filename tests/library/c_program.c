/* What a program in C does with libassay: asks a shipped database, by columns and by a surface,
 * runs a command, and looks all-reduces up in the folder of benchmark files that it is called with.
 * It prints how many answers it got and how fast. */
#include <assay/assay.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUESTIONS = 1000, CALLS = 1000000 };

static void expect(int is_so, const char* what) {
  if (is_so) return;
  fprintf(stderr, "not so: %s (%s)\n", what, assay_error());
  exit(1);
}

static size_t answered(const assay_result* result) {
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray batch;
  expect(assay_result_table(result, 0, &stream) == ASSAY_OK, "the result has a table");
  expect(stream.get_schema(&stream, &schema) == 0, "the stream has a schema");
  expect(stream.get_next(&stream, &batch) == 0, "the stream has a batch");
  stream.release(&stream);
  expect(strcmp(schema.children[0]->name, "latency") == 0, "latency comes first");
  expect(strcmp(schema.children[0]->format, "g") == 0, "latency is float64");
  const double* latency = (const double*)batch.children[0]->buffers[1];
  size_t count = 0;
  for (int64_t i = 0; i < batch.length; ++i)
    if (latency[i] > 0) ++count;
  batch.release(&batch);
  schema.release(&schema);
  return count;
}

static size_t ask_columns(assay_database* database) {
  static double m[QUESTIONS];
  for (int i = 0; i < QUESTIONS; ++i)
    m[i] = i + 1;
  const double weight[2] = {4096, 8192};
  const char* type = "fp8";
  const assay_column columns[] = {{"m", m, NULL, QUESTIONS},
                                  {"n", &weight[0], NULL, 1},
                                  {"k", &weight[1], NULL, 1},
                                  {"dtype", NULL, &type, 1}};
  const assay_questions questions = {sizeof questions, "gemm", columns, 4, 0};
  assay_result* result = NULL;
  expect(assay_database_query(database, &questions, NULL, &result) == ASSAY_OK, "it answers");
  const size_t count = answered(result);
  assay_result_free(result);
  return count;
}

/* Answers a second, over sizes that all differ. */
static double ask_surface(assay_database* database) {
  const double weight[2] = {4096, 8192};
  const char* type = "fp8";
  const assay_column columns[] = {
      {"n", &weight[0], NULL, 1}, {"k", &weight[1], NULL, 1}, {"dtype", NULL, &type, 1}};
  const assay_questions bound = {sizeof bound, "gemm", columns, 3, 0};
  const char* free_sizes[] = {"m"};
  assay_surface* surface = NULL;
  expect(assay_surface_bind(database, &bound, free_sizes, 1, &surface) == ASSAY_OK, "it binds");
  assay_database_close(database);
  double* sizes = malloc(2 * CALLS * sizeof(double));
  expect(sizes != NULL, "there is memory");
  for (int i = 0; i < CALLS; ++i)
    sizes[i] = 1 + i % 4000 + i / 4000 / 256.0;
  const clock_t start = clock();
  expect(assay_surface_ask(surface, sizes, CALLS, sizes + CALLS, NULL) == ASSAY_OK, "it answers");
  const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  for (int i = 0; i < CALLS; ++i)
    expect(sizes[CALLS + i] > 0, "a size has an answer");
  free(sizes);
  assay_surface_free(surface);
  return CALLS / seconds;
}

/* The strategies of two numbers of GPUs, of which one was not measured. */
static void look_up(const char* folder) {
  const double tp[] = {3, 4};
  const double sizes[] = {7168, 64};
  const char* options[] = {"--tie", "1%"};
  const assay_column columns[] = {
      {"tp", tp, NULL, 2}, {"hidden", &sizes[0], NULL, 1}, {"tokens", &sizes[1], NULL, 1}};
  const assay_questions questions = {sizeof questions, NULL, columns, 3, 0};
  assay_strategies* strategies = NULL;
  assay_result* result = NULL;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  expect(assay_strategies_open(folder, options, 2, &strategies) == ASSAY_OK, "the folder opens");
  expect(assay_strategies_lookup(strategies, &questions, NULL, &result) == ASSAY_OK, "it answers");
  assay_strategies_close(strategies);
  expect(assay_result_table(result, 0, &stream) == ASSAY_OK, "the result has a table");
  assay_result_free(result);
  expect(stream.get_next(&stream, &batch) == 0, "the stream has a batch");
  stream.release(&stream);
  expect(batch.length == 2, "each question has a row");
  batch.release(&batch);
}

int main(int argc, char** argv) {
  expect(argc == 2, "a folder of benchmark files is named");
  const char* words[] = {"store", "query", "gemm", "--m", "300", "--n", "4096", "--k", "4096"};
  assay_result* result = NULL;
  expect(assay_run(words, 9, NULL, &result) == ASSAY_OK, "the command runs");
  expect(assay_result_table_count(result) == 1, "the command gives a table");
  assay_result_free(result);
  look_up(argv[1]);
  assay_database* database = NULL;
  expect(assay_database_open("h200_sxm", &database) == ASSAY_OK, "the database opens");
  const size_t count = ask_columns(database);
  const double rate = ask_surface(database);
  printf("%zu answers; a surface answers %.1f million sizes a second\n", count, rate / 1e6);
  return 0;
}
