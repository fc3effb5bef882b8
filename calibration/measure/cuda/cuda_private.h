/*
 * cuda_private.h - shared by the files of the CUDA layer.
 *
 * Each family's file has one function that prepares a kernel: it allocates (orr_cuda_alloc: freed
 * with the kernel), fills with random data, and sets `launch` and, if it has one, `verify`.
 * Operands that should come from memory rather than the L2 cache are allocated `n_sets` times;
 * launch gets the number of the next set.
 *
 * Streams are non-blocking: they do not wait for the legacy stream, nor does it wait for them (CUDA
 * Runtime API, "Stream synchronization behavior"). So nothing that a kernel reads is put on the
 * legacy stream: cudaMemcpy from pageable memory may return before the data are on the device ("API
 * synchronization behavior"), and cudaMemset before it has begun. Uploads and fills use the stream
 * of their kernel. Reads (orr_cuda_read) come after a wait for it.
 *
 * While NCCL is in flight every wait has a time limit: orr_cuda_wait (stream_wait.h).
 *
 * Every call of CUDA and its libraries goes through orr_cuda_ok or a library's own check. Out of
 * memory is ORR_FAULT_USAGE: the shape is skipped.
 */
#pragma once

#include <cuda_runtime_api.h>

#include "calibration/measure/doctor.h"
#include "calibration/measure/family.h"
#include "calibration/measure/power_window.h"
#include "calibration/measure/reference.h"
#include "calibration/measure/rendezvous.h"
#include "calibration/measure/timing.h"

typedef struct OrrCublas OrrCublas;       /* cuda_gemm.c */
typedef struct OrrCudaLoad OrrCudaLoad;   /* cuda_load.c */
typedef struct OrrCudnn OrrCudnn;         /* cuda_attention.c */
typedef struct OrrNcclGroup OrrNcclGroup; /* cuda_nccl.c */
typedef struct OrrNvml OrrNvml;           /* cuda_power.c */

struct OrrBench {
  OrrBenchFacts facts;
  int device;
  gint64 opened_us;
  int numa_node;               /* of the device's PCI slot; -1 unknown */
  cudaStream_t stream, beside; /* non-blocking */
  OrrCublas *cublas;
  OrrCudnn *cudnn;
  OrrNcclGroup *nccl; /* NULL until first use: see orr_cuda_nccl_of */
  char *no_nccl;      /* why NCCL could not be opened; NULL: not tried, or opened */
  OrrNvml *nvml;
  OrrRendezvous rendezvous;
};

struct OrrKernel {
  OrrBench *bench;
  OrrShape shape;
  GPtrArray *buffers; /* of device memory */
  guint n_sets;
  double touched_bytes; /* bytes per call, from orr_cuda_rotate; 0: not rotated */
  guint64 seed;
  gboolean (*launch)(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error);
  gboolean (*verify)(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error); /* or NULL */
  gboolean (*time)(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                   GError **error); /* or NULL */
  void (*clear)(gpointer state);    /* or NULL */
  gpointer state;                   /* state of the family */
};

/* --- cuda_base.c --- */

/* Sets @error from @code, named by @what; FALSE, unless it is cudaSuccess. */
gboolean orr_cuda_ok(cudaError_t code, const char *what, GError **error);
/* of a function of kernel.h */
gboolean orr_cuda_launched(int code, const char *what, GError **error);

void *orr_cuda_alloc(OrrKernel *kernel, gsize bytes, GError **error);

/* Allocates @bytes per set for all sets, aligned to 256 bytes; @ret_stride is the distance
 * between sets. */
void *orr_cuda_alloc_sets(OrrKernel *kernel, gsize bytes, gsize *ret_stride, GError **error);
/* The same, filled with random elements. */
void *orr_cuda_random_sets(OrrKernel *kernel, OrrFormat format, gsize n, gsize *ret_stride,
                           GError **error);
void *orr_cuda_random(OrrKernel *kernel, OrrFormat format, gsize n, GError **error);
void *orr_cuda_upload(OrrKernel *kernel, const void *data, gsize bytes, GError **error);

/* Sets n_sets by rotation.h: a call reads and writes @touched_bytes of the @held_bytes of a set. */
void orr_cuda_rotate(OrrKernel *kernel, double touched_bytes, double held_bytes);

