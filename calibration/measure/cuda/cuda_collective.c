/*
 * cuda_collective.c - NCCL's collectives; see family_collective.c and cuda_nccl.h.
 *
 * One repeat, on each GPU of the process:
 *
 *   hold | all-reduce of one element | begin | call 1 ... call 20 | end
 *
 * The hold (timing.h) lasts until the host has posted everything, so that small sizes do not
 * measure the posting speed of one thread for eight GPUs. The one-element all-reduce ends on all
 * GPUs at nearly the same time, so that no GPU's 20 calls include waiting for another GPU's hold.
 * The time is the slowest GPU's.
 *
 * A process with one GPU (a rank of a job) replays the 20 calls from a CUDA graph, as nccl-tests
 * does with -G. One with several GPUs posts them, between group marks, one by one: NCCL's user
 * guide warns that with several GPUs in a process "cudaGraphLaunch may block, preventing the launch
 * across all GPUs" ("Using NCCL with CUDA Graphs", 2.30.7). The row's method says which it was.
 * nccl-tests' thread per GPU (-t), which NVIDIA aiconfigurator's collector uses, makes posting
 * faster; holding the stream takes it out of the time altogether.
 *
 * Buffers do not rotate, as in nccl-tests for buffers of the measured size.
 *
 * The number of calls must not depend on a rank's own clock, or ranks would disagree. Rank 0's
 * first repeat decides how many repeats fill the burst, and how long all ranks hold.
 */
#include "calibration/measure/cuda/cuda_nccl.h"
#include "calibration/measure/cuda/kernel.h"
#include "calibration/measure/power_window.h"

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, SEND_RECV };
enum { WARM_CALLS = 5, CALLS = 20, SAMPLES = 64 };

/* --- A collective --- */

typedef struct {
  int op, type;
  OrrFormat format;
  gsize n; /* elements of the whole buffer, a multiple of the ranks */
  OrrNcclGroup *group;
  cudaGraphExec_t graph; /* of CALLS calls; NULL: they are posted one by one */
} Call;

/* Each rank sends a slice to each other rank and receives one from it. */
static int all_to_all(const OrrNcclGroup *group, const OrrNcclGpu *gpu, const Call *call,
                      cudaStream_t stream) {
  const gsize share = call->n / (gsize)group->n_ranks,
              bytes = orr_format_bytes(call->format, share);
  int result = 0;
  for (int peer = 0; peer < group->n_ranks && result == 0; peer++) {
    result =
        group->nccl.send(gpu->in + (gsize)peer * bytes, share, call->type, peer, gpu->comm, stream);
    if (result == 0)
      result = group->nccl.recv(gpu->out + (gsize)peer * bytes, share, call->type, peer, gpu->comm,
                                stream);
  }
  return result;
}

static int post(const OrrNcclGroup *group, const OrrNcclGpu *gpu, const Call *call,
                cudaStream_t stream) {
  const OrrNccl *nccl = &group->nccl;
  const int n_ranks = (int)group->n_ranks, next = (gpu->rank + 1) % n_ranks,
            last = (gpu->rank + n_ranks - 1) % n_ranks;
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

/* Posts on every GPU of the process; on the first one to @first if that is not NULL. */
static gboolean post_all(const OrrNcclGroup *group, const Call *call, cudaStream_t first,
                         GError **error) {
  int result = group->nccl.group_start();
  for (int i = 0; i < group->n_gpus && result == 0; i++)
    result = post(group, &group->gpus[i], call, i == 0 && first ? first : group->gpus[i].stream);
  const int ended = group->nccl.group_end();
  return orr_nccl_ok(group, result ? result : ended, "collective", error);
}

/* --- Buffers --- */

/* Buffers are freed with their kernel: the following shapes need the 2 x 8 GiB on each GPU. */
void orr_cuda_collective_free_buffers(OrrNcclGroup *group) {
  orr_nccl_quiesce(group);
  for (int i = 0; i < group->n_gpus; i++) {
    OrrNcclGpu *gpu = &group->gpus[i];
    if (gpu->in) cudaFree(gpu->in);
    if (gpu->out) cudaFree(gpu->out);
    gpu->in = gpu->out = NULL;
  }
}

gboolean orr_cuda_collective_make_buffers(OrrNcclGroup *group, gsize bytes, GError **error) {
  gboolean fine = TRUE;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    OrrNcclGpu *gpu = &group->gpus[i];
    fine = orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error) &&
           orr_cuda_ok(cudaMalloc((void **)&gpu->in, bytes), "cudaMalloc", error) &&
           orr_cuda_ok(cudaMalloc((void **)&gpu->out, bytes), "cudaMalloc", error);
  }
  if (!fine)
    orr_cuda_collective_free_buffers(
        group); /* a partial allocation would take memory from the next shape */
  return orr_cuda_ok(cudaSetDevice(group->bench->device), "cudaSetDevice", fine ? error : NULL) &&
         fine;
}

