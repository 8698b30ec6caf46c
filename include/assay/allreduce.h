/* All-reduce between the GPUs of one host, for frameworks: every strategy that `assay allreduce
 * bench` measures, and the choice that its tables make. C99; link with
 * `pkg-config --cflags --libs assay_allreduce`, or in CMake with assay::allreduce.
 *
 *   on every rank, with its GPU current:
 *     assay_allreduce_create(rank, world_size, NULL, &comm);
 *     assay_allreduce_load_table(comm, "table.json");     optional, for strategy AUTO
 *     assay_allreduce_reserve(comm, max_message_bytes);   optional, for messages beyond 10 MiB
 *     assay_allreduce_handle mine;      assay_allreduce_export(comm, &mine);
 *     (exchange the handles: an array in rank order, by MPI, a store, or shared memory)
 *     assay_allreduce_connect(comm, handles);             collective: all ranks at the same time
 *     assay_allreduce_run(comm, &call, stream);           as often as wanted; may be captured
 *     assay_allreduce_destroy(comm);
 *
 * Ranks may be threads of one process or processes of one host; they need peer access (NVLink or
 * PCIe). One communicator serves one stream at a time, and all ranks must make the same calls in
 * the same order. All strategies but NCCL's add in float32 and in rank order, so that all ranks and
 * all runs agree to the bit. NVLink multicast is not used.
 *
 * A call waits on the GPU for the calls of the other ranks. Collectives of other libraries may run
 * beside it on another stream, as long as they leave room for one block of 512 threads, as NCCL's
 * do: blocks of a call start in the order of their numbers, and the first that is not done waits
 * only for its like. Two communicators of this library must not run on a GPU at the same time:
 * order their calls by one stream or by events, in the same order on all ranks. Else each may fill
 * one GPU and wait for the other there; with a deadline that becomes an error.
 *
 * Every rank has a GPU of its own. For tests of 8 ranks on one or two GPUs, ranks may share GPUs
 * where the environment has ASSAY_ALLREDUCE_SHARED_GPUS. Each rank has a small part of its GPU
 * then, there is no NCCL, and times say nothing: ranks that are processes take turns on a GPU, at
 * each hop of a call. CUDA_DEVICE_MAX_CONNECTIONS=32 must be set before CUDA starts, or streams of
 * threads may wait for each other.
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
  ASSAY_ALLREDUCE_AUTO = 3, /* what the loaded table says, or the next best that can run */
  ASSAY_ALLREDUCE_ONESHOT = 4,
  ASSAY_ALLREDUCE_TWOSHOT = 5,
  ASSAY_ALLREDUCE_NCCL_SYMMETRIC = 8, /* needs buffers given to assay_allreduce_register */
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

/* What a call does with the message. */
typedef enum {
  ASSAY_ALLREDUCE_ALL_REDUCE = 0,
  ASSAY_ALLREDUCE_REDUCE_SCATTER = 1,
  ASSAY_ALLREDUCE_ALL_GATHER = 2
} assay_allreduce_operation;

/* Where the scales of a quantising fusion come from or go to. */
typedef enum {
  ASSAY_ALLREDUCE_SCALE_DEFAULT = 0, /* FP8: SCALE_STATIC; NVFP4: blocks of 128 rows by 4 scales */
  ASSAY_ALLREDUCE_SCALE_STATIC = 0,
  ASSAY_ALLREDUCE_SCALE_PER_TOKEN = 1,
  ASSAY_ALLREDUCE_SCALE_PER_GROUP_128 = 2,
  ASSAY_ALLREDUCE_SCALE_LINEAR = 3,
  ASSAY_ALLREDUCE_SCALE_BLOCKS_8X4 = 4
} assay_allreduce_scale_layout;

