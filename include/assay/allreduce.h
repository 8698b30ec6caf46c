/* All-reduce between the GPUs of one host, for frameworks: every strategy that `assay allreduce
 * bench` measures, and the choice that its tables make. C99; link libassay_allreduce.
 *
 *   on every rank, its GPU current:
 *     assay_allreduce_create(rank, world_size, NULL, &comm);
 *     assay_allreduce_handle mine;      assay_allreduce_export(comm, &mine);
 *     (exchange the handles: an array in rank order, by MPI, a store, or shared memory)
 *     assay_allreduce_connect(comm, handles);             collective: all ranks at the same time
 *     assay_allreduce_load_table(comm, "table.json");     optional, for strategy AUTO
 *     assay_allreduce_run(comm, &call, stream);           as often as wanted; may be captured
 *     assay_allreduce_destroy(comm);
 *
 * Ranks may be threads of one process or processes of one host; they need peer access (NVLink or
 * PCIe). One communicator serves one stream at a time, and all ranks must make the same calls in
 * the same order. Sums of our own strategies are made in float32, in rank order: all ranks and all
 * runs agree to the bit. NVLink multicast is not used.
 *
 * Every function returns 0, or an error whose text assay_allreduce_error() gives.
 */
#ifndef ASSAY_ALLREDUCE_H
#define ASSAY_ALLREDUCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#  pragma GCC visibility push(default)
#endif

#define ASSAY_ALLREDUCE_MAX_RANKS 8

typedef enum {
  ASSAY_ALLREDUCE_NCCL = 0,
  ASSAY_ALLREDUCE_AUTO = 3, /* what the loaded table says; NCCL or TWOSHOT where that cannot be */
  ASSAY_ALLREDUCE_ONESHOT = 4,
  ASSAY_ALLREDUCE_TWOSHOT = 5,
  ASSAY_ALLREDUCE_NCCL_SYMMETRIC = 8, /* buffers registered by assay_allreduce_register */
  ASSAY_ALLREDUCE_TWOSHOT_PUSH = 100
} assay_allreduce_strategy;

typedef enum {
  ASSAY_ALLREDUCE_BFLOAT16 = 0,
  ASSAY_ALLREDUCE_FLOAT16 = 1,
  ASSAY_ALLREDUCE_FLOAT32 = 2
} assay_allreduce_data_type;

typedef enum {
  ASSAY_ALLREDUCE_FUSION_NONE = 0,
  ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM = 1,
  ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_FP8 = 2,
  ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_NVFP4 = 3
} assay_allreduce_fusion;

typedef enum {
  ASSAY_ALLREDUCE_OK = 0,
  ASSAY_ALLREDUCE_INVALID = 1,     /* an argument is wrong; nothing was started */
  ASSAY_ALLREDUCE_UNSUPPORTED = 2, /* the strategy cannot do this call; nothing was started */
  ASSAY_ALLREDUCE_FAILED = 3       /* CUDA or NCCL failed */
} assay_allreduce_status;

typedef struct assay_allreduce_comm assay_allreduce_comm;
typedef void* assay_allreduce_stream; /* a cudaStream_t */

typedef struct {
  size_t size;            /* sizeof(assay_allreduce_options) */
  size_t workspace_bytes; /* of a GPU for each of ONESHOT and TWOSHOT_PUSH; 0: 128 MiB. Messages up
                             to workspace_bytes / (2 * world_size) resp. / 4 can be sent. */
  int use_nccl;           /* 0: without libnccl, and without the strategies that need it */
} assay_allreduce_options;

typedef struct {
  unsigned char bytes[256];
} assay_allreduce_handle;

/* One call. The message is num_tokens rows of hidden_size elements, contiguous; all pointers are
 * aligned to 16 bytes and on the communicator's GPU. With T the data type and rnd rounding to it:
 *
 *   NONE                output = s = rnd(sum over ranks of input)
 *   RESIDUAL_RMS_NORM   residual_out = h = rnd(s + residual_in)
 *                       output = y = rnd(h / sqrt(mean(h^2) + epsilon) * gamma), mean over a row
 *   ..._QUANT_FP8       residual_out; quantized = e4m3(y / *scale), saturated; a byte an element
 *   ..._QUANT_NVFP4     residual_out; for 16 elements each: scale_out = e4m3(*scale * max|y| / 6),
 *                       quantized = e2m1(y * *scale / scale_out), two a byte, the first one low
 *
 * With the quantising fusions `output` may be null; when given, it gets y. residual_out may be
 * residual_in, except with NCCL and TWOSHOT where output is null. scale_out is laid out in
 * blocks of 128 rows by 4 scales, as cuBLASLt wants it, padded to whole blocks. */
typedef struct {
  size_t size; /* sizeof(assay_allreduce_call) */
  assay_allreduce_strategy strategy;
  assay_allreduce_fusion fusion;
  assay_allreduce_data_type data_type;
  int64_t num_tokens;  /* >= 1 */
  int64_t hidden_size; /* a multiple of 8; of 16 with NVFP4 */
  const void* input;
  void* output; /* may be input with fusion NONE */
  const void* residual_in;
  void* residual_out;
  const void* gamma;  /* hidden_size elements of the data type */
  float epsilon;      /* of the norm */
  const float* scale; /* device memory: FP8: what a quantised 1 stands for; NVFP4: global scale */
  void* quantized;
  void* scale_out;
  int blocks;  /* launch shape, to experiment with; 0: chosen by the size of the message */
  int threads; /* of a block; a multiple of 32 */
} assay_allreduce_call;

assay_allreduce_status assay_allreduce_create(int rank,
                                              int world_size,
                                              const assay_allreduce_options* options,
                                              assay_allreduce_comm** comm);
assay_allreduce_status assay_allreduce_export(const assay_allreduce_comm* comm,
                                              assay_allreduce_handle* handle);
assay_allreduce_status assay_allreduce_connect(assay_allreduce_comm* comm,
                                               const assay_allreduce_handle* handles);
/* Collective: makes a buffer from assay_allreduce_allocate known to NCCL_SYMMETRIC. */
assay_allreduce_status assay_allreduce_register(assay_allreduce_comm* comm,
                                                void* buffer,
                                                size_t bytes);
assay_allreduce_status assay_allreduce_allocate(assay_allreduce_comm* comm,
                                                size_t bytes,
                                                void** buffer);
assay_allreduce_status assay_allreduce_load_table(assay_allreduce_comm* comm, const char* path);
/* What AUTO would use, as far as numbers tell; NCCL before a table is loaded. Connected only. */
assay_allreduce_status assay_allreduce_choose(const assay_allreduce_comm* comm,
                                              assay_allreduce_fusion fusion,
                                              assay_allreduce_data_type data_type,
                                              int64_t num_tokens,
                                              int64_t hidden_size,
                                              assay_allreduce_strategy* strategy);
/* Whether run() would accept the call; pointers are not looked at. */
assay_allreduce_status assay_allreduce_supports(const assay_allreduce_comm* comm,
                                                const assay_allreduce_call* call);
assay_allreduce_status assay_allreduce_run(assay_allreduce_comm* comm,
                                           const assay_allreduce_call* call,
                                           assay_allreduce_stream stream);
/* Waits for the device. All ranks must have ended their calls. */
assay_allreduce_status assay_allreduce_destroy(assay_allreduce_comm* comm);

/* The last failure of this thread, one line; "" before any. */
const char* assay_allreduce_error(void);
/* NCCL's version as 22807; 0 without NCCL. */
int assay_allreduce_nccl_version(const assay_allreduce_comm* comm);

#if defined(__GNUC__)
#  pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_ALLREDUCE_H */
