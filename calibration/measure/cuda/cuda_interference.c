/*
 * cuda_interference.c - two kernels or transfers at once, for family_interference.c.
 *
 * The watched calls run between two events on their stream. The other kernel, the companion, is
 * posted first on its own stream, with enough calls to outlast the watched ones, which wait for the
 * end of the companion's first call:
 *
 *   companion   hold | call | started | call call call ... | ended
 *   watched                 | wait    | begin | calls | end
 *
 * The hold (timing.h) lasts until everything is posted, so that no launch is part of the time. An
 * event after the companion's last call must come after the end of the watched calls; otherwise the
 * repeat does not count and the companion is doubled.
 *
 * With NCCL as companion, no call waits for the whole device: orr_cuda_wait has a time limit.
 */
#include "calibration/measure/cuda/cuda_private.h"

enum { GEMM, TO_DEVICE, TO_HOST, WITHIN, ALL_REDUCE };
enum { REPEATS = 15, TRIES = 6, BEGIN = 0, END, STARTED, ENDED, N_EVENTS };

typedef struct {
  OrrKernel product; /* the matrix product: a kernel of its own, whose buffers are this kernel's */
  OrrBench *bench;
  OrrNcclGroup *group; /* for all-reduces */
  gsize bytes;
  char *from, *to, *host;
  cudaEvent_t events[N_EVENTS];
  OrrHold hold;
} Pair;

static void pair_free(gpointer data) {
  Pair *pair = data;
  if (pair->product.clear) pair->product.clear(pair->product.state);
  if (pair->group) orr_cuda_collective_free_buffers(pair->group);
  orr_cuda_host_free(pair->host, pair->bytes);
  for (int i = 0; i < N_EVENTS; i++)
    if (pair->events[i]) cudaEventDestroy(pair->events[i]);
  g_free(pair);
}

/* One of the two kernels or transfers, with its stream. */
typedef struct {
  int work;
  cudaStream_t stream;
  double alone_us;
} Side;

static gboolean run(Pair *pair, const Side *side, guint call, GError **error) {
  switch (side->work) {
  case GEMM:
    return pair->product.launch(&pair->product, call % pair->product.n_sets, side->stream, error);
  case ALL_REDUCE:
    return orr_cuda_collective_all_reduce_beside(pair->group, pair->bytes, side->stream, error);
  case TO_DEVICE:
    return orr_cuda_ok(
        cudaMemcpyAsync(pair->to, pair->host, pair->bytes, cudaMemcpyHostToDevice, side->stream),
        "copy", error);
  case TO_HOST:
    return orr_cuda_ok(
        cudaMemcpyAsync(pair->host, pair->from, pair->bytes, cudaMemcpyDeviceToHost, side->stream),
        "copy", error);
  default:
    return orr_cuda_ok(
        cudaMemcpyAsync(pair->to, pair->from, pair->bytes, cudaMemcpyDeviceToDevice, side->stream),
        "copy", error);
  }
}

static gboolean record(Pair *pair, int event, cudaStream_t stream, GError **error) {
  return orr_cuda_ok(cudaEventRecord(pair->events[event], stream), "cudaEventRecord", error);
}

static gboolean run_calls(Pair *pair, const Side *side, guint n, GError **error) {
  for (guint i = 0; i < n; i++)
    if (!run(pair, side, i, error)) return FALSE;
  return TRUE;
}

static gboolean elapsed(Pair *pair, int from, int to, double *ret_us, GError **error) {
  float ms = 0;
  if (!orr_cuda_ok(cudaEventElapsedTime(&ms, pair->events[from], pair->events[to]),
                   "cudaEventElapsedTime", error))
    return FALSE;
  *ret_us = ms * 1e3;
  return TRUE;
}

static gboolean measure_alone(Pair *pair, Side *side, GError **error) {
  enum { CALLS = 10 };
  if (!run_calls(pair, side, 3, error) || !orr_cuda_hold(ORR_HOLD_FIRST_US, side->stream, error) ||
      !record(pair, BEGIN, side->stream, error) || !run_calls(pair, side, CALLS, error) ||
      !record(pair, END, side->stream, error) || !orr_cuda_wait(pair->bench, error) ||
      !elapsed(pair, BEGIN, END, &side->alone_us, error))
    return FALSE;
  orr_cuda_pause_after(side->alone_us);
  side->alone_us /= CALLS;
  return TRUE;
}

static gboolean post_companion(Pair *pair, const Side *companion, const Side *watched,
                               guint n_beside, GError **error) {
  return run_calls(pair, companion, 1, error) && record(pair, STARTED, companion->stream, error) &&
         run_calls(pair, companion, n_beside, error) &&
         record(pair, ENDED, companion->stream, error) &&
         orr_cuda_ok(cudaStreamWaitEvent(watched->stream, pair->events[STARTED], 0), "wait", error);
}

/* @ret_held: nothing had begun when everything was posted. */
static gboolean post_repeat(Pair *pair, const Side *watched, const Side *companion, guint n_calls,
                            guint n_beside, gboolean *ret_held, GError **error) {
  if (!orr_cuda_hold(pair->hold.us, companion ? companion->stream : watched->stream, error) ||
      (companion && !post_companion(pair, companion, watched, n_beside, error)) ||
      !record(pair, BEGIN, watched->stream, error) || !run_calls(pair, watched, n_calls, error) ||
      !record(pair, END, watched->stream, error))
    return FALSE;
  *ret_held = !orr_cuda_is_reached(pair->events[BEGIN]);
  return TRUE;
}