/* Fills with the value of each rank (@is_random FALSE) or with random data. */
static gboolean fill_buffers(OrrNcclGroup *group, const Call *call, gboolean is_random,
                             GError **error) {
  gboolean fine = TRUE;
  for (int i = 0; i < group->n_gpus && fine; i++) {
    OrrNcclGpu *gpu = &group->gpus[i];
    fine = orr_cuda_ok(cudaSetDevice(gpu->device), "cudaSetDevice", error) &&
           orr_cuda_launched(is_random ? orr_kernel_fill(gpu->in, (int)call->format, call->n,
                                                         7 + (guint64)gpu->rank, gpu->stream)
                                       : orr_kernel_fill_constant(
                                             gpu->in, (int)call->format, call->n,
                                             (float)orr_reference_part(call->format, gpu->rank),
                                             gpu->stream),
                             "fill", error) &&
           orr_cuda_ok(cudaStreamSynchronize(gpu->stream), "fill", error);
  }
  return orr_cuda_ok(cudaSetDevice(group->bench->device), "cudaSetDevice", fine ? error : NULL) &&
         fine;
}

/* The expected element @at of the first GPU's output; NAN: nothing arrives. */
static double expected(const OrrNcclGroup *group, const Call *call, gsize at) {
  const OrrNcclGpu *gpu = &group->gpus[0];
  const double sum = orr_reference_parts(call->format, group->n_ranks);
  const gsize share = call->n / (gsize)group->n_ranks;
  switch (call->op) {
  case ALL_REDUCE:
    return sum;
  case REDUCE:
    return gpu->rank == 0 ? sum : NAN;
  case REDUCE_SCATTER:
    return at < share ? sum : NAN;
  case BROADCAST:
    return orr_reference_part(call->format, 0);
  case SEND_RECV:
    return orr_reference_part(call->format, gpu->rank == 0 ? group->n_ranks - 1 : gpu->rank - 1);
  default:
    return orr_reference_part(call->format, (gint64)(at / share));
  }
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const Call *call = kernel->state;
  OrrNcclGroup *group = call->group;
  OrrVerdict verdict = {.limit = orr_format_limit(call->format)};
  if (group->n_gpus == 0) return TRUE; /* others measure */
  if (!fill_buffers(group, call, FALSE, error) || !post_all(group, call, NULL, error) ||
      !orr_cuda_wait(group->bench, error))
    return FALSE;
  for (gsize i = 0; i < SAMPLES; i++) {
    const gsize at = i * (call->n - 1) / (SAMPLES - 1);
    const double wanted = expected(group, call, at);
    double found = 0;
    if (isnan(wanted)) continue;
    if (!orr_cuda_read(group->gpus[0].out, call->format, at, 1, 1, &found, error)) return FALSE;
    orr_cuda_judge(&verdict, found, wanted, fmax(fabs(wanted), 1));
  }
  *ret_verdict = verdict;
  return fill_buffers(group, call, TRUE, error);
}

/* --- Timing --- */

static gboolean record_all(OrrNcclGroup *group, gboolean is_end, GError **error) {
  for (int i = 0; i < group->n_gpus; i++) {
    const OrrNcclGpu *gpu = &group->gpus[i];
    if (!orr_cuda_ok(cudaEventRecord(is_end ? gpu->end : gpu->begin, gpu->stream),
                     "cudaEventRecord", error))
      return FALSE;
  }
  return TRUE;
}

static gboolean hold_all(OrrNcclGroup *group, double us, GError **error) {
  gboolean fine = TRUE;
  for (int i = 0; i < group->n_gpus && fine; i++)
    fine = orr_cuda_ok(cudaSetDevice(group->gpus[i].device), "cudaSetDevice", error) &&
           orr_cuda_hold(us, group->gpus[i].stream, error);
  return orr_cuda_ok(cudaSetDevice(group->bench->device), "cudaSetDevice", fine ? error : NULL) &&
         fine;
}

/* An all-reduce of one element of the outputs, with arbitrary values. */
static gboolean align_all(OrrNcclGroup *group, GError **error) {
  int result = group->nccl.group_start();
  for (int i = 0; i < group->n_gpus && result == 0; i++) {
    const OrrNcclGpu *gpu = &group->gpus[i];
    result =
        group->nccl.all_reduce(gpu->out, gpu->out, 1, NCCL_INT8, NCCL_MAX, gpu->comm, gpu->stream);
  }
  const int ended = group->nccl.group_end();
  return orr_nccl_ok(group, result ? result : ended, "all-reduce", error);
}

