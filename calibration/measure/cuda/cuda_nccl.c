/*
 * cuda_nccl.c - opens NCCL's communicators and waits for collectives with a time limit.
 *
 * One process with several GPUs makes all its communicators at once. In a job each process has one,
 * and NCCL's id is passed through a file (rendezvous.h). A rank that fails reports it in another
 * file. A rank that waits for a collective reads that file, polls NCCL, and has a time limit
 * (stream_wait.h): if one rank fails, the others end and can say why.
 */
#include "calibration/measure/cuda/cuda_nccl.h"
#include "calibration/measure/cuda/vendor.h"

#include "calibration/measure/stream_wait.h"

enum { WAIT_S = 120, TALK_BYTES = 1024 };
enum { MAIN_STREAM, BESIDE_STREAM, FIRST_GPU_STREAM }; /* the streams to wait for */

static const OrrCudaSymbol symbols[] = {
    {"ncclGetVersion", offsetof(OrrNccl, version)},
    {"ncclGetUniqueId", offsetof(OrrNccl, unique_id)},
    {"ncclCommInitRank", offsetof(OrrNccl, init_rank)},
    {"ncclCommInitRankConfig", offsetof(OrrNccl, init_rank_config), TRUE},
    {"ncclCommSplit", offsetof(OrrNccl, split), TRUE},
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
static const char *const files[] = {ORR_VENDOR_CCL_FILES};

char *orr_cuda_nccl_version(void) {
  OrrNccl nccl;
  int version = 0;
  if (!orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &nccl, NULL) ||
      nccl.version(&version) != 0)
    return g_strdup("");
  return g_strdup_printf("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

/* A communicator that does not block answers "in progress": waits until it has done it. Ends with
 * the failure of another rank, or after WAIT_S. */
static gboolean wait_for_comm(const OrrNcclGroup *group, OrrNcclComm comm, const char *what,
                              GError **error) {
  const gint64 until_us = g_get_monotonic_time() + (gint64)WAIT_S * G_USEC_PER_SEC;
  int result = NCCL_IN_PROGRESS;
  for (;;) {
    if (group->nccl.async_error(comm, &result) != 0) result = NCCL_INTERNAL_ERROR;
    if (result != NCCL_IN_PROGRESS) break;
    g_autofree char *failed = orr_rendezvous_failed(&group->bench->rendezvous);
    if (failed) return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s", failed);
    if (g_get_monotonic_time() > until_us)
      return orr_fault_set(
          error, ORR_FAULT_RESOURCE,
          "NCCL: %s did not end in %d s: a rank is missing, or the network between "
          "the ranks does not work (NCCL_DEBUG=INFO says more)",
          what, WAIT_S);
    g_usleep(1000);
  }
  if (result == 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "NCCL: %s: %s", what,
                       group->nccl.error_text(result));
}

gboolean orr_nccl_ok(const OrrNcclGroup *group, int result, const char *what, GError **error) {
  const gboolean passes = result == NCCL_INVALID_ARGUMENT || result == NCCL_INVALID_USAGE;
  if (result == 0) return TRUE;
  if (result == NCCL_IN_PROGRESS) {
    for (int i = 0; i < group->n_gpus; i++)
      if (group->gpus[i].comm && !wait_for_comm(group, group->gpus[i].comm, what, error))
        return FALSE;
    return TRUE;
  }
  return orr_fault_set(error, passes ? ORR_FAULT_USAGE : ORR_FAULT_RESOURCE, "NCCL: %s: %s", what,
                       group->nccl.error_text(result));
}

/* --- Communicators --- */

/* Without blocking where NCCL can (2.14 on), since a rank may be lost between the meeting and this
 * call. */
static gboolean init_rank(OrrNcclGroup *group, OrrNcclId id, GError **error) {
  OrrNcclConfig config = ORR_NCCL_CONFIG(NCCL_CONFIG_FIRST, 0, G_MININT);
  OrrNcclGpu *gpu = &group->gpus[0];
  const int n = (int)group->n_ranks;
  return orr_nccl_ok(group,
                     group->nccl.init_rank_config
                         ? group->nccl.init_rank_config(&gpu->comm, n, id, gpu->rank, &config)
                         : group->nccl.init_rank(&gpu->comm, n, id, gpu->rank),
                     "ncclCommInitRank", error);
}

static gboolean start_job(OrrNcclGroup *group, GError **error) {
  OrrRendezvous *rendezvous = &group->bench->rendezvous;
  OrrNcclId id = {{0}};
  group->gpus[0].rank = (int)rendezvous->rank;
  const gboolean is_first = rendezvous->rank == 0;
  gboolean fine =
      (!is_first || (orr_nccl_ok(group, group->nccl.unique_id(&id), "ncclGetUniqueId", error) &&
                     orr_rendezvous_share(rendezvous, &id, sizeof id, WAIT_S, error))) &&
      orr_rendezvous_meet(rendezvous, WAIT_S, error) && /* NCCL would wait for a missing rank */
      (is_first || orr_rendezvous_share(rendezvous, &id, sizeof id, WAIT_S, error)) &&
      init_rank(group, id, error);
  orr_rendezvous_end(rendezvous); /* the call above returns when all have met */
  return fine;
}

static gboolean start_all(OrrNcclGroup *group, GError **error) {
  OrrNcclComm comms[ORR_NCCL_MOST_GPUS] = {NULL};
  int devices[ORR_NCCL_MOST_GPUS];
  for (int i = 0; i < group->n_gpus; i++) devices[i] = group->gpus[i].device;
  if (!orr_nccl_ok(group, group->nccl.init_all(comms, group->n_gpus, devices), "ncclCommInitAll",
                   error))
    return FALSE;
  for (int i = 0; i < group->n_gpus; i++) group->gpus[i].comm = comms[i];
  return TRUE;
}

static gboolean start_gpu(OrrNcclGpu *gpu, GError **error) {
  return orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error) &&
         orr_cuda_ok(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking),
                     "cudaStreamCreate", error) &&
         orr_cuda_ok(cudaEventCreate(&gpu->begin), "cudaEventCreate", error) &&
         orr_cuda_ok(cudaEventCreate(&gpu->end), "cudaEventCreate", error);
}