/* The watched calls with their companion. */
typedef struct {
  Pair *pair;
  const Side *watched, *companion; /* companion NULL: none */
  guint n_calls, n_beside;
  OrrTiming *sampled; /* gets the clocks during the next repeat; NULL: none */
} Round;

/* @ret_left_us: how much longer the companion ran; if < 0 it did not cover the watched calls. Both
 * may heat the board: it cools afterwards, so that all rows are of the same clock (cuda_time.c). */
static gboolean repeat(const Round *round, double *ret_us, double *ret_left_us, GError **error) {
  Pair *pair = round->pair;
  gboolean was_held = FALSE;
  *ret_left_us = 0;
  do {
    if (!post_repeat(pair, round->watched, round->companion, round->n_calls, round->n_beside,
                     &was_held, error))
      return FALSE;
    if (round->sampled) orr_nvml_clocks(pair->bench->nvml, round->sampled);
    if (!orr_cuda_wait(pair->bench, error)) return FALSE;
  } while (!orr_hold_take(&pair->hold, was_held));
  if (!elapsed(pair, BEGIN, END, ret_us, error) ||
      (round->companion && !elapsed(pair, END, ENDED, ret_left_us, error)))
    return FALSE;
  orr_cuda_pause_after(*ret_us + MAX(*ret_left_us, 0));
  *ret_us /= round->n_calls;
  return TRUE;
}

static gboolean post_round(gpointer user, GError **error) {
  const Round *round = user;
  return (!round->companion || run_calls(round->pair, round->companion, round->n_beside, error)) &&
         run_calls(round->pair, round->watched, round->n_calls, error);
}

static gboolean wait_round(gpointer user, GError **error) {
  return orr_cuda_wait(((Round *)user)->pair->bench, error);
}

static gboolean repeat_all(Pair *pair, const Side *watched, const Side *companion,
                           const OrrTimingRule *rule, OrrTiming *timing, GError **error) {
  double us[REPEATS], left_us;
  guint n = 0;
  const guint n_calls = (guint)CLAMP(ceil(2000 / watched->alone_us), 2, 100);
  Round round = {pair, watched, companion, n_calls, 0, NULL};
  if (companion)
    round.n_beside = (guint)ceil(2 * n_calls * watched->alone_us / companion->alone_us) + 2;
  *timing = orr_timing_of("", n_calls);
  for (guint tries = 0; n < REPEATS && tries < TRIES;) {
    round.sampled = n == REPEATS / 2 ? timing : NULL;
    if (!repeat(&round, &us[n], &left_us, error)) return FALSE;
    if (left_us >= 0) {
      n++;
    } else {
      round.n_beside *= 2;
      tries++;
    }
  }
  if (n < REPEATS)
    return orr_fault_set(error, ORR_FAULT_USAGE, "interference: the two kernels did not overlap");
  timing->method = orr_hold_method(&pair->hold, FALSE);
  orr_timing_summarize(us, n, timing);
  if (!orr_nvml_watch(pair->bench->nvml, rule, post_round, wait_round, &round, timing, error))
    return FALSE;
  timing->sustained_us = NAN; /* of both kernels */
  return TRUE;
}

static gboolean time_pair(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                          GError **error) {
  Pair *pair = kernel->state;
  Side watched = {(int)kernel->shape.at[0], kernel->bench->stream, 0},
       companion = {(int)kernel->shape.at[1] - 1, kernel->bench->beside, 0};
  const gboolean is_alone = companion.work < 0;
  OrrTiming timing;
  if (!measure_alone(pair, &watched, error) ||
      (!is_alone && !measure_alone(pair, &companion, error)) ||
      !repeat_all(pair, &watched, is_alone ? NULL : &companion, rule, &timing, error))
    return FALSE;
  *ret_timing = timing;
  return TRUE;
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  Pair *pair = kernel->state;
  return !pair->product.verify || pair->product.verify(&pair->product, ret_verdict, error);
}

/* What a product, a copy or an all-reduce needs. */
static gboolean prepare_work(OrrKernel *kernel, Pair *pair, int work, GError **error) {
  const gint64 *at = kernel->shape.at;
  if (work < 0) return TRUE;
  if (work == GEMM) return orr_cuda_prepare_product(&pair->product, at[4], at[5], at[6], error);
  if (work == ALL_REDUCE)
    return (pair->group = orr_cuda_nccl_limited(kernel->bench, (int)at[3], error)) &&
           orr_cuda_collective_make_buffers(pair->group, pair->bytes, error);
  return (pair->from = orr_cuda_random(kernel, ORR_FORMAT_FP32, pair->bytes / 4, error)) &&
         (pair->to = orr_cuda_random(kernel, ORR_FORMAT_FP32, pair->bytes / 4, error)) &&
         (work == WITHIN || (pair->host = orr_cuda_host_alloc(kernel->bench, pair->bytes, error)));
}

gboolean orr_cuda_prepare_interference(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  Pair *pair = g_new0(Pair, 1);
  kernel->state = pair;
  kernel->clear = pair_free;
  kernel->time = time_pair;
  kernel->verify = verify;
  pair->bench = kernel->bench;
  pair->bytes = (gsize)at[2];
  pair->hold = orr_hold_new();
  pair->product = (OrrKernel){.bench = kernel->bench,
                              .shape = kernel->shape,
                              .buffers = kernel->buffers,
                              .n_sets = 1,
                              .seed = kernel->seed};
  for (int i = 0; i < N_EVENTS; i++)
    if (!orr_cuda_ok(cudaEventCreate(&pair->events[i]), "cudaEventCreate", error)) return FALSE;
  return prepare_work(kernel, pair, (int)at[0], error) &&
         prepare_work(kernel, pair, (int)at[1] - 1, error);
}
