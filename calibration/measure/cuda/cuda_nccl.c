/*
 * cuda_nccl.c - see cuda_nccl.h.
 *
 * One process with several GPUs makes all its communicators at once. In a job each process has one, and NCCL's id comes
 * through a file (rendezvous.h). A rank that fails says so in another file; who waits for a collective looks there,
 * asks NCCL, and has a time limit: whatever happens to one rank, the others end, and can say why.
 */
#include "calibration/measure/cuda/cuda_nccl.h"

#include <string.h>

#include "sim/base/fault.h"

enum { WAIT_S = 120, LOOK_US = 250000, TALK_BYTES = 1024 };

static const OrrCudaSymbol symbols[] = {
    {"ncclGetVersion", offsetof(OrrNccl, version)},
    {"ncclGetUniqueId", offsetof(OrrNccl, unique_id)},
    {"ncclCommInitRank", offsetof(OrrNccl, init_rank)},
    {"ncclCommInitAll", offsetof(OrrNccl, init_all)},
    {"ncclCommDestroy", offsetof(OrrNccl, destroy)},
    {"ncclCommAbort", offsetof(OrrNccl, give_up)},
    {"ncclCommGetAsyncError", offsetof(OrrNccl, async_error)},
    {"ncclGetErrorString", offsetof(OrrNccl, error_text)},
    {"ncclGroupStart", offsetof(OrrNccl, group_start)},
    {"ncclGroupEnd", offsetof(OrrNccl, group_end)},
    {"ncclAllReduce", offsetof(OrrNccl, all_reduce)},
    {"ncclAllGather", offsetof(OrrNccl, all_gather)},
    {"ncclReduceScatter", offsetof(OrrNccl, reduce_scatter)},
    {"ncclBroadcast", offsetof(OrrNccl, broadcast)},
    {"ncclReduce", offsetof(OrrNccl, reduce)},
    {"ncclSend", offsetof(OrrNccl, send)},
    {"ncclRecv", offsetof(OrrNccl, recv)},
};
static const char *const files[] = {"libnccl.so.2", NULL};

char *orr_nccl_version(void) {
  OrrNccl nccl;
  int version = 0;
  if (!orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &nccl, NULL) || nccl.version(&version) != 0)
    return g_strdup("");
  return g_strdup_printf("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

gboolean orr_nccl_ok(const OrrNcclGroup *group, int result, const char *what, GError **error) {
  const gboolean passes = result == NCCL_INVALID_ARGUMENT || result == NCCL_INVALID_USAGE;
  if (result == 0) return TRUE;
  g_set_error(error, ORR_FAULT, passes ? ORR_FAULT_USAGE : ORR_FAULT_RESOURCE, "NCCL: %s: %s", what,
              group->nccl.error_text(result));
  return FALSE;
}

/* --- Communicators --- */

static gboolean start_job(OrrNcclGroup *group, GError **error) {
  OrrRendezvous *rendezvous = &group->bench->rendezvous;
  OrrNcclId id = {{0}};
  group->gpus[0].rank = (int)rendezvous->rank;
  gboolean fine =
      (rendezvous->rank != 0 || orr_nccl_ok(group, group->nccl.unique_id(&id), "ncclGetUniqueId", error)) &&
      orr_rendezvous_share(rendezvous, &id, sizeof id, WAIT_S, error) &&
      orr_rendezvous_meet(rendezvous, WAIT_S, error) && /* NCCL would wait for who never comes */
      orr_nccl_ok(group, group->nccl.init_rank(&group->gpus[0].comm, (int)group->n_ranks, id, (int)rendezvous->rank),
                  "ncclCommInitRank", error);
  orr_rendezvous_end(rendezvous); /* the call above returns when all have met */
  return fine;
}

static gboolean start_all(OrrNcclGroup *group, GError **error) {
  OrrNcclComm comms[ORR_NCCL_MOST_GPUS] = {NULL};
  int devices[ORR_NCCL_MOST_GPUS];
  for (int i = 0; i < group->n_gpus; i++) devices[i] = group->gpus[i].device;
  if (!orr_nccl_ok(group, group->nccl.init_all(comms, group->n_gpus, devices), "ncclCommInitAll", error)) return FALSE;
  for (int i = 0; i < group->n_gpus; i++) group->gpus[i].comm = comms[i];
  return TRUE;
}

static gboolean start_gpu(OrrNcclGpu *gpu, GError **error) {
  return orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error) &&
         orr_cuda_ok(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "cudaStreamCreate", error) &&
         orr_cuda_ok(cudaEventCreate(&gpu->begin), "cudaEventCreate", error) &&
         orr_cuda_ok(cudaEventCreate(&gpu->end), "cudaEventCreate", error);
}