typedef enum {
  ASSAY_ALLREDUCE_OK = 0,
  ASSAY_ALLREDUCE_INVALID = 1,     /* an argument is wrong; nothing was started */
  ASSAY_ALLREDUCE_UNSUPPORTED = 2, /* the strategy cannot do this call; nothing was started */
  ASSAY_ALLREDUCE_FAILED = 3       /* CUDA or NCCL failed, ranks differ, or one did not come */
} assay_allreduce_status;

typedef struct assay_allreduce_comm assay_allreduce_comm;
typedef void* assay_allreduce_stream; /* a cudaStream_t */

/* All ranks give the same options, except that a rank may leave out NCCL: connect tells what
 * differs.
 *
 * A message of more than M bytes goes in parts, a kernel each, with W = workspace_bytes:
 *
 *                  M                             by default (W = 64 MiB), with 2, 4, 8 ranks
 *   ONESHOT        5/16 W / world_size           10, 5, 2.5 MiB
 *   TWOSHOT_PUSH   5/32 W                        10 MiB
 *   TWOSHOT        any; the more of the other 3/8 W it has, the faster above some MiB
 *
 * With a fusion parts are whole rows, and TWOSHOT_PUSH rounds the slices of a row up to 16
 * elements, so M is less where hidden_size is no multiple of 16 * world_size. NCCL's own memory is
 * not counted. */
typedef struct {
  size_t size;             /* sizeof(assay_allreduce_options) */
  size_t workspace_bytes;  /* memory on each GPU for all strategies, 4 MiB to 8 GiB; 0: 64 MiB */
  int use_nccl;            /* 0: leave out libnccl and the strategies that need it */
  int deterministic;       /* 1: AUTO takes only strategies that add in rank order, so that neither
                              the choice nor the size of a batch changes a sum over ranks by a bit
                              (the mean of a norm is another matter: its order depends on the
                              strategy and the launch shape). A call that names NCCL gets it all
                              the same. */
  double deadline_seconds; /* how long a kernel waits for another rank, up to 3600; 0: for ever.
                              NCCL's kernels wait for ever all the same. A rank that a kernel waited
                              for in vain breaks the communicator: outputs of calls since then are
                              worth nothing, and every later call and assay_allreduce_check is
                              FAILED and names a rank that did not come. */
} assay_allreduce_options;

typedef struct {
  unsigned char bytes[256];
} assay_allreduce_handle;

/* One call. The message is num_tokens rows of hidden_size elements, contiguous; all pointers are
 * aligned to 16 bytes and on the communicator's GPU. With T the data type and rnd rounding to it:
 *
 *   NONE                output = s = rnd(sum over ranks of input)
 *   RESIDUAL_RMS_NORM   residual_out = h = rnd(s + residual_in); without residual_in h = s
 *                       output = y = rnd(h / sqrt(mean(h^2) + epsilon) * (gamma + weight_bias)),
 *                       mean over a row
 *   ..._QUANT_FP8       residual_out as above; quantized = e4m3(y / scale), saturated, one byte
 *                       per element
 *   ..._QUANT_NVFP4     residual_out as above; for every 16 elements
 *                       scale_out = e4m3(*scale * max|y| / 6) and
 *                       quantized = e2m1(y * *scale / scale_out), two elements per byte, the first
 *                       in the low half
 *
 * With the quantising fusions `output` may be null; otherwise it receives y. `output` or
 * residual_out may be `input`, and residual_out may be residual_in, the latter except with NCCL and
 * TWOSHOT when output is null. residual_in may be null: the norm is then one without residual, and
 * residual_out may be null, too.
 *
 * scale_layout says for FP8: SCALE_STATIC divides by *scale; SCALE_PER_TOKEN and
 * SCALE_PER_GROUP_128 divide by max|y| / 448 of the row, or of each 128 elements of it (hidden_size
 * is then a multiple of 128), and write these float32 numbers to scale_out, as
 * float[num_tokens] or float[num_tokens][hidden_size / 128]; `scale` is not used. For NVFP4:
 * SCALE_DEFAULT lays scale_out out in blocks of 128 rows by 4 scales, as cuBLASLt expects it,
 * SCALE_BLOCKS_8X4 in blocks of 8 rows by 4 scales, both padded to whole blocks; SCALE_LINEAR is
 * uint8_t[num_tokens][hidden_size / 16].
 *
 * REDUCE_SCATTER and ALL_GATHER split the rows over the ranks, num_tokens being those of the whole
 * message, a multiple of world_size; fusion NONE only. REDUCE_SCATTER: input is the whole message,
 * output this rank's num_tokens / world_size rows of the sum. ALL_GATHER: input is this rank's
 * rows, output the whole message.
 *
 * Zero tokens are no work: nothing is launched, pointers are not looked at, and the call is OK. */