static gboolean start(OrrNcclGroup *group, GError **error) {
  OrrBench *bench = group->bench;
  const gboolean in_job = bench->rendezvous.n_ranks > 1;
  gboolean fine = TRUE;
  group->n_gpus = in_job ? 1 : (int)MIN(bench->facts.n_gpus, ORR_NCCL_MOST_GPUS);
  group->n_ranks = in_job ? bench->facts.n_ranks : group->n_gpus;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    /* The requested device is the first rank: its events are read. */
    const int other = i <= bench->device ? i - 1 : i;
    group->gpus[i] = (OrrNcclGpu){.device = in_job || i == 0 ? bench->device : other, .rank = i};
    fine = start_gpu(&group->gpus[i], error);
  }
  fine = fine && orr_cuda_ok(cudaSetDevice(bench->device), "cudaSetDevice", error) &&
         orr_cuda_ok(cudaMalloc((void **)&group->talk, TALK_BYTES), "cudaMalloc", error) &&
         (in_job ? start_job(group, error) : start_all(group, error));
  return orr_cuda_ok(cudaSetDevice(bench->device), "cudaSetDevice", fine ? error : NULL) && fine;
}

static gboolean is_job(const OrrBench *bench) { return bench->rendezvous.n_ranks > 1; }

/* Graphs would otherwise register user buffers with NCCL (NCCL_GRAPH_REGISTER, on by default),
 * which frameworks' eager calls do not: large sizes would take different times. A value set by
 * the user is kept. */
static void part_free(gpointer data);

