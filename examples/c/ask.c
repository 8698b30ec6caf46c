/* Asks the shipped database of H200 how long products take, and prints what a command says. */
#include <assay/assay.h>
#include <stdio.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, assay_error());
  return 1;
}

/* The numbers of a column, which lie in the batch. */
static const double* numbers(const struct ArrowArray* batch, int64_t column) {
  return (const double*)batch->children[column]->buffers[1];
}

static int print_latencies(const assay_result* answers, const double* m) {
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  if (assay_result_table(answers, 0, &stream) != ASSAY_OK) return failed("answers");
  const int error = stream.get_next(&stream, &batch);
  stream.release(&stream);
  if (error != 0) return 1;
  for (int64_t i = 0; i < batch.length; ++i)
    printf("m = %4.0f: %.4f ms\n", m[i], numbers(&batch, 0)[i]); /* `latency` comes first */
  batch.release(&batch);
  return 0;
}

static int ask(assay_database* database) {
  const double m[] = {1, 64, 4096};
  const double n = 4096;
  const double k = 7168;
  const char* type = "fp8";
  const assay_column columns[] = {
      {"m", m, NULL, 3}, {"n", &n, NULL, 1}, {"k", &k, NULL, 1}, {"dtype", NULL, &type, 1}};
  const assay_questions questions = {sizeof questions, "gemm", columns, 4, 0};
  assay_result* answers = NULL;
  const int status = assay_database_query(database, &questions, NULL, &answers);
  const int wrong = status == ASSAY_OK ? print_latencies(answers, m) : failed("gemm");
  assay_result_free(answers);
  return wrong;
}

static int run(void) {
  const char* words[] = {"store", "list", "h200_sxm"};
  assay_result* result = NULL;
  const int status = assay_run(words, 3, NULL, &result);
  if (status == ASSAY_OK) {
    for (size_t i = 0; i < assay_result_table_count(result); ++i)
      printf("table %s\n", assay_result_table_name(result, i));
  }
  assay_result_free(result);
  return status == ASSAY_OK ? 0 : failed("store list");
}

int main(void) {
  assay_database* database = NULL;
  if (assay_database_open("h200_sxm", &database) != ASSAY_OK) return failed("h200_sxm");
  const int wrong = ask(database);
  assay_database_close(database);
  return wrong != 0 ? wrong : run();
}
