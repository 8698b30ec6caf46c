/* The C interface on a machine with or without GPUs: what it refuses, and what it says then. */
#include <assay/allreduce.h>
#include <stdio.h>
#include <string.h>

static int problems = 0;

static void expect(int is_so, const char* what) {
  if (is_so) return;
  ++problems;
  fprintf(stderr, "not so: %s; the last error is '%s'\n", what, assay_allreduce_error());
}

/* One line that names what is wrong. */
static int error_says(const char* part) {
  const char* text = assay_allreduce_error();
  return strstr(text, part) != NULL && strchr(text, '\n') == NULL;
}

static void null_communicators(void) {
  assay_allreduce_handle handle;
  assay_allreduce_call call;
  assay_allreduce_strategy strategy;
  assay_allreduce_explanation explanation = {.size = sizeof explanation};
  void* buffer = NULL;
  memset(&handle, 0, sizeof handle);
  memset(&call, 0, sizeof call);
  call.size = sizeof call;

  expect(assay_allreduce_create(0, 2, NULL, NULL) == ASSAY_ALLREDUCE_INVALID, "create to null");
  expect(error_says("comm is null"), "the reason of create to null");
  expect(assay_allreduce_export(NULL, &handle) == ASSAY_ALLREDUCE_INVALID, "export");
  expect(assay_allreduce_connect(NULL, &handle) == ASSAY_ALLREDUCE_INVALID, "connect");
  expect(assay_allreduce_allocate(NULL, 16, &buffer) == ASSAY_ALLREDUCE_INVALID, "allocate");
  expect(assay_allreduce_register(NULL, &call, 16) == ASSAY_ALLREDUCE_INVALID, "register");
  expect(assay_allreduce_load_table(NULL, "none") == ASSAY_ALLREDUCE_INVALID, "load_table");
  expect(assay_allreduce_reserve(NULL, 1 << 20) == ASSAY_ALLREDUCE_INVALID, "reserve");
  expect(assay_allreduce_check(NULL) == ASSAY_ALLREDUCE_INVALID, "check");
  expect(assay_allreduce_table_hash(NULL) == 0, "no hash without a communicator");
  expect(assay_allreduce_choose(NULL, ASSAY_ALLREDUCE_FUSION_NONE, ASSAY_ALLREDUCE_FLOAT16, 1, 8,
                                &strategy) == ASSAY_ALLREDUCE_INVALID,
         "choose");
  expect(assay_allreduce_explain(NULL, ASSAY_ALLREDUCE_FUSION_NONE, ASSAY_ALLREDUCE_FLOAT16, 1, 8,
                                 &explanation) == ASSAY_ALLREDUCE_INVALID,
         "explain");
  expect(assay_allreduce_supports(NULL, &call) == ASSAY_ALLREDUCE_INVALID, "supports");
  expect(assay_allreduce_run(NULL, &call, NULL) == ASSAY_ALLREDUCE_INVALID, "run");
  expect(error_says("null"), "the reason of run");
  expect(assay_allreduce_nccl_version(NULL) == 0, "no NCCL without a communicator");
  expect(assay_allreduce_destroy(NULL) == ASSAY_ALLREDUCE_OK, "destroying null");
}

static void expect_no_communicator(int rank, int world_size, const char* reason) {
  assay_allreduce_comm* comm = NULL;
  const assay_allreduce_status status = assay_allreduce_create(rank, world_size, NULL, &comm);
  expect(status != ASSAY_ALLREDUCE_OK && comm == NULL, "no communicator of wrong numbers");
  expect(error_says(reason), reason);
}

static void wrong_numbers(void) {
  expect_no_communicator(0, 0, "not 0");
  expect_no_communicator(0, 1, "not 1");
  expect_no_communicator(0, 9, "not 9");
  expect_no_communicator(0, -2, "not -2");
  expect_no_communicator(2, 2, "no rank 2 of 2");
  expect_no_communicator(-1, 4, "no rank -1 of 4");
}