static gboolean start(OrrNcclGroup *group, GError **error) {
  OrrBench *bench = group->bench;
  const gboolean is_job = bench->rendezvous.n_ranks > 1;
  gboolean fine = TRUE;
  group->n_gpus = is_job ? 1 : (int)MIN(bench->facts.n_gpus, ORR_NCCL_MOST_GPUS);
  group->n_ranks = is_job ? bench->facts.n_ranks : group->n_gpus;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    /* The device that was asked for is the first rank: its events are read. */
    const int other = i <= bench->device ? i - 1 : i;
    group->gpus[i] = (OrrNcclGpu){.device = is_job || i == 0 ? bench->device : other, .rank = i};
    fine = start_gpu(&group->gpus[i], error);
  }
  fine = fine && orr_cuda_ok(cudaSetDevice(bench->device), "cudaSetDevice", error) &&
         orr_cuda_ok(cudaMalloc((void **)&group->talk, TALK_BYTES), "cudaMalloc", error) &&
         (is_job ? start_job(group, error) : start_all(group, error));
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

void orr_nccl_free(OrrNcclGroup *group) {
  if (!group) return;
  for (int i = 0; i < group->n_gpus; i++) {
    OrrNcclGpu *gpu = &group->gpus[i];
    if (cudaSetDevice(gpu->device) != cudaSuccess) continue;
    if (gpu->in) cudaFree(gpu->in);
    if (gpu->out) cudaFree(gpu->out);
    if (gpu->comm) group->nccl.destroy(gpu->comm);
    if (gpu->stream) cudaStreamDestroy(gpu->stream);
    if (gpu->begin) cudaEventDestroy(gpu->begin);
    if (gpu->end) cudaEventDestroy(gpu->end);
  }
  cudaSetDevice(group->bench->device);
  if (group->talk) cudaFree(group->talk);
  g_free(group);
}

/* --- Waiting --- */

static void abort_all(OrrNcclGroup *group) {
  for (int i = 0; i < group->n_gpus; i++)
    if (group->gpus[i].comm) group->nccl.give_up(g_steal_pointer(&group->gpus[i].comm));
}

/* FALSE: there is nothing to wait for any more. */
static gboolean may_wait_on(OrrNcclGroup *group, const OrrNcclGpu *gpu, gint64 until_us, GError **error) {
  int result = 0;
  g_autofree char *failed = orr_rendezvous_failed(&group->bench->rendezvous);
  if (failed)
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "%s", failed);
  else if (group->nccl.async_error(gpu->comm, &result) != 0 || (result != 0 && result != NCCL_IN_PROGRESS))
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "NCCL: %s", group->nccl.error_text(result));
  else if (g_get_monotonic_time() > until_us)
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE,
                "NCCL: a collective did not end in %d s: a rank has failed without a word, or hangs", WAIT_S);
  else
    return TRUE;
  return FALSE;
}