static gboolean post_calls(OrrNcclGroup *group, const Call *call, GError **error) {
  if (call->graph)
    return orr_cuda_ok(cudaGraphLaunch(call->graph, group->gpus[0].stream), "cudaGraphLaunch",
                       error);
  for (int c = 0; c < CALLS; c++)
    if (!post_all(group, call, NULL, error)) return FALSE;
  return TRUE;
}

static gboolean is_any_begun(const OrrNcclGroup *group) {
  for (int i = 0; i < group->n_gpus; i++)
    if (orr_cuda_is_reached(group->gpus[i].begin)) return TRUE;
  return FALSE;
}

/* The result of one repeat. */
typedef struct {
  double us;         /* of one call: the slowest GPU's of this process */
  double post_us;    /* time in which the host posted everything */
  gboolean was_held; /* whether the hold outlasted the posting */
} Repeat;

static gboolean slowest(OrrNcclGroup *group, double *ret_us, GError **error) {
  *ret_us = 0;
  for (int i = 0; i < group->n_gpus; i++) {
    float ms = 0;
    if (!orr_cuda_ok(cudaEventElapsedTime(&ms, group->gpus[i].begin, group->gpus[i].end),
                     "cudaEventElapsedTime", error))
      return FALSE;
    *ret_us = fmax(*ret_us, ms * 1e3 / CALLS);
  }
  return TRUE;
}

/* @sampled, if not NULL, gets the clocks amid it. */
static gboolean repeat(OrrNcclGroup *group, const Call *call, double hold_us, Repeat *ret_repeat,
                       OrrTiming *sampled, GError **error) {
  const gint64 begin_us = g_get_monotonic_time();
  if (!hold_all(group, hold_us, error) || !align_all(group, error) ||
      !record_all(group, FALSE, error) || !post_calls(group, call, error) ||
      !record_all(group, TRUE, error))
    return FALSE;
  ret_repeat->was_held = !is_any_begun(group);
  ret_repeat->post_us = (double)(g_get_monotonic_time() - begin_us);
  if (sampled) orr_nvml_clocks(group->bench->nvml, sampled);
  return orr_cuda_wait(group->bench, error) && slowest(group, &ret_repeat->us, error);
}

/* Captures the calls as a graph; TRUE if all ranks have one: either all ranks capture a call or
 * none does. A rank that measures nothing agrees. */
static gboolean capture(OrrNcclGroup *group, Call *call, GError **error) {
  const cudaStream_t stream = group->gpus[0].stream;
  cudaGraph_t graph = NULL;
  OrrJobWord word;
  gboolean fine = group->n_gpus == 1 &&
                  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
  if (fine) {
    fine = post_calls(group, call, NULL);
    fine = cudaStreamEndCapture(stream, &graph) == cudaSuccess && fine && graph;
  }
  if (!fine || cudaGraphInstantiate(&call->graph, graph, 0) != cudaSuccess) call->graph = NULL;
  if (graph) cudaGraphDestroy(graph);
  (void)cudaGetLastError(); /* a failed capture leaves its error behind */
  const char *reason = call->graph || group->n_gpus == 0 ? NULL : "no graph";
  if (!orr_cuda_nccl_settle(group->bench, reason, FALSE, &word, error)) return FALSE;
  if (word.rank >= 0 && call->graph) cudaGraphExecDestroy(g_steal_pointer(&call->graph));
  return TRUE;
}

/* The rounds of all ranks, as rank 0 decides; all lengthen the hold together. */
typedef struct {
  gint64 n_repeats, n_watched, hold_us;
} Rounds;

static gboolean plan_rounds(OrrNcclGroup *group, Call *call, const OrrTimingRule *rule,
                            Rounds *ret_rounds, GError **error) {
  Repeat first = {0};
  for (int i = 0; i < WARM_CALLS; i++)
    if (!post_all(group, call, NULL, error)) return FALSE;
  if (!orr_cuda_wait(group->bench, error) || (group->n_gpus <= 1 && !capture(group, call, error)) ||
      !repeat(group, call, ORR_HOLD_FIRST_US, &first, NULL,
              error) || /* loads what is not loaded yet */
      !repeat(group, call, ORR_HOLD_FIRST_US, &first, NULL, error))
    return FALSE;
  const double repeat_us = fmax(first.us * CALLS, 1);
  ret_rounds->hold_us = (gint64)orr_hold_for(first.post_us);
  ret_rounds->n_repeats =
      (gint64)CLAMP(ceil(rule->burst_s * 1e6 / repeat_us), rule->min_repeats, rule->max_repeats);
  /* A round takes at least the longer of the two: the window is filled. */
  const gboolean can_watch = group->bench->nvml && rule->watch_s > 0;
  const double window_us = can_watch ? (rule->settle_s + rule->watch_s) * 1e6 : 0;
  ret_rounds->n_watched = (gint64)ceil(window_us / fmax(repeat_us, first.post_us));
  return orr_cuda_nccl_agree(group->bench, &ret_rounds->hold_us, error) &&
         orr_cuda_nccl_agree(group->bench, &ret_rounds->n_repeats, error) &&
         orr_cuda_nccl_agree(group->bench, &ret_rounds->n_watched, error);
}