static gboolean try_open(OrrBench *bench, GError **error) {
  g_setenv("NCCL_GRAPH_REGISTER", "0", FALSE);
  OrrNcclGroup *group = g_new0(OrrNcclGroup, 1);
  group->bench = bench;
  group->parts = g_ptr_array_new_with_free_func(part_free);
  if (orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &group->nccl, error) &&
      start(group, error)) {
    bench->nccl = group;
    return TRUE;
  }
  orr_cuda_nccl_free(group);
  return FALSE;
}

OrrNcclGroup *orr_cuda_nccl_of(OrrBench *bench, GError **error) {
  g_autoptr(GError) reason = NULL;
  if (bench->nccl) return bench->nccl;
  if (!bench->no_nccl && try_open(bench, &reason)) return bench->nccl;
  if (!bench->no_nccl) bench->no_nccl = g_strdup(reason->message);
  if (is_job(bench))
    return orr_fault_null(error, ORR_FAULT_RESOURCE, "a job of several ranks needs NCCL: %s",
                          bench->no_nccl);
  return orr_fault_null(error, ORR_FAULT_USAGE, "collectives need NCCL: %s", bench->no_nccl);
}

void orr_nccl_quiesce(OrrNcclGroup *group) {
  for (int i = 0; i < group->n_gpus; i++)
    if (group->gpus[i].stream && cudaStreamQuery(group->gpus[i].stream) == cudaErrorNotReady) {
      (void)cudaGetLastError();
      orr_cuda_wait(group->bench, NULL);
      return;
    }
}

void orr_cuda_nccl_free(OrrNcclGroup *group) {
  if (!group) return;
  orr_nccl_quiesce(group); /* freeing memory waits for the device, with no time limit */
  g_ptr_array_set_size(group->parts, 0);
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
  g_ptr_array_unref(group->parts);
  g_free(group);
}

/* --- The first ranks alone, and fewer thread blocks --- */

static void part_free(gpointer data) {
  OrrNcclGroup *part = data;
  for (int i = 0; i < part->n_gpus; i++)
    if (part->gpus[i].comm) part->nccl.destroy(part->gpus[i].comm);
  g_free(part);
}

/* All ranks of a job call it; those outside have no communicator of the part. */
static gboolean split_job(OrrNcclGroup *whole, OrrNcclGroup *part, GError **error) {
  const OrrNcclGpu *gpu = &whole->gpus[0];
  const gboolean is_in = gpu->rank < part->n_ranks;
  if (!whole->nccl.split)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "collectives of some of the job's ranks need NCCL 2.18 or newer");
  part->n_gpus = is_in ? 1 : 0;
  const int result =
      whole->nccl.split(gpu->comm, is_in ? 0 : NCCL_NO_COLOR, gpu->rank, &part->gpus[0].comm, NULL);
  return orr_nccl_ok(whole, result, "ncclCommSplit", error) &&
         (!is_in || wait_for_comm(part, part->gpus[0].comm, "ncclCommSplit", error));
}

/* All GPUs of the process, which one thread opens: between group marks, each with its device. */
static gboolean start_limited(OrrNcclGroup *part, GError **error) {
  OrrNcclConfig config = ORR_NCCL_CONFIG(NCCL_CONFIG_BLOCKS, 1, part->blocks);
  const OrrNccl *nccl = &part->nccl;
  OrrNcclId id = {{0}};
  int version = 0;
  if (nccl->version(&version) != 0 || version < NCCL_CONFIG_BLOCKS || !nccl->init_rank_config)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "collectives of few thread blocks need NCCL 2.17 or newer");
  int result = nccl->unique_id(&id);
  if (result == 0) result = nccl->group_start();
  for (int i = 0; i < part->n_gpus && result == 0; i++)
    result = cudaSetDevice(part->gpus[i].device) == cudaSuccess
                 ? nccl->init_rank_config(&part->gpus[i].comm, part->n_gpus, id, i, &config)
                 : NCCL_INTERNAL_ERROR;
  const int ended = nccl->group_end();
  cudaSetDevice(part->bench->device);
  return orr_nccl_ok(part, result ? result : ended, "ncclCommInitRankConfig", error);
}

