/*
 * cuda_collective.c - NCCL, opened at run time; see family_collective.c. Types are declared here after NCCL's ABI
 * (nccl.h; the calls used are the same since 2.7).
 *
 * One process with several GPUs makes all its communicators at once and posts each call for all of them between group
 * marks. In a job each process has one, and NCCL's id comes through a file (rendezvous.h). There, how many calls are
 * made may not depend on a clock: ranks would disagree.
 */
#include <math.h>
#include <string.h>

#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernels.h"
#include "sim/base/fault.h"

typedef struct ncclComm *NcclComm;
typedef struct {
  char internal[128];
} NcclId;

enum { NCCL_INT64 = 4, NCCL_FP16 = 6, NCCL_FP32 = 7, NCCL_BF16 = 9, NCCL_SUM = 0 };
enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, SEND_RECV };
enum { WARM_CALLS = 5, CALLS = 20, REPEATS = 9, SAMPLES = 64, MOST_GPUS = 64, WAIT_S = 120 };

typedef struct {
  int (*version)(int *ret_version);
  int (*unique_id)(NcclId *ret_id);
  int (*init_rank)(NcclComm *ret_comm, int n_ranks, NcclId id, int rank);
  int (*init_all)(NcclComm *ret_comms, int n, const int *devices);
  int (*destroy)(NcclComm comm);
  const char *(*error_text)(int result);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*all_reduce)(const void *in, void *out, size_t n, int type, int op, NcclComm comm, cudaStream_t stream);
  int (*all_gather)(const void *in, void *out, size_t n, int type, NcclComm comm, cudaStream_t stream);
  int (*reduce_scatter)(const void *in, void *out, size_t n, int type, int op, NcclComm comm, cudaStream_t stream);
  int (*broadcast)(const void *in, void *out, size_t n, int type, int root, NcclComm comm, cudaStream_t stream);
  int (*reduce)(const void *in, void *out, size_t n, int type, int op, int root, NcclComm comm, cudaStream_t stream);
  int (*send)(const void *in, size_t n, int type, int peer, NcclComm comm, cudaStream_t stream);
  int (*recv)(void *out, size_t n, int type, int peer, NcclComm comm, cudaStream_t stream);
} Nccl;

static const OrrCudaSymbol symbols[] = {
    {"ncclGetVersion", offsetof(Nccl, version)},
    {"ncclGetUniqueId", offsetof(Nccl, unique_id)},
    {"ncclCommInitRank", offsetof(Nccl, init_rank)},
    {"ncclCommInitAll", offsetof(Nccl, init_all)},
    {"ncclCommDestroy", offsetof(Nccl, destroy)},
    {"ncclGetErrorString", offsetof(Nccl, error_text)},
    {"ncclGroupStart", offsetof(Nccl, group_start)},
    {"ncclGroupEnd", offsetof(Nccl, group_end)},
    {"ncclAllReduce", offsetof(Nccl, all_reduce)},
    {"ncclAllGather", offsetof(Nccl, all_gather)},
    {"ncclReduceScatter", offsetof(Nccl, reduce_scatter)},
    {"ncclBroadcast", offsetof(Nccl, broadcast)},
    {"ncclReduce", offsetof(Nccl, reduce)},
    {"ncclSend", offsetof(Nccl, send)},
    {"ncclRecv", offsetof(Nccl, recv)},
};
static const char *const files[] = {"libnccl.so.2", NULL};

typedef struct {
  int device, rank;
  NcclComm comm;
  cudaStream_t stream;
  cudaEvent_t begin, end;
  char *in, *out; /* of the kernel that is prepared, or of interference */
  gsize bytes;    /* of each */
} Gpu;

struct OrrNcclGroup {
  Nccl nccl;
  OrrBench *bench;
  gint64 n_ranks;
  int n_gpus; /* of this process */
  Gpu gpus[MOST_GPUS];
};

