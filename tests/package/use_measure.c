/* Times a piece of work by the installed libassay_measure; needs no GPU. */
#include <assay/measure.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int wait_a_millisecond(void* count) {
  const struct timespec millisecond = {0, 1000000};
  ++*(int*)count;
  return nanosleep(&millisecond, NULL);
}

static int do_nothing(void* context) {
  (void)context;
  return 0;
}

static int not_so(const char* what) {
  fprintf(stderr, "not so: %s\n", what);
  return 1;
}

/* A number of samples does not say how many launches there are in each. */
static int check_full_samples(assay_measure_result* result) {
  assay_measure_request request;
  assay_measure_defaults(&request);
  request.launch = do_nothing;
  request.num_runs = 50;
  if (assay_measure(&request, result) != 0 || result->samples != 50)
    return not_so("it takes 50 samples");
  return result->launches_per_sample > 1 ? 0 : not_so("a sample has many launches");
}

static int check_refusals(assay_measure_result* result) {
  assay_measure_request request;
  char message[64] = "";
  assay_measure_defaults(&request);
  request.launch = do_nothing;
  request.num_runs = ASSAY_MEASURE_MOST_SAMPLES + 1;
  if (assay_measure(&request, result) == 0 || strstr(result->message, "from 0 to 4096") == NULL)
    return not_so("it says how many samples there may be");
  request.num_runs = 0;
  request.min_samples = ASSAY_MEASURE_MOST_SAMPLES + 1;
  if (assay_measure(&request, result) == 0 || strstr(result->message, "min_samples") == NULL)
    return not_so("it says how many samples there may be at least");
  assay_measure_defaults(NULL);
  assay_measure_close_sensors(NULL);
  if (assay_measure(NULL, result) == 0 || assay_measure(&request, NULL) == 0 ||
      assay_measure_open_sensors(NULL, message, sizeof message) != NULL ||
      assay_measure_open_sensors(NULL, NULL, 0) != NULL || strstr(message, "null") == NULL ||
      assay_measure_read_sensors(NULL, NULL) == 0 || assay_measure_read_energy(NULL) >= 0)
    return not_so("null is refused");
  return 0;
}

int main(void) {
  static assay_measure_result result;
  assay_measure_request request;
  int launches = 0;
  if (check_full_samples(&result) != 0 || check_refusals(&result) != 0) return 1;
  assay_measure_defaults(&request);
  request.launch = wait_a_millisecond;
  request.context = &launches;
  request.on_gpu = 0;
  request.num_runs = 5;
  request.repeat_n = 1;
  if (assay_measure(&request, &result) != 0) {
    fprintf(stderr, "not measured: %s\n", result.message);
    return 1;
  }
  printf("%d samples, %s\n", (int)result.samples,
         result.median_ms >= 1 && launches >= 5 ? "1 ms or more" : "too short");
  return 0;
}