/* Allocates pinned host memory on the device's NUMA node (numa.h); NULL with ORR_FAULT_USAGE if
 * there is none. */
void *orr_cuda_host_alloc(const OrrBench *bench, gsize bytes, GError **error);
void orr_cuda_host_free(void *memory, gsize bytes);

/* Reads and decodes @n elements, @stride elements apart, from element @first of @device on. */
gboolean orr_cuda_read(const void *device, OrrFormat format, gsize first, gsize stride, gsize n,
                       double *ret_values, GError **error);
/* Reads @n_rows rows of @width elements; rows begin @row_stride elements apart. */
gboolean orr_cuda_read_rows(const void *device, OrrFormat format, gsize first, gsize row_stride,
                            gsize n_rows, gsize width, double *ret_values, GError **error);
/* Launches set 0 and waits. */
gboolean orr_cuda_run_once(OrrKernel *kernel, GError **error);

/* Adds a sample to the verdict: |found - reference| / scale. */
void orr_cuda_judge(OrrVerdict *verdict, double found, double reference, double scale);

/* --- cuda_layer.c --- */

/* The GPUs that CUDA shows, one or more; ORR_FAULT_RESOURCE says why there is none. */
gboolean orr_cuda_count_gpus(int *ret_n, GError **error);

/* --- cuda_doctor.c --- */

gboolean orr_cuda_examine(OrrDoctorFacts *facts, GError **error);

/* --- cuda_time.c --- */

gboolean orr_cuda_time(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                       GError **error);

/* Keeps the stream busy for @us (timing.h); its device must be the current one. */
gboolean orr_cuda_hold(double us, cudaStream_t stream, GError **error);
gboolean orr_cuda_is_reached(cudaEvent_t event);
/* Lets the board cool after @busy_us of work, so that what follows finds its full clock. */
void orr_cuda_pause_after(double busy_us);

/* --- cuda_library.c --- */

typedef struct {
  const char *name;
  gsize offset;         /* offset of the function pointer in the table */
  gboolean is_optional; /* the pointer stays NULL if the library lacks the function */
} OrrCudaSymbol;

/* Opens the first of @files (NULL-terminated) that the system or the toolkit's folder has, and
 * fills @table. ORR_FAULT_USAGE if no file is found or a function is missing: families that need
 * it are skipped. */
gboolean orr_cuda_library_open(const char *const *files, const OrrCudaSymbol *symbols, guint n,
                               void *table, GError **error);

/* --- cuda_load.c --- */

/* Makes a load for each other GPU of the process; never NULL. */
OrrCudaLoad *orr_cuda_load_new(const OrrBench *bench);
void orr_cuda_load_free(OrrCudaLoad *load);         /* waits for what was posted */
gint64 orr_cuda_load_gpus(const OrrCudaLoad *load); /* the GPUs that it keeps busy */
/* Call once for each round of the measured calls. */
gboolean orr_cuda_load_post(OrrCudaLoad *load, GError **error);

/* --- cuda_power.c --- */

OrrNvml *orr_nvml_open(const char *pci_bus_id); /* NULL without NVML */
void orr_nvml_free(OrrNvml *nvml);
char *orr_nvml_driver(const OrrNvml *nvml); /* newly allocated; NULL if unknown */
/* In the following @nvml may be NULL: values are then NAN or unchanged. */
void orr_nvml_clocks(const OrrNvml *nvml, OrrTiming *timing); /* current clocks */
/* adds one reading */
void orr_nvml_read_into(const OrrNvml *nvml, gint64 begin_us, OrrPowerWindow *window);
OrrBenchState orr_nvml_state(const OrrNvml *nvml);
/* Repeats @work, of timing->calls calls, for the rule's window and sets the timing's power and its
 * sustained time and clock; does nothing if the rule watches none. @work posts to the device and
 * does not wait; @wait waits for everything posted. */
gboolean orr_nvml_watch(const OrrNvml *nvml, const OrrTimingRule *rule,
                        gboolean (*work)(gpointer user, GError **error),
                        gboolean (*wait)(gpointer user, GError **error), gpointer user,
                        OrrTiming *timing, GError **error);
