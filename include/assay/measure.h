/* How assay times a piece of work, for programs in any language: warm-ups, then samples until the
 * median is certain. `assay collect` measures its own kernels in the same way.
 *
 * The work is either a callback that launches it, or a CUDA graph. On a GPU times are those of CUDA
 * events on a stream; otherwise those of the clock, and the callback returns when the work is done.
 * CUDA's driver (libcuda.so.1) is opened when it is needed. Not thread-safe.
 */
#ifndef ASSAY_MEASURE_H
#define ASSAY_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_MEASURE_MOST_SAMPLES 4096

typedef struct assay_measure_request {
  /* Launches the work once; 0: done. May be null when there is a graph. */
  int (*launch)(void* context);
  void* context;
  void* cuda_graph;  /* CUgraph, launched instead of the callback; null: none */
  void* cuda_stream; /* CUstream of events and graphs */
  int32_t on_gpu;    /* 0: by the clock */
  int64_t num_warmups;
  int64_t num_runs;    /* samples, exactly; 0: adaptive */
  int64_t repeat_n;    /* launches in a sample, exactly; 0: as many as `sample_ms` takes */
  int64_t min_samples; /* adaptive: at least, */
  int64_t max_samples; /* at most; up to ASSAY_MEASURE_MOST_SAMPLES */
  double certainty;    /* half width of the median's 95 % interval, as a part of it */
  double min_time_ms;  /* of all samples together */
  double max_time_ms;
  double sample_ms; /* short launches are put together into samples of this length */
} assay_measure_request;

/* Times are of one launch. */
typedef struct assay_measure_result {
  double median_ms;
  double mean_ms;
  double p10_ms;
  double p90_ms;
  double low_ms; /* 95 % interval of the median */
  double high_ms;
  int64_t launches_per_sample;
  int64_t samples;
  int32_t eager; /* 1: without a graph */
  char message[256];
  double samples_ms[ASSAY_MEASURE_MOST_SAMPLES];
} assay_measure_result;

/* The values that `assay collect` uses. */
void assay_measure_defaults(assay_measure_request* request);

/* 0: measured. Otherwise result->message says why not. */
int assay_measure(const assay_measure_request* request, assay_measure_result* result);

/* The state of one GPU as its driver tells it; what it does not tell is negative. */
typedef struct assay_measure_state {
  int64_t sm_mhz;
  int64_t memory_mhz;
  double temperature_celsius;
  double power_limit_watts;
  int32_t slowed; /* 1: the GPU lowers its clocks to protect itself or to save power */
} assay_measure_state;

typedef struct assay_measure_sensors assay_measure_sensors;

/* `gpu`: its PCI bus id ("00000000:19:00.0") or UUID. Null where there is no driver or no such GPU;
 * `message` then says why. */
assay_measure_sensors* assay_measure_open_sensors(const char* gpu, char* message, size_t bytes);

/* 0: read. Otherwise the GPU is lost. */
int assay_measure_read_sensors(assay_measure_sensors* sensors, assay_measure_state* state);

/* Joules since the driver was loaded; negative where it does not tell. Takes milliseconds. */
double assay_measure_read_energy(assay_measure_sensors* sensors);

void assay_measure_close_sensors(assay_measure_sensors* sensors);

#ifdef __cplusplus
}
#endif

#endif