typedef struct {
  size_t size; /* sizeof(assay_allreduce_call) */
  assay_allreduce_strategy strategy;
  assay_allreduce_fusion fusion;
  assay_allreduce_data_type data_type;
  int64_t num_tokens;  /* >= 0 */
  int64_t hidden_size; /* a multiple of 8; of 16 with NVFP4 */
  const void* input;
  void* output;
  const void* residual_in;
  void* residual_out;
  const void* gamma;  /* hidden_size elements of the data type */
  float epsilon;      /* of the norm */
  const float* scale; /* in device memory; FP8: the value of a quantised 1; NVFP4: global scale */
  void* quantized;
  void* scale_out;
  int blocks;    /* the launch shape, for experiments; 0: chosen by the size of the message */
  int threads;   /* per block, a multiple of 32; at most as many as the kernel can have */
  int operation; /* an assay_allreduce_operation */
  float
      weight_bias; /* added to gamma, in float32: 0, or 1 for norms that store weight - 1 (Gemma) */
  int scale_layout; /* an assay_allreduce_scale_layout */
} assay_allreduce_call;

/* What AUTO does with a message, and how that is known. */
typedef struct {
  size_t size;                       /* sizeof(assay_allreduce_explanation) */
  assay_allreduce_strategy strategy; /* that of assay_allreduce_choose */
  int is_from_table;   /* 0: no table is loaded, or what it says cannot do the call, and the next
                          best that can stands in */
  int is_extrapolated; /* 1: the table was not measured with this number of GPUs; what it says
                          follows from measurements with measured_world_size */
  int measured_world_size; /* the number of GPUs that the table's answer was measured with; 0
                              without a table, or where it has nothing for the fusion */
  double link_limit_us;    /* the least time in which NVLink sends what a GPU has to send with
                              `strategy`: (N-1) S with ONESHOT, 2 (N-1)/N S with TWOSHOT and
                              TWOSHOT_PUSH, and S with NCCL where switches may sum (SM 90 and
                              later), at 450 GB/s with SM 90, 900 with 100; 0 for no tokens, and
                              where the links of an SM are not known */
  int is_measured; /* 1: the answer is from the table, and was measured with GPUs of this SM, this
                      number of them, fusion and type, and with messages up to this size; 0:
                      something stands in for one of them, or there is no table */
} assay_allreduce_explanation;

assay_allreduce_status assay_allreduce_create(int rank,
                                              int world_size,
                                              const assay_allreduce_options* options,
                                              assay_allreduce_comm** comm);
/* Makes the handle for one attempt to connect. */
assay_allreduce_status assay_allreduce_export(const assay_allreduce_comm* comm,
                                              assay_allreduce_handle* handle);
/* Joins the ranks. It fails on all of them alike, and names the rank, where versions, options,
 * tables, GPUs' architectures or reserved sizes differ, and where a rank could not join or did not
 * come within 120 seconds, or those of the environment's ASSAY_ALLREDUCE_CONNECT_SECONDS; a failure
 * of NCCL itself is NCCL's to tell. After a failure the communicator is not connected: export and
 * connect again on all ranks, or destroy it. Of ranks that are connected it only compares what they
 * have in common. Where GPUs have unequal numbers of SMs, launches fit the smallest. A rank without
 * NCCL, or with another version, switches NCCL off for all. */
