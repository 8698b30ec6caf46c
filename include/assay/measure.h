/* Times a piece of work for programs in any language as `assay collect` times its own kernels: by
 * warm-ups, then samples until the median is certain. C99; link with
 * `pkg-config --cflags --libs assay_measure`, or in CMake with assay::measure.
 *
 * The work is either a callback that launches it, or a CUDA graph. On a GPU it is timed by CUDA
 * events on a stream; otherwise by the clock, and the callback must return when the work is done.
 * CUDA's driver (libcuda.so.1) is opened when it is needed. The functions are not thread-safe. They
 * neither end the program nor throw; a callback may not throw either.
 */
#ifndef ASSAY_MEASURE_H
#define ASSAY_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most samples of one measurement. */
#define ASSAY_MEASURE_MOST_SAMPLES 4096

typedef struct assay_measure_request {
  /* Launches the work once and returns 0, or another number if it failed. May be null when there is
   * a graph. */
  int (*launch)(void* context);
  void* context;
  void* cuda_graph;  /* CUgraph, launched instead of the callback; null: none */
  void* cuda_stream; /* the CUstream of events and graphs */
  int32_t on_gpu;    /* 0: timed by the clock */
  int64_t num_warmups;
  /* The exact number of samples, at most ASSAY_MEASURE_MOST_SAMPLES; 0: until the median is
   * certain. */
  int64_t num_runs;
  int64_t repeat_n;    /* the exact number of launches per sample; 0: as many as fill `sample_ms` */
  int64_t min_samples; /* this and the next four apply when num_runs is 0; the same limit */
  int64_t max_samples; /* a number above ASSAY_MEASURE_MOST_SAMPLES means that one */
  double certainty; /* half width of the median's 95 % interval to reach, relative to the median */
  double min_time_ms; /* of all samples together */
  double max_time_ms;
  double sample_ms; /* short launches are joined into samples of this length */
} assay_measure_request;

/* All times are per launch. */
typedef struct assay_measure_result {
  double median_ms;
  double mean_ms;
  double p10_ms;
  double p90_ms;
  double low_ms; /* the 95 % interval of the median, from low_ms to high_ms */
  double high_ms;
  int64_t launches_per_sample;
  int64_t samples;
  int32_t eager; /* 1: launched without a graph */
  char message[256];
  double samples_ms[ASSAY_MEASURE_MOST_SAMPLES];
} assay_measure_result;

/* Fills in the values that `assay collect` uses; does nothing to null. */
void assay_measure_defaults(assay_measure_request* request);

/* Returns 0 after measuring. Otherwise it returns 1 and result->message says what failed: a null
 * request; neither a callback nor a graph; a negative number; more samples than
 * ASSAY_MEASURE_MOST_SAMPLES; the callback or CUDA. A null result is a failure, too. */
int assay_measure(const assay_measure_request* request, assay_measure_result* result);

/* The state of one GPU as its driver reports it. What it does not report is negative. */
typedef struct assay_measure_state {
  int64_t sm_mhz;
  int64_t memory_mhz;
  double temperature_celsius;
  double power_limit_watts;
  int32_t slowed; /* 1: the GPU lowers its clocks to protect itself or to save power */
} assay_measure_state;

typedef struct assay_measure_sensors assay_measure_sensors;

/* Opens the sensors of the GPU with this PCI bus id ("00000000:19:00.0") or UUID. Returns null
 * where there is no driver or no such GPU, or `gpu` is null; `message`, of `bytes` bytes, then says
 * why. It may be null. */
assay_measure_sensors* assay_measure_open_sensors(const char* gpu, char* message, size_t bytes);

/* Returns 0 after reading. Otherwise the GPU is lost, or an argument is null. */
int assay_measure_read_sensors(assay_measure_sensors* sensors, assay_measure_state* state);

/* Returns the joules used since the driver was loaded; negative where it does not report them, or
 * `sensors` is null. Takes milliseconds. */
double assay_measure_read_energy(assay_measure_sensors* sensors);

/* Closes them; does nothing to null. */
void assay_measure_close_sensors(assay_measure_sensors* sensors);

#ifdef __cplusplus
}
#endif

#endif