static gboolean wait_for(OrrNcclGroup *group, const OrrNcclGpu *gpu, gint64 until_us, GError **error) {
  gint64 look_us = g_get_monotonic_time() + LOOK_US;
  for (guint n = 0;; n++) {
    const cudaError_t code = cudaStreamQuery(gpu->stream);
    if (code != cudaErrorNotReady) return orr_cuda_ok(code, "collective", error);
    if (n > 1000) g_usleep(50); /* short calls are not kept waiting, long ones do not burn a core */
    if (n < 1000 || g_get_monotonic_time() < look_us) continue;
    if (!may_wait_on(group, gpu, until_us, error)) return FALSE;
    look_us = g_get_monotonic_time() + LOOK_US;
  }
}

gboolean orr_nccl_wait(OrrNcclGroup *group, GError **error) {
  const gint64 until_us = g_get_monotonic_time() + (gint64)WAIT_S * G_USEC_PER_SEC;
  for (int i = 0; i < group->n_gpus; i++)
    if (!wait_for(group, &group->gpus[i], until_us, error)) {
      abort_all(group);
      return FALSE;
    }
  return TRUE;
}

/* --- Talking --- */

/* @bytes of rank @root come to all. */
static gboolean spread(OrrNcclGroup *group, void *bytes, gsize n, int root, GError **error) {
  OrrNcclGpu *gpu = &group->gpus[0];
  g_assert(n <= TALK_BYTES);
  return orr_cuda_ok(cudaMemcpy(group->talk, bytes, n, cudaMemcpyHostToDevice), "cudaMemcpy", error) &&
         orr_nccl_ok(group, group->nccl.broadcast(group->talk, group->talk, n, NCCL_INT8, root, gpu->comm, gpu->stream),
                     "broadcast", error) &&
         orr_nccl_wait(group, error) &&
         orr_cuda_ok(cudaMemcpy(bytes, group->talk, n, cudaMemcpyDeviceToHost), "cudaMemcpy", error);
}

static gboolean greatest(OrrNcclGroup *group, gint64 *number, GError **error) {
  OrrNcclGpu *gpu = &group->gpus[0];
  return orr_cuda_ok(cudaMemcpy(group->talk, number, sizeof *number, cudaMemcpyHostToDevice), "cudaMemcpy", error) &&
         orr_nccl_ok(group,
                     group->nccl.all_reduce(group->talk, group->talk, 1, NCCL_INT64, NCCL_MAX, gpu->comm, gpu->stream),
                     "all-reduce", error) &&
         orr_nccl_wait(group, error) &&
         orr_cuda_ok(cudaMemcpy(number, group->talk, sizeof *number, cudaMemcpyDeviceToHost), "cudaMemcpy", error);
}

static gboolean is_job(const OrrBench *bench) { return bench->nccl && bench->rendezvous.n_ranks > 1; }

gboolean orr_nccl_agree(OrrBench *bench, gint64 *number, GError **error) {
  return !is_job(bench) || spread(bench->nccl, number, sizeof *number, 0, error);
}

/* Ranks are ordered by how badly they are off, then the lowest first: the greatest of these numbers has the word. */
gboolean orr_nccl_settle(OrrBench *bench, const char *mine, gboolean mine_ends_job, OrrJobWord *ret_word,
                         GError **error) {
  const gint64 rank = bench->facts.rank, span = (gint64)1 << 32;
  OrrJobWord word = mine ? orr_job_word(rank, mine, mine_ends_job) : (OrrJobWord){.rank = -1};
  gint64 worst = mine ? (mine_ends_job ? 2 : 1) * span + (span - 1 - rank) : 0;
  if (is_job(bench)) {
    if (!greatest(bench->nccl, &worst, error)) return FALSE;
    if (worst > 0 && !spread(bench->nccl, &word, sizeof word, (int)(span - 1 - worst % span), error)) return FALSE;
  }
  *ret_word = word;
  return TRUE;
}

void orr_nccl_fail(OrrBench *bench, const char *reason) {
  orr_rendezvous_fail(&bench->rendezvous, reason); /* first: others look there when they see the abort */
  if (bench->nccl) abort_all(bench->nccl);
}