static OrrNcclGroup *part_of(OrrNcclGroup *whole, gint64 n_ranks, int blocks, GError **error) {
  ORR_EACH_POINTER(OrrNcclGroup, part, whole->parts)
    if (part->n_ranks == n_ranks && part->blocks == blocks) return part;
  OrrNcclGroup *part = g_memdup2(whole, sizeof *whole);
  part->n_ranks = n_ranks;
  part->n_gpus = (int)MIN(n_ranks, whole->n_gpus);
  part->blocks = blocks;
  part->parts = NULL;
  for (int i = 0; i < ORR_NCCL_MOST_GPUS; i++) part->gpus[i].comm = NULL;
  const gboolean fine = is_job(whole->bench) ? split_job(whole, part, error)
                        : blocks > 0         ? start_limited(part, error)
                                             : start_all(part, error);
  if (!fine) {
    part_free(part);
    return NULL;
  }
  g_ptr_array_add(whole->parts, part);
  return part;
}

OrrNcclGroup *orr_cuda_nccl_limited(OrrBench *bench, int blocks, GError **error) {
  OrrNcclGroup *whole = orr_cuda_nccl_of(bench, error);
  return !whole || blocks == 0 ? whole : part_of(whole, whole->n_ranks, blocks, error);
}

OrrNcclGroup *orr_cuda_nccl_first(OrrBench *bench, gint64 n_ranks, GError **error) {
  OrrNcclGroup *whole = orr_cuda_nccl_of(bench, error);
  return !whole || n_ranks == whole->n_ranks ? whole : part_of(whole, n_ranks, 0, error);
}

/* --- Waiting --- */

static void abort_comms(OrrNcclGroup *group) {
  for (int i = 0; i < group->n_gpus; i++)
    if (group->gpus[i].comm) group->nccl.give_up(g_steal_pointer(&group->gpus[i].comm));
}

static void abort_all(OrrNcclGroup *group) {
  for (guint i = 0; i < group->parts->len; i++) abort_comms(group->parts->pdata[i]);
  abort_comms(group);
}

static OrrStreamState stream_state(gpointer user, int stream, GError **error) {
  const OrrBench *bench = user;
  const cudaStream_t streams[] = {bench->stream, bench->beside};
  const cudaError_t code = cudaStreamQuery(
      stream < FIRST_GPU_STREAM ? streams[stream]
                                : bench->nccl->gpus[stream - FIRST_GPU_STREAM].stream);
  if (code == cudaErrorNotReady) (void)cudaGetLastError(); /* an answer, not an error */
  if (code == cudaErrorNotReady) return ORR_STREAM_BUSY;
  return orr_cuda_ok(code, "work on the GPU", error) ? ORR_STREAM_DONE : ORR_STREAM_FAILED;
}

/* Whether NCCL and the other ranks are still working. */
static gboolean is_hopeful(gpointer user, int stream, GError **error) {
  OrrBench *bench = user;
  const OrrNcclGroup *group = bench->nccl;
  int result = 0;
  g_autofree char *failed = orr_rendezvous_failed(&bench->rendezvous);
  if (failed) return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s", failed);
  const OrrNcclComm comm = group ? group->gpus[MAX(stream - FIRST_GPU_STREAM, 0)].comm : NULL;
  if (!comm ||
      (group->nccl.async_error(comm, &result) == 0 && (result == 0 || result == NCCL_IN_PROGRESS)))
    return TRUE;
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "NCCL: %s", group->nccl.error_text(result));
}

static void give_up(gpointer user) {
  OrrBench *bench = user;
  if (bench->nccl) abort_all(bench->nccl);
}

static gint64 now_us(gpointer user) { return g_get_monotonic_time(); }