char *orr_nccl_version(void) {
  Nccl nccl;
  int version = 0;
  if (!orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &nccl, NULL) || nccl.version(&version) != 0)
    return g_strdup("");
  return g_strdup_printf("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

static gboolean ok(const OrrNcclGroup *group, int result, const char *what, GError **error) {
  if (result == 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "NCCL: %s: %s", what, group->nccl.error_text(result));
  return FALSE;
}

/* --- Communicators --- */

static gboolean start_job(OrrNcclGroup *group, GError **error) {
  OrrRendezvous *rendezvous = &group->bench->rendezvous;
  NcclId id = {{0}};
  group->gpus[0].rank = (int)rendezvous->rank;
  gboolean fine = (rendezvous->rank != 0 || ok(group, group->nccl.unique_id(&id), "ncclGetUniqueId", error)) &&
                  orr_rendezvous_share(rendezvous, &id, sizeof id, WAIT_S, error) &&
                  ok(group, group->nccl.init_rank(&group->gpus[0].comm, (int)group->n_ranks, id, (int)rendezvous->rank),
                     "ncclCommInitRank", error);
  orr_rendezvous_end(rendezvous); /* the call above returns when all have met */
  return fine;
}

static gboolean start_all(OrrNcclGroup *group, GError **error) {
  NcclComm comms[MOST_GPUS] = {NULL};
  int devices[MOST_GPUS];
  for (int i = 0; i < group->n_gpus; i++) devices[i] = group->gpus[i].device;
  if (!ok(group, group->nccl.init_all(comms, group->n_gpus, devices), "ncclCommInitAll", error)) return FALSE;
  for (int i = 0; i < group->n_gpus; i++) group->gpus[i].comm = comms[i];
  return TRUE;
}

static gboolean start_gpu(Gpu *gpu, GError **error) {
  return orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error) &&
         orr_cuda_ok(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "cudaStreamCreate", error) &&
         orr_cuda_ok(cudaEventCreate(&gpu->begin), "cudaEventCreate", error) &&
         orr_cuda_ok(cudaEventCreate(&gpu->end), "cudaEventCreate", error);
}

static gboolean start(OrrNcclGroup *group, GError **error) {
  OrrBench *bench = group->bench;
  const gboolean is_job = bench->rendezvous.n_ranks > 1;
  gboolean fine = TRUE;
  group->n_gpus = is_job ? 1 : (int)MIN(bench->facts.n_gpus, MOST_GPUS);
  group->n_ranks = is_job ? bench->facts.n_ranks : group->n_gpus;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    /* The device that was asked for is the first rank: its events are read. */
    const int other = i <= bench->device ? i - 1 : i;
    group->gpus[i] = (Gpu){.device = is_job || i == 0 ? bench->device : other, .rank = i};
    fine = start_gpu(&group->gpus[i], error);
  }
  fine = fine && (is_job ? start_job(group, error) : start_all(group, error));
  return orr_cuda_ok(cudaSetDevice(bench->device), "cudaSetDevice", fine ? error : NULL) && fine;
}

gboolean orr_nccl_open(OrrBench *bench, GError **error) {
  if (bench->facts.n_ranks < 2) return TRUE;
  OrrNcclGroup *group = g_new0(OrrNcclGroup, 1);
  group->bench = bench;
  g_autoptr(GError) reason = NULL;
  if (!orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &group->nccl, &reason)) {
    g_free(group);
    if (bench->rendezvous.n_ranks == 1) return TRUE; /* collectives are passed over; the rest needs no NCCL */
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "a job of several ranks needs NCCL: %s", reason->message);
    return FALSE;
  }
  bench->nccl = group;
  return start(group, error);
}

static void free_buffers(Gpu *gpu) {
  if (gpu->in) cudaFree(gpu->in);
  if (gpu->out) cudaFree(gpu->out);
  gpu->in = gpu->out = NULL;
  gpu->bytes = 0;
}

