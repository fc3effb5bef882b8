/*
 * cuda_time.c - how long one call takes.
 *
 * Calls are captured into a CUDA graph, one set of operands after the other, so that what is measured is what a graph
 * sees: the kernel and the gap to the next one, without the host. Where a library cannot be captured the calls go to
 * the stream one by one, and the row says so. Between two events a repeat has enough calls for two milliseconds, at
 * most 256.
 */
#include <math.h>
#include <stdlib.h>

#include "calibration/measure/cuda/cuda_private.h"

enum { MOST_CALLS = 256 };

typedef struct {
  OrrKernel *kernel;
  cudaEvent_t begin, end;
  cudaGraphExec_t graph; /* NULL: calls go to the stream */
  guint n_calls;
} Stopwatch;

static void stopwatch_clear(Stopwatch *watch) {
  if (watch->graph) cudaGraphExecDestroy(watch->graph);
  if (watch->begin) cudaEventDestroy(watch->begin);
  if (watch->end) cudaEventDestroy(watch->end);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Stopwatch, stopwatch_clear)

static gboolean launch_all(Stopwatch *watch, GError **error) {
  OrrKernel *kernel = watch->kernel;
  if (watch->graph) return orr_cuda_ok(cudaGraphLaunch(watch->graph, kernel->bench->stream), "cudaGraphLaunch", error);
  for (guint i = 0; i < watch->n_calls; i++)
    if (!kernel->launch(kernel, i % kernel->n_sets, kernel->bench->stream, error)) return FALSE;
  return TRUE;
}

/* Microseconds of one call, mean over those of one repeat. With @nvml samples power while they run. */
static gboolean repeat(Stopwatch *watch, double *ret_us, OrrTiming *sampled, GError **error) {
  const cudaStream_t stream = watch->kernel->bench->stream;
  float ms = 0;
  if (!orr_cuda_ok(cudaEventRecord(watch->begin, stream), "cudaEventRecord", error) || !launch_all(watch, error) ||
      !orr_cuda_ok(cudaEventRecord(watch->end, stream), "cudaEventRecord", error))
    return FALSE;
  if (sampled)
    orr_nvml_sample(watch->kernel->bench->nvml, &sampled->watts, &sampled->sm_clock_hz, &sampled->memory_clock_hz);
  if (!orr_cuda_ok(cudaEventSynchronize(watch->end), "cudaEventSynchronize", error) ||
      !orr_cuda_ok(cudaEventElapsedTime(&ms, watch->begin, watch->end), "cudaEventElapsedTime", error))
    return FALSE;
  *ret_us = ms * 1e3 / watch->n_calls;
  return TRUE;
}

/* No error where it cannot be captured: the calls then go to the stream. */
static void capture(Stopwatch *watch) {
  const cudaStream_t stream = watch->kernel->bench->stream;
  cudaGraph_t graph = NULL;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return;
  gboolean fine = launch_all(watch, NULL);
  fine = cudaStreamEndCapture(stream, &graph) == cudaSuccess && fine && graph;
  if (!fine || cudaGraphInstantiate(&watch->graph, graph, 0) != cudaSuccess) watch->graph = NULL;
  if (graph) cudaGraphDestroy(graph);
  (void)cudaGetLastError(); /* a failed capture leaves its error behind */
}

/* The first calls load code and pick algorithms; then two milliseconds' worth are counted off. */
static gboolean count_calls(Stopwatch *watch, GError **error) {
  double us = 0;
  watch->n_calls = 1;
  if (!repeat(watch, &us, NULL, error) || !repeat(watch, &us, NULL, error)) return FALSE;
  watch->n_calls = (guint)CLAMP(ceil(2000 / fmax(us, 0.1)), 1, MOST_CALLS);
  watch->n_calls = MAX(watch->n_calls, MIN(watch->kernel->n_sets, us < 1000 ? MOST_CALLS : 2));
  return TRUE;
}

static gboolean warm_up(Stopwatch *watch, double seconds, GError **error) {
  const gint64 until_us = g_get_monotonic_time() + (gint64)(seconds * 1e6);
  double us = 0;
  do {
    if (!repeat(watch, &us, NULL, error)) return FALSE;
  } while (g_get_monotonic_time() < until_us);
  return TRUE;
}

static int compare(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

void orr_cuda_summarize(double *us, guint n, OrrTiming *timing) {
  qsort(us, n, sizeof *us, compare);
  timing->median_us = n % 2 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
  timing->best_us = us[0];
  timing->spread = (us[(n - 1) * 9 / 10] - us[(n - 1) / 10]) / timing->median_us;
  timing->repeats = n;
}

gboolean orr_cuda_time(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing, GError **error) {
  if (kernel->time) return kernel->time(kernel, rule, ret_timing, error);
  g_auto(Stopwatch) watch = {.kernel = kernel};
  if (!orr_cuda_ok(cudaEventCreate(&watch.begin), "cudaEventCreate", error) ||
      !orr_cuda_ok(cudaEventCreate(&watch.end), "cudaEventCreate", error) || !count_calls(&watch, error))
    return FALSE;
  capture(&watch);
  if (!warm_up(&watch, rule->warm_up_s, error)) return FALSE;
  g_autofree double *us = g_new(double, rule->max_repeats);
  OrrTiming timing = {.calls = watch.n_calls,
                      .method = watch.graph ? "graph" : "stream",
                      .watts = NAN,
                      .sm_clock_hz = NAN,
                      .memory_clock_hz = NAN};
  guint n = 0;
  const gint64 begin_us = g_get_monotonic_time();
  while (n < rule->max_repeats) {
    const double spent_s = (g_get_monotonic_time() - begin_us) / 1e6;
    if (n >= rule->min_repeats && spent_s >= rule->burst_s) break;
    if (!repeat(&watch, &us[n], spent_s >= ORR_POWER_SETTLES_S ? &timing : NULL, error)) return FALSE;
    n++;
  }
  orr_cuda_summarize(us, n, &timing);
  *ret_timing = timing;
  return TRUE;
}