static void pause_for(gpointer user, gint64 us) { g_usleep((gulong)us); }

gboolean orr_cuda_wait(OrrBench *bench, GError **error) {
  static const OrrStreamCalls calls = {stream_state, is_hopeful, give_up, now_us, pause_for};
  const int n_streams = FIRST_GPU_STREAM + (bench->nccl ? bench->nccl->n_gpus : 0);
  return orr_stream_wait(&calls, bench, n_streams, WAIT_S, error);
}

/* --- Communication between ranks --- */

/* Copies to and from the first GPU's buffer, in the order of its stream: the legacy stream would
 * not wait for it. */
static gboolean put(OrrNcclGroup *group, const void *bytes, gsize n, GError **error) {
  g_assert(n <= TALK_BYTES);
  return orr_cuda_ok(
      cudaMemcpyAsync(group->talk, bytes, n, cudaMemcpyHostToDevice, group->gpus[0].stream),
      "upload", error);
}

static gboolean get(OrrNcclGroup *group, void *bytes, gsize n, GError **error) {
  return orr_cuda_wait(group->bench, error) &&
         orr_cuda_ok(
             cudaMemcpyAsync(bytes, group->talk, n, cudaMemcpyDeviceToHost, group->gpus[0].stream),
             "download", error) &&
         orr_cuda_wait(group->bench, error);
}

/* Copies @bytes of rank @root to all ranks. */
static gboolean spread(OrrNcclGroup *group, void *bytes, gsize n, int root, GError **error) {
  OrrNcclGpu *gpu = &group->gpus[0];
  return put(group, bytes, n, error) &&
         orr_nccl_ok(group,
                     group->nccl.broadcast(group->talk, group->talk, n, NCCL_INT8, root, gpu->comm,
                                           gpu->stream),
                     "broadcast", error) &&
         get(group, bytes, n, error);
}

static gboolean greatest(OrrNcclGroup *group, gint64 *number, GError **error) {
  OrrNcclGpu *gpu = &group->gpus[0];
  return put(group, number, sizeof *number, error) &&
         orr_nccl_ok(group,
                     group->nccl.all_reduce(group->talk, group->talk, 1, NCCL_INT64, NCCL_MAX,
                                            gpu->comm, gpu->stream),
                     "all-reduce", error) &&
         get(group, number, sizeof *number, error);
}

gboolean orr_cuda_nccl_agree(OrrBench *bench, gint64 *number, GError **error) {
  if (!is_job(bench)) return TRUE;
  OrrNcclGroup *group = orr_cuda_nccl_of(bench, error);
  return group && spread(group, number, sizeof *number, 0, error);
}

/* Orders ranks by the gravity of their failure, then by rank, the lowest first: the largest
 * number wins. */
gboolean orr_cuda_nccl_settle(OrrBench *bench, const char *mine, gboolean mine_ends_job,
                              OrrJobWord *ret_word, GError **error) {
  const gint64 rank = bench->facts.rank, span = (gint64)1 << 32;
  OrrJobWord word = mine ? orr_job_word(rank, mine, mine_ends_job) : (OrrJobWord){.rank = -1};
  gint64 worst = mine ? (mine_ends_job ? 2 : 1) * span + (span - 1 - rank) : 0;
  if (is_job(bench)) {
    OrrNcclGroup *group = orr_cuda_nccl_of(bench, error);
    if (!group || !greatest(group, &worst, error)) return FALSE;
    if (worst > 0 && !spread(group, &word, sizeof word, (int)(span - 1 - worst % span), error))
      return FALSE;
  }
  *ret_word = word;
  return TRUE;
}

void orr_cuda_nccl_fail(OrrBench *bench, const char *reason) {
  orr_rendezvous_fail(&bench->rendezvous,
                      reason); /* first, because others read it when they see the abort */
  if (bench->nccl) abort_all(bench->nccl);
}