void orr_nccl_free(OrrNcclGroup *group) {
  if (!group) return;
  for (int i = 0; i < group->n_gpus; i++) {
    Gpu *gpu = &group->gpus[i];
    if (cudaSetDevice(gpu->device) != cudaSuccess) continue;
    free_buffers(gpu);
    if (gpu->comm) group->nccl.destroy(gpu->comm);
    if (gpu->stream) cudaStreamDestroy(gpu->stream);
    if (gpu->begin) cudaEventDestroy(gpu->begin);
    if (gpu->end) cudaEventDestroy(gpu->end);
  }
  cudaSetDevice(group->bench->device);
  g_free(group);
}

gboolean orr_nccl_agree(OrrBench *bench, gint64 *number, GError **error) {
  OrrNcclGroup *group = bench->nccl;
  if (!group || bench->rendezvous.n_ranks < 2) return TRUE;
  Gpu *gpu = &group->gpus[0];
  gint64 *shared = NULL;
  gboolean fine =
      orr_cuda_ok(cudaMalloc((void **)&shared, sizeof *shared), "cudaMalloc", error) &&
      orr_cuda_ok(cudaMemcpy(shared, number, sizeof *number, cudaMemcpyHostToDevice), "cudaMemcpy", error) &&
      ok(group, group->nccl.broadcast(shared, shared, 1, NCCL_INT64, 0, gpu->comm, gpu->stream), "broadcast", error) &&
      orr_cuda_ok(cudaStreamSynchronize(gpu->stream), "broadcast", error) &&
      orr_cuda_ok(cudaMemcpy(number, shared, sizeof *number, cudaMemcpyDeviceToHost), "cudaMemcpy", error);
  if (shared) cudaFree(shared);
  return fine;
}

/* --- A collective --- */

typedef struct {
  int op, type;
  OrrFormat format;
  gsize n; /* elements of the whole buffer, a multiple of the ranks */
} Call;

/* Each rank sends a share to each other, and receives one. */
static int all_to_all(const OrrNcclGroup *group, const Gpu *gpu, const Call *call, cudaStream_t stream) {
  const gsize share = call->n / (gsize)group->n_ranks, bytes = orr_format_bytes(call->format, share);
  int result = 0;
  for (int peer = 0; peer < group->n_ranks && result == 0; peer++) {
    result = group->nccl.send(gpu->in + (gsize)peer * bytes, share, call->type, peer, gpu->comm, stream);
    if (result == 0)
      result = group->nccl.recv(gpu->out + (gsize)peer * bytes, share, call->type, peer, gpu->comm, stream);
  }
  return result;
}

static int post(const OrrNcclGroup *group, const Gpu *gpu, const Call *call, cudaStream_t stream) {
  const Nccl *nccl = &group->nccl;
  const int n_ranks = (int)group->n_ranks, next = (gpu->rank + 1) % n_ranks, last = (gpu->rank + n_ranks - 1) % n_ranks;
  const gsize share = call->n / (gsize)n_ranks;
  switch (call->op) {
  case ALL_REDUCE:
    return nccl->all_reduce(gpu->in, gpu->out, call->n, call->type, NCCL_SUM, gpu->comm, stream);
  case ALL_GATHER:
    return nccl->all_gather(gpu->in, gpu->out, share, call->type, gpu->comm, stream);
  case REDUCE_SCATTER:
    return nccl->reduce_scatter(gpu->in, gpu->out, share, call->type, NCCL_SUM, gpu->comm, stream);
  case BROADCAST:
    return nccl->broadcast(gpu->in, gpu->out, call->n, call->type, 0, gpu->comm, stream);
  case REDUCE:
    return nccl->reduce(gpu->in, gpu->out, call->n, call->type, NCCL_SUM, 0, gpu->comm, stream);
  case ALL_TO_ALL:
    return all_to_all(group, gpu, call, stream);
  default: {
    const int result = nccl->send(gpu->in, call->n, call->type, next, gpu->comm, stream);
    return result ? result : nccl->recv(gpu->out, call->n, call->type, last, gpu->comm, stream);
  }
  }
}

