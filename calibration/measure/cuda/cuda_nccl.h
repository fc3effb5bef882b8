/*
 * cuda_nccl.h - NCCL's communicators, and the rules by which the ranks of a job never wait for a
 * failed rank.
 *
 * NCCL is opened at run time; its types and constants are declared here after its ABI (nccl.h; the
 * calls used are unchanged since 2.7, the 8-bit formats since 2.24).
 */
#pragma once

#include "calibration/measure/cuda/cuda_private.h"

typedef struct ncclComm *OrrNcclComm;
typedef struct {
  char internal[128];
} OrrNcclId;

enum { NCCL_INT8 = 0, NCCL_INT64 = 4, NCCL_FP16 = 6, NCCL_FP32 = 7, NCCL_BF16 = 9, NCCL_E4M3 = 10 };
enum { NCCL_SUM = 0, NCCL_MAX = 2 };
enum {
  NCCL_INTERNAL_ERROR = 3,
  NCCL_INVALID_ARGUMENT = 4,
  NCCL_INVALID_USAGE = 5,
  NCCL_IN_PROGRESS = 7
};
enum { NCCL_NO_COLOR = -1 };

/* ncclConfig_t as NCCL 2.17 has it; other versions read no more than `size` and `version`. */
typedef struct {
  size_t size;
  unsigned magic, version;
  int blocking, cga_cluster_size, min_blocks, max_blocks;
  const char *net_name;
} OrrNcclConfig;
#define ORR_NCCL_CONFIG(version_, blocking_, most_blocks_)                                         \
  {                                                                                                \
    sizeof(OrrNcclConfig), 0xcafebeefu, version_, blocking_, G_MININT, G_MININT, most_blocks_,     \
        NULL                                                                                       \
  }
enum { NCCL_CONFIG_FIRST = 21400, NCCL_CONFIG_BLOCKS = 21700 }; /* versions */

typedef struct {
  int (*version)(int *ret_version);
  int (*unique_id)(OrrNcclId *ret_id);
  int (*init_rank)(OrrNcclComm *ret_comm, int n_ranks, OrrNcclId id, int rank);
  /* NULL before 2.14, and before 2.18 */
  int (*init_rank_config)(OrrNcclComm *ret_comm, int n_ranks, OrrNcclId id, int rank,
                          OrrNcclConfig *config);
  int (*split)(OrrNcclComm comm, int color, int key, OrrNcclComm *ret_comm, OrrNcclConfig *config);
  int (*init_all)(OrrNcclComm *ret_comms, int n, const int *devices);
  int (*destroy)(OrrNcclComm comm);
  int (*give_up)(OrrNcclComm comm);
  int (*async_error)(OrrNcclComm comm, int *ret_result);
  const char *(*error_text)(int result);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*all_reduce)(const void *in, void *out, size_t n, int type, int op, OrrNcclComm comm,
                    cudaStream_t stream);
  int (*all_gather)(const void *in, void *out, size_t n, int type, OrrNcclComm comm,
                    cudaStream_t stream);
  int (*reduce_scatter)(const void *in, void *out, size_t n, int type, int op, OrrNcclComm comm,
                        cudaStream_t stream);
  int (*broadcast)(const void *in, void *out, size_t n, int type, int root, OrrNcclComm comm,
                   cudaStream_t stream);
  int (*reduce)(const void *in, void *out, size_t n, int type, int op, int root, OrrNcclComm comm,
                cudaStream_t stream);
  int (*send)(const void *in, size_t n, int type, int peer, OrrNcclComm comm, cudaStream_t stream);
  int (*recv)(void *out, size_t n, int type, int peer, OrrNcclComm comm, cudaStream_t stream);
} OrrNccl;

enum { ORR_NCCL_MOST_GPUS = 64 };

typedef struct {
  int device, rank;
  OrrNcclComm comm; /* NULL after an abort */
  cudaStream_t stream;
  cudaEvent_t begin, end;
  char *in, *out; /* buffers of the prepared kernel, freed with it */
  gsize bytes;    /* size of each buffer */
} OrrNcclGpu;

struct OrrNcclGroup {
  OrrNccl nccl;
  OrrBench *bench;
  gint64 n_ranks;
  int n_gpus; /* GPUs of this process */
  int blocks; /* the most thread blocks of a collective; 0: NCCL's choice */
  char *talk; /* a buffer on the first GPU for agree and settle, which must not fail for lack of
               * memory */
  GPtrArray *parts; /* of OrrNcclGroup: of the first ranks, or limited; NULL in a part */
  OrrNcclGpu gpus[ORR_NCCL_MOST_GPUS];
};

/* The first @n_ranks ranks, made at the first call, which all ranks of a job must make together. A
 * part has the streams of the whole; in a rank that does not belong to it n_gpus is 0. NULL with
 * ORR_FAULT_USAGE where NCCL cannot, the same on all ranks. */
OrrNcclGroup *orr_cuda_nccl_first(OrrBench *bench, gint64 n_ranks, GError **error);

/* ORR_FAULT_USAGE if NCCL does not support the request, which is the same on all ranks. */
gboolean orr_nccl_ok(const OrrNcclGroup *group, int result, const char *what, GError **error);

/* Ends work in flight on the GPUs' streams, by waiting for it (orr_cuda_wait) or by aborting it.
 * Call it before cudaFree on any path on which something may have failed. */
void orr_nccl_quiesce(OrrNcclGroup *group);