static void wrong_options(void) {
  assay_allreduce_comm* comm = NULL;
  assay_allreduce_options options;
  memset(&options, 0, sizeof options);
  expect(assay_allreduce_create(0, 2, &options, &comm) == ASSAY_ALLREDUCE_INVALID, "size 0");
  expect(error_says("options.size"), "the reason of size 0");
  options.size = sizeof options + 8;
  expect(assay_allreduce_create(0, 2, &options, &comm) == ASSAY_ALLREDUCE_INVALID, "a newer size");
  options.size = sizeof options;
  options.workspace_bytes = ((size_t)8 << 30) + 1;
  expect(assay_allreduce_create(0, 2, &options, &comm) != ASSAY_ALLREDUCE_OK, "9 GiB");
  expect(error_says("8 GiB"), "the reason of a workspace that is too large");
  options.workspace_bytes = 0;
  options.deadline_seconds = -1;
  expect(assay_allreduce_create(0, 2, &options, &comm) == ASSAY_ALLREDUCE_INVALID, "no time");
  expect(error_says("deadline_seconds"), "the reason of a deadline in the past");
  expect(comm == NULL, "no communicator of wrong options");
}

static void wrong_calls(assay_allreduce_comm* comm) {
  assay_allreduce_call call;
  memset(&call, 0, sizeof call);
  expect(assay_allreduce_supports(comm, NULL) == ASSAY_ALLREDUCE_INVALID, "a null call");
  expect(assay_allreduce_supports(comm, &call) == ASSAY_ALLREDUCE_INVALID, "a call of size 0");
  expect(error_says("call.size"), "the reason of size 0");
  call.size = sizeof call;
  call.hidden_size = 16;
  call.num_tokens = -1;
  expect(assay_allreduce_supports(comm, &call) == ASSAY_ALLREDUCE_INVALID, "-1 tokens");
  expect(error_says("num_tokens"), "the reason of -1 tokens");
  call.num_tokens = 1;
  call.hidden_size = 12;
  expect(assay_allreduce_supports(comm, &call) == ASSAY_ALLREDUCE_INVALID, "hidden size 12");
  expect(error_says("multiple of 8"), "the reason of hidden size 12");
  call.hidden_size = 16;
  expect(assay_allreduce_run(comm, &call, NULL) == ASSAY_ALLREDUCE_UNSUPPORTED, "unconnected");
  expect(error_says("not connected"), "the reason of unconnected");
  expect(assay_allreduce_load_table(comm, "no-such-file") == ASSAY_ALLREDUCE_INVALID, "no table");
  expect(error_says("no-such-file"), "the name of the missing table");
  expect(assay_allreduce_table_hash(comm) == 0, "no hash without a table");
  expect(assay_allreduce_check(comm) == ASSAY_ALLREDUCE_OK, "nobody is missing");
  expect(assay_allreduce_reserve(comm, (size_t)4 << 20) == ASSAY_ALLREDUCE_OK, "reserve");
  expect(assay_allreduce_load_table(comm, ".") == ASSAY_ALLREDUCE_INVALID, "a folder as a table");
}

/* With a GPU a communicator can be made, and without peers only be refused. */
static void this_machine(void) {
  assay_allreduce_comm* comm = NULL;
  assay_allreduce_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.workspace_bytes = (size_t)8 << 20;
  if (assay_allreduce_create(0, 2, &options, &comm) == ASSAY_ALLREDUCE_OK) {
    wrong_calls(comm);
    expect(assay_allreduce_destroy(comm) == ASSAY_ALLREDUCE_OK, "destroying");
    printf("with a GPU\n");
    return;
  }
  expect(comm == NULL, "no communicator after a failure");
  expect(error_says("GPU"), "the reason says that it is the GPU");
  printf("without a GPU: %s\n", assay_allreduce_error());
}

int main(void) {
  expect(strcmp(assay_allreduce_error(), "") == 0, "no error before the first");
  null_communicators();
  wrong_numbers();
  wrong_options();
  this_machine();
  return problems == 0 ? 0 : 1;
}