/* On every GPU of the process; on the first one's @first if that is not NULL. */
static gboolean post_all(const OrrNcclGroup *group, const Call *call, cudaStream_t first, GError **error) {
  int result = group->nccl.group_start();
  for (int i = 0; i < group->n_gpus && result == 0; i++)
    result = post(group, &group->gpus[i], call, i == 0 && first ? first : group->gpus[i].stream);
  const int ended = group->nccl.group_end();
  return ok(group, result ? result : ended, "collective", error);
}

/* --- Buffers --- */

static gboolean make_buffers(OrrNcclGroup *group, gsize bytes, GError **error) {
  gboolean fine = TRUE;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    Gpu *gpu = &group->gpus[i];
    fine = orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error);
    if (!fine || gpu->bytes >= bytes) continue;
    free_buffers(gpu);
    fine = orr_cuda_ok(cudaMalloc((void **)&gpu->in, bytes), "cudaMalloc", error) &&
           orr_cuda_ok(cudaMalloc((void **)&gpu->out, bytes), "cudaMalloc", error);
    if (fine) gpu->bytes = bytes;
  }
  return orr_cuda_ok(cudaSetDevice(group->bench->device), "cudaSetDevice", fine ? error : NULL) && fine;
}

/* Every element of rank r is r + 1 (@is_random FALSE), or random. */
static gboolean fill_buffers(OrrNcclGroup *group, const Call *call, gboolean is_random, GError **error) {
  gboolean fine = TRUE;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    Gpu *gpu = &group->gpus[i];
    fine = orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error) &&
           orr_cuda_launched(
               is_random
                   ? orr_kernel_fill(gpu->in, (int)call->format, call->n, 7 + (guint64)gpu->rank, gpu->stream)
                   : orr_kernel_fill_constant(gpu->in, (int)call->format, call->n, (float)(gpu->rank + 1), gpu->stream),
               "fill", error) &&
           orr_cuda_ok(cudaStreamSynchronize(gpu->stream), "fill", error);
  }
  return orr_cuda_ok(cudaSetDevice(group->bench->device), "cudaSetDevice", fine ? error : NULL) && fine;
}

static gboolean wait_all(OrrNcclGroup *group, GError **error) {
  for (int i = 0; i < group->n_gpus; i++)
    if (!orr_cuda_ok(cudaStreamSynchronize(group->gpus[i].stream), "collective", error)) return FALSE;
  return TRUE;
}

/* What element @at of the first GPU's output must be, where rank r sent r + 1 everywhere; NAN: nothing arrives. */
static double expected(const OrrNcclGroup *group, const Call *call, gsize at) {
  const Gpu *gpu = &group->gpus[0];
  const double n = (double)group->n_ranks, sum = n * (n + 1) / 2;
  const gsize share = call->n / (gsize)group->n_ranks;
  switch (call->op) {
  case ALL_REDUCE:
    return sum;
  case REDUCE:
    return gpu->rank == 0 ? sum : NAN;
  case REDUCE_SCATTER:
    return at < share ? sum : NAN;
  case BROADCAST:
    return 1;
  case SEND_RECV:
    return gpu->rank == 0 ? n : gpu->rank;
  default:
    return (double)(at / share) + 1;
  }
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  OrrNcclGroup *group = kernel->bench->nccl;
  const Call *call = kernel->state;
  OrrVerdict verdict = {.limit = orr_format_limit(call->format)};
  if (!fill_buffers(group, call, FALSE, error) || !post_all(group, call, NULL, error) || !wait_all(group, error))
    return FALSE;
  for (gsize i = 0; i < SAMPLES; i++) {
    const gsize at = i * (call->n - 1) / (SAMPLES - 1);
    const double wanted = expected(group, call, at);
    double found = 0;
    if (isnan(wanted)) continue;
    if (!orr_cuda_read(group->gpus[0].out, call->format, at, 1, 1, &found, error)) return FALSE;
    orr_cuda_judge(&verdict, found, wanted, wanted);
  }
  *ret_verdict = verdict;
  return fill_buffers(group, call, TRUE, error);
}