assay_allreduce_status assay_allreduce_connect(assay_allreduce_comm* comm,
                                               const assay_allreduce_handle* handles);
/* Takes memory for TWOSHOT_PUSH to carry messages of up to max_message_bytes in one part (of 64 MiB
 * at most; larger ones go in several), ONESHOT of up to 2 / world_size of that, and larger tiles of
 * TWOSHOT. Collective: all ranks give the same number, while no call runs or is captured. Memory
 * never grows at any other time. Where this is more than there was, the communicator is no longer
 * connected: export and connect again. Once it has failed on a rank, no rank is connected: destroy
 * the communicator there. It is best called before the first connect. Memory that calls have used
 * stays until destroy, because graphs captured then go on using it. */
assay_allreduce_status assay_allreduce_reserve(assay_allreduce_comm* comm,
                                               size_t max_message_bytes);
/* Lets NCCL_SYMMETRIC use a buffer from assay_allreduce_allocate; all ranks must call it. */
assay_allreduce_status assay_allreduce_register(assay_allreduce_comm* comm,
                                                void* buffer,
                                                size_t bytes);
assay_allreduce_status assay_allreduce_allocate(assay_allreduce_comm* comm,
                                                size_t bytes,
                                                void** buffer);
/* All ranks must load the same table: connect compares those that are loaded before export. */
assay_allreduce_status assay_allreduce_load_table(assay_allreduce_comm* comm, const char* path);
/* Returns a number of the loaded table, the same for the same choices and provenance; 0 without a
 * table. Programs that load tables after connect compare it between ranks. */
uint64_t assay_allreduce_table_hash(const assay_allreduce_comm* comm);
/* Tells which strategy AUTO would use for a message of this size, in a call that gives all pointers
 * and no two of them the same; AUTO itself for no tokens. The communicator must be connected. */
assay_allreduce_status assay_allreduce_choose(const assay_allreduce_comm* comm,
                                              assay_allreduce_fusion fusion,
                                              assay_allreduce_data_type data_type,
                                              int64_t num_tokens,
                                              int64_t hidden_size,
                                              assay_allreduce_strategy* strategy);
/* The same, with how the choice is known. explanation->size is set by the caller. */
assay_allreduce_status assay_allreduce_explain(const assay_allreduce_comm* comm,
                                               assay_allreduce_fusion fusion,
                                               assay_allreduce_data_type data_type,
                                               int64_t num_tokens,
                                               int64_t hidden_size,
                                               assay_allreduce_explanation* explanation);
/* Tells whether assay_allreduce_run would accept the call, and if not, why: the same status and
 * text. It looks at the pointers, but not at what they point to: whether they are null, aligned, or
 * the same. */
assay_allreduce_status assay_allreduce_supports(const assay_allreduce_comm* comm,
                                                const assay_allreduce_call* call);
assay_allreduce_status assay_allreduce_run(assay_allreduce_comm* comm,
                                           const assay_allreduce_call* call,
                                           assay_allreduce_stream stream);
/* FAILED once a rank has missed the deadline, else OK. It costs nothing and may be called at any
 * time; programs that replay graphs call it after synchronising. */
assay_allreduce_status assay_allreduce_check(const assay_allreduce_comm* comm);
/* Waits for the device. All ranks must have finished their calls, which they know once each has
 * waited for its stream and then met the others, or the communicator be broken. */
assay_allreduce_status assay_allreduce_destroy(assay_allreduce_comm* comm);

/* Returns the last failure of this thread in one line; "" if there was none. */
const char* assay_allreduce_error(void);
/* Returns NCCL's version, 2.28.7 as 22807; 0 without NCCL, or where connect switched it off. */
int assay_allreduce_nccl_version(const assay_allreduce_comm* comm);

#if defined(__GNUC__)
#  pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_ALLREDUCE_H */
