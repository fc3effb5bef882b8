/*
 * cuda_launch.c - launches of an empty kernel, for family_launch.c. The graph's stream is held
 * until the graph is posted (timing.h): events around a launch on an idle stream would measure the
 * launch.
 */
#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernel.h"

enum { STREAM, GRAPH, WAIT };

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  return orr_cuda_launched(orr_kernel_nothing(stream), "empty kernel", error);
}

static gboolean launch_many(OrrKernel *kernel, cudaGraphExec_t graph, gint64 n, GError **error) {
  if (graph)
    return orr_cuda_ok(cudaGraphLaunch(graph, kernel->bench->stream), "cudaGraphLaunch", error);
  for (gint64 i = 0; i < n; i++)
    if (!launch(kernel, 0, kernel->bench->stream, error)) return FALSE;
  return TRUE;
}

static gboolean make_graph(OrrKernel *kernel, gint64 n, cudaGraphExec_t *ret_graph,
                           GError **error) {
  cudaGraph_t graph = NULL;
  const cudaStream_t stream = kernel->bench->stream;
  if (!orr_cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture",
                   error))
    return FALSE;
  gboolean fine = launch_many(kernel, NULL, n, error);
  fine = orr_cuda_ok(cudaStreamEndCapture(stream, &graph), "capture", fine ? error : NULL) && fine;
  fine =
      fine && orr_cuda_ok(cudaGraphInstantiate(ret_graph, graph, 0), "cudaGraphInstantiate", error);
  if (graph) cudaGraphDestroy(graph);
  return fine;
}

typedef struct {
  OrrKernel *kernel;
  cudaGraphExec_t graph; /* NULL but for the way graph */
  cudaEvent_t events[2];
  OrrHold hold;
} Round;

/* The host's clock around the launches (stream), around launch and wait (wait). */
static gboolean measure_host(Round *round, gint64 n, double *ret_us, GError **error) {
  const gint64 begin_us = g_get_monotonic_time();
  if (!launch_many(round->kernel, NULL, n, error)) return FALSE;
  const gint64 launched_us = g_get_monotonic_time();
  if (!orr_cuda_ok(cudaStreamSynchronize(round->kernel->bench->stream), "cudaStreamSynchronize",
                   error))
    return FALSE;
  const gint64 ended_us = g_get_monotonic_time();
  *ret_us = (double)((round->kernel->shape.at[0] == WAIT ? ended_us : launched_us) - begin_us) /
            (double)n;
  return TRUE;
}

/* Events around the graph. */
static gboolean measure_graph(Round *round, gint64 n, double *ret_us, GError **error) {
  const cudaStream_t stream = round->kernel->bench->stream;
  gboolean was_held = FALSE;
  float ms = 0;
  do {
    if (!orr_cuda_hold(round->hold.us, stream, error) ||
        !orr_cuda_ok(cudaEventRecord(round->events[0], stream), "cudaEventRecord", error) ||
        !launch_many(round->kernel, round->graph, n, error) ||
        !orr_cuda_ok(cudaEventRecord(round->events[1], stream), "cudaEventRecord", error))
      return FALSE;
    was_held = !orr_cuda_is_reached(round->events[0]);
    if (!orr_cuda_ok(cudaStreamSynchronize(stream), "cudaStreamSynchronize", error) ||
        !orr_cuda_ok(cudaEventElapsedTime(&ms, round->events[0], round->events[1]),
                     "cudaEventElapsedTime", error))
      return FALSE;
  } while (!orr_hold_take(&round->hold, was_held));
  *ret_us = ms * 1e3 / (double)n;
  return TRUE;
}

/* The host's clock ticks in microseconds: short rows are measured as means of a hundred. */
static gboolean measure_mean(Round *round, gint64 n, double *ret_us, GError **error) {
  double sum = 0, us = 0;
  const guint times = n < 64 ? 100 : 5;
  for (guint i = 0; i < times; i++) {
    if (!(round->graph ? measure_graph(round, n, &us, error) : measure_host(round, n, &us, error)))
      return FALSE;
    sum += us;
  }
  *ret_us = sum / times;
  return TRUE;
}

static gboolean post_round(gpointer user, GError **error) {
  const Round *round = user;
  return launch_many(round->kernel, round->graph, round->kernel->shape.at[1], error);
}

static gboolean wait_round(gpointer user, GError **error) {
  return orr_cuda_ok(cudaStreamSynchronize(((Round *)user)->kernel->bench->stream),
                     "cudaStreamSynchronize", error);
}

/* Watches power after the timing, because reading NVML would add to the host's time. */
static gboolean repeat_all(Round *round, const OrrTimingRule *rule, OrrTiming *timing,
                           GError **error) {
  double us[25];
  const OrrNvml *nvml = round->kernel->bench->nvml;
  for (guint i = 0; i < G_N_ELEMENTS(us); i++) /* the first one warms up and is overwritten */
    if (!measure_mean(round, round->kernel->shape.at[1], &us[i > 0 ? i - 1 : 0], error))
      return FALSE;
  orr_timing_summarize(us, G_N_ELEMENTS(us) - 1, timing);
  if (round->graph) timing->method = orr_hold_method(&round->hold, TRUE);
  orr_nvml_clocks(nvml, timing);
  if (!orr_nvml_watch(nvml, rule, post_round, wait_round, round, timing, error)) return FALSE;
  timing->sustained_us = NAN; /* it includes the host */
  return TRUE;
}

static gboolean time_launch(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                            GError **error) {
  const gboolean is_graph = kernel->shape.at[0] == GRAPH;
  Round round = {.kernel = kernel, .hold = orr_hold_new()};
  OrrTiming timing = orr_timing_of("host", (guint)kernel->shape.at[1]);
  gboolean fine = orr_cuda_ok(cudaEventCreate(&round.events[0]), "cudaEventCreate", error) &&
                  orr_cuda_ok(cudaEventCreate(&round.events[1]), "cudaEventCreate", error) &&
                  (!is_graph || make_graph(kernel, kernel->shape.at[1], &round.graph, error)) &&
                  repeat_all(&round, rule, &timing, error);
  if (round.graph) cudaGraphExecDestroy(round.graph);
  for (guint i = 0; i < 2; i++)
    if (round.events[i]) cudaEventDestroy(round.events[i]);
  if (fine) *ret_timing = timing;
  return fine;
}

gboolean orr_cuda_prepare_launch(OrrKernel *kernel, GError **error) {
  kernel->launch = launch;
  kernel->time = time_launch;
  return TRUE;
}