double orr_nvml_power_limit(const OrrNvml *nvml);
double orr_nvml_max_sm_hz(const OrrNvml *nvml);
double orr_nvml_max_memory_hz(const OrrNvml *nvml);

/* --- Families --- */

typedef gboolean (*OrrCudaPrepare)(OrrKernel *kernel, GError **error);

gboolean orr_cuda_prepare_attention_decode(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_attention_mixed(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_attention_prefill(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_collective(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_copy(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_gemm(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_interference(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_launch(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_memory(OrrKernel *kernel, GError **error);
gboolean orr_cuda_prepare_moe(OrrKernel *kernel, GError **error);

/* Prepares a separate bf16 forward product with its own operand sets: for interference and MoE. */
gboolean orr_cuda_prepare_product(OrrKernel *kernel, gint64 m, gint64 n, gint64 k, GError **error);

/* The formats of family_gemm.c's column dtype. */
enum {
  ORR_GEMM_FP32,
  ORR_GEMM_TF32,
  ORR_GEMM_FP16,
  ORR_GEMM_BF16,
  ORR_GEMM_FP8,
  ORR_GEMM_MXFP8,
  ORR_GEMM_NVFP4
};

/* out[m,n] = factor x[m,k] w[n,k]^T on operands of the caller's, in one of these formats; out is
 * bf16 for 8 and 4-bit ones. Scales are 1. @kernel owns what it needs in addition; NULL with
 * ORR_FAULT_USAGE where the device has no such.
 */
typedef struct OrrProduct OrrProduct;
OrrProduct *orr_cuda_product_new(OrrKernel *kernel, int format, gint64 m, gint64 n, gint64 k,
                                 double factor, GError **error);
/* @workspace: ORR_PRODUCT_WORKSPACE bytes, not shared with a concurrent product. */
gboolean orr_cuda_product_run(const OrrProduct *product, const void *x, const void *w, void *out,
                              void *workspace, cudaStream_t stream, GError **error);
void orr_cuda_product_free(OrrProduct *product);
enum { ORR_PRODUCT_WORKSPACE = 32 << 20 };

char *orr_cublas_version(void);
void orr_cublas_free(OrrCublas *cublas);
char *orr_cudnn_version(void);
void orr_cudnn_free(OrrCudnn *cudnn);

/* NCCL over the GPUs of this process and of the job, opened at the first call: a session without
 * collectives touches no other GPU. In a job all ranks must call it together. NULL with
 * ORR_FAULT_USAGE, the same at each later call, if a single process cannot have it; with
 * ORR_FAULT_RESOURCE in a job. */
OrrNcclGroup *orr_cuda_nccl_of(OrrBench *bench, GError **error);
void orr_cuda_nccl_free(OrrNcclGroup *group);
/* Waits for all streams of the bench and of its NCCL group, if open, with NCCL's time limit. */
gboolean orr_cuda_wait(OrrBench *bench, GError **error);
char *orr_cuda_nccl_version(void);
gboolean orr_cuda_nccl_agree(OrrBench *bench, gint64 *number, GError **error);
gboolean orr_cuda_nccl_settle(OrrBench *bench, const char *mine, gboolean mine_ends_job,
                              OrrJobWord *ret_word, GError **error);
void orr_cuda_nccl_fail(OrrBench *bench, const char *reason);
/* Makes buffers of @bytes on each GPU for collectives of the prepared kernel; the other call
 * frees them. */
gboolean orr_cuda_collective_make_buffers(OrrNcclGroup *group, gsize bytes, GError **error);
void orr_cuda_collective_free_buffers(OrrNcclGroup *group);
/* All ranks of a single process with NCCL held to @blocks thread blocks, as orr_cuda_nccl_of with
 * 0; made at the first call. NULL with ORR_FAULT_USAGE before NCCL 2.17. */
OrrNcclGroup *orr_cuda_nccl_limited(OrrBench *bench, int blocks, GError **error);
/* Posts one all-reduce (bf16) of @bytes, at most the size of the buffers, on each GPU's own
 * stream, for interference; @device_stream is the measured GPU's. */
gboolean orr_cuda_collective_all_reduce_beside(const OrrNcclGroup *group, gsize bytes,
                                               cudaStream_t device_stream, GError **error);