/* --- Timing --- */

/* Microseconds of one call: the slowest GPU's of this process. */
static gboolean repeat(OrrNcclGroup *group, const Call *call, double *ret_us, GError **error) {
  *ret_us = 0;
  for (int i = 0; i < group->n_gpus; i++)
    if (!orr_cuda_ok(cudaEventRecord(group->gpus[i].begin, group->gpus[i].stream), "cudaEventRecord", error))
      return FALSE;
  for (int c = 0; c < CALLS; c++)
    if (!post_all(group, call, NULL, error)) return FALSE;
  for (int i = 0; i < group->n_gpus; i++)
    if (!orr_cuda_ok(cudaEventRecord(group->gpus[i].end, group->gpus[i].stream), "cudaEventRecord", error))
      return FALSE;
  if (!wait_all(group, error)) return FALSE;
  for (int i = 0; i < group->n_gpus; i++) {
    float ms = 0;
    if (!orr_cuda_ok(cudaEventElapsedTime(&ms, group->gpus[i].begin, group->gpus[i].end), "cudaEventElapsedTime",
                     error))
      return FALSE;
    *ret_us = fmax(*ret_us, ms * 1e3 / CALLS);
  }
  return TRUE;
}

static gboolean time_collective(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing, GError **error) {
  OrrNcclGroup *group = kernel->bench->nccl;
  double us[REPEATS];
  OrrTiming timing = {.calls = CALLS, .method = "stream"};
  (void)rule; /* a fixed number of calls: all ranks must make the same */
  for (int i = 0; i < WARM_CALLS; i++)
    if (!post_all(group, kernel->state, NULL, error)) return FALSE;
  if (!wait_all(group, error)) return FALSE;
  for (int i = 0; i < REPEATS; i++)
    if (!repeat(group, kernel->state, &us[i], error)) return FALSE;
  orr_nvml_sample(kernel->bench->nvml, &timing.watts, &timing.sm_clock_hz, &timing.memory_clock_hz);
  timing.watts = NAN; /* the repeats may be shorter than what power needs to settle */
  orr_cuda_summarize(us, REPEATS, &timing);
  *ret_timing = timing;
  return TRUE;
}

gboolean orr_cuda_prepare_collective(OrrKernel *kernel, GError **error) {
  static const int types[] = {NCCL_FP32, NCCL_FP16, NCCL_BF16};
  OrrNcclGroup *group = kernel->bench->nccl;
  if (!group) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "collective: NCCL (libnccl.so.2) was not found");
    return FALSE;
  }
  const gint64 *at = kernel->shape.at;
  Call *call = g_new0(Call, 1);
  *call = (Call){.op = (int)at[0], .type = types[at[1]], .format = (OrrFormat)at[1]};
  const gsize elements = (gsize)at[3] / orr_format_bytes(call->format, 1);
  call->n = MAX(elements / (gsize)group->n_ranks, 1) * (gsize)group->n_ranks;
  kernel->state = call;
  kernel->clear = g_free;
  kernel->time = time_collective;
  kernel->verify = verify;
  return make_buffers(group, orr_format_bytes(call->format, call->n), error);
}

gboolean orr_nccl_all_reduce_beside(OrrBench *bench, gsize bytes, cudaStream_t device_stream, GError **error) {
  const Call call = {.op = ALL_REDUCE, .type = NCCL_BF16, .format = ORR_FORMAT_BF16, .n = bytes / 2};
  if (!bench->nccl) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "interference: NCCL (libnccl.so.2) was not found");
    return FALSE;
  }
  return make_buffers(bench->nccl, bytes, error) && post_all(bench->nccl, &call, device_stream, error);
}
