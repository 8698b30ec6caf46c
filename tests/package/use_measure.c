/* Times a piece of work by the installed libassay_measure; needs no GPU. */
#include <assay/measure.h>
#include <stdio.h>
#include <time.h>

static int wait_a_millisecond(void* count) {
  const struct timespec millisecond = {0, 1000000};
  ++*(int*)count;
  return nanosleep(&millisecond, NULL);
}

int main(void) {
  static assay_measure_result result;
  assay_measure_request request;
  int launches = 0;
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