/* One series of repeats; @ret_counts: most were held, on every rank. */
static gboolean run_rounds(const Call *call, const Rounds *rounds, double hold_us,
                           OrrTiming *timing, gboolean *ret_counts, GError **error) {
  g_autofree double *us = g_new(double, rounds->n_repeats);
  gint64 n_unheld = 0;
  OrrJobWord word;
  for (gint64 i = 0; i < rounds->n_repeats; i++) {
    Repeat one;
    if (!repeat(call->group, call, hold_us, &one, i == rounds->n_repeats / 2 ? timing : NULL,
                error))
      return FALSE;
    us[i] = one.us;
    n_unheld += !one.was_held;
  }
  orr_timing_summarize(us, (guint)rounds->n_repeats, timing);
  if (!orr_cuda_nccl_settle(call->group->bench, 2 * n_unheld >= rounds->n_repeats ? "unheld" : NULL,
                            FALSE, &word, error))
    return FALSE;
  *ret_counts = word.rank < 0 || hold_us <= 0;
  return TRUE;
}

/* Watches the power of the first GPU, over the same number of repeats on all ranks. */
static gboolean watch_power(OrrNcclGroup *group, const Call *call, const OrrTimingRule *rule,
                            gint64 n, OrrTiming *timing, GError **error) {
  OrrPowerWindow window = orr_power_window_new(rule->settle_s, rule->watch_s);
  const gint64 begin_us = g_get_monotonic_time();
  double memory_hz;
  for (gint64 i = 0; i < n; i++) {
    if (!post_calls(group, call, error)) return FALSE;
    orr_nvml_read_into(group->bench->nvml, begin_us, &window);
    if (!orr_cuda_wait(group->bench, error)) return FALSE;
  }
  if (n > 0) timing->sustained_gpus = group->n_gpus;
  if (n > 0)
    orr_power_window_result(&window, &timing->watts, &timing->sustained_sm_clock_hz, &memory_hz);
  return TRUE;
}

static gboolean time_collective(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                                GError **error) {
  Call *call = kernel->state;
  Rounds rounds = {0};
  if (!plan_rounds(call->group, call, rule, &rounds, error)) return FALSE;
  OrrTiming timing = orr_timing_of("", CALLS);
  OrrHold hold = {.us = (double)rounds.hold_us};
  for (gboolean counts = FALSE; !counts;) {
    if (!run_rounds(call, &rounds, hold.us, &timing, &counts, error)) return FALSE;
    if (!counts) orr_hold_take(&hold, FALSE);
  }
  timing.method = orr_hold_method(&hold, call->graph != NULL);
  if (!watch_power(call->group, call, rule, rounds.n_watched, &timing, error)) return FALSE;
  *ret_timing = timing;
  return TRUE;
}

static void call_free(gpointer data) {
  Call *call = data;
  orr_cuda_collective_free_buffers(call->group);
  if (call->graph) cudaGraphExecDestroy(call->graph);
  g_free(call);
}

gboolean orr_cuda_prepare_collective(OrrKernel *kernel, GError **error) {
  static const int types[] = {NCCL_FP32, NCCL_FP16, NCCL_BF16, NCCL_E4M3};
  const gint64 *at = kernel->shape.at;
  OrrNcclGroup *group = orr_cuda_nccl_first(kernel->bench, at[2], error);
  if (!group) return FALSE;
  Call *call = g_new0(Call, 1);
  *call =
      (Call){.op = (int)at[0], .type = types[at[1]], .format = (OrrFormat)at[1], .group = group};
  const gsize elements = (gsize)at[3] / orr_format_bytes(call->format, 1);
  call->n = MAX(elements / (gsize)group->n_ranks, 1) * (gsize)group->n_ranks;
  kernel->state = call;
  kernel->clear = call_free;
  kernel->time = time_collective;
  kernel->verify = verify;
  return orr_cuda_collective_make_buffers(group, orr_format_bytes(call->format, call->n), error);
}

gboolean orr_cuda_collective_all_reduce_beside(const OrrNcclGroup *group, gsize bytes,
                                               cudaStream_t device_stream, GError **error) {
  const Call call = {
      .op = ALL_REDUCE, .type = NCCL_BF16, .format = ORR_FORMAT_BF16, .n = bytes / 2};
  return post_all(group, &call, device_stream, error);
}
