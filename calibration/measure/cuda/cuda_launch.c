/*
 * cuda_launch.c - see family_launch.c.
 */
#include <math.h>

#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernels.h"

enum { STREAM, GRAPH, WAIT };

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  (void)kernel, (void)set;
  return orr_cuda_launched(orr_kernel_nothing(stream), "empty kernel", error);
}

static gboolean launch_many(OrrKernel *kernel, cudaGraphExec_t graph, gint64 n, GError **error) {
  if (graph) return orr_cuda_ok(cudaGraphLaunch(graph, kernel->bench->stream), "cudaGraphLaunch", error);
  for (gint64 i = 0; i < n; i++)
    if (!launch(kernel, 0, kernel->bench->stream, error)) return FALSE;
  return TRUE;
}

static gboolean make_graph(OrrKernel *kernel, gint64 n, cudaGraphExec_t *ret_graph, GError **error) {
  cudaGraph_t graph = NULL;
  const cudaStream_t stream = kernel->bench->stream;
  if (!orr_cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture", error)) return FALSE;
  gboolean fine = launch_many(kernel, NULL, n, error);
  fine = orr_cuda_ok(cudaStreamEndCapture(stream, &graph), "capture", fine ? error : NULL) && fine;
  fine = fine && orr_cuda_ok(cudaGraphInstantiate(ret_graph, graph, 0), "cudaGraphInstantiate", error);
  if (graph) cudaGraphDestroy(graph);
  return fine;
}

/* The host's clock around the launches (stream), around launch and wait (wait); events around the graph. */
static gboolean measure(OrrKernel *kernel, cudaGraphExec_t graph, const cudaEvent_t *events, gint64 n, double *ret_us,
                        GError **error) {
  const cudaStream_t stream = kernel->bench->stream;
  const gint64 way = kernel->shape.at[0];
  float ms = 0;
  const gint64 begin_us = g_get_monotonic_time();
  if (way == GRAPH && !orr_cuda_ok(cudaEventRecord(events[0], stream), "cudaEventRecord", error)) return FALSE;
  if (!launch_many(kernel, graph, n, error)) return FALSE;
  const gint64 launched_us = g_get_monotonic_time();
  if (way == GRAPH && !orr_cuda_ok(cudaEventRecord(events[1], stream), "cudaEventRecord", error)) return FALSE;
  if (!orr_cuda_ok(cudaStreamSynchronize(stream), "cudaStreamSynchronize", error)) return FALSE;
  const gint64 ended_us = g_get_monotonic_time();
  if (way == GRAPH && !orr_cuda_ok(cudaEventElapsedTime(&ms, events[0], events[1]), "cudaEventElapsedTime", error))
    return FALSE;
  *ret_us = (way == GRAPH ? ms * 1e3 : (double)((way == WAIT ? ended_us : launched_us) - begin_us)) / (double)n;
  return TRUE;
}

/* The host's clock ticks in microseconds: short rows are measured as means of a hundred. */
static gboolean measure_mean(OrrKernel *kernel, cudaGraphExec_t graph, const cudaEvent_t *events, gint64 n,
                             double *ret_us, GError **error) {
  double sum = 0, us = 0;
  const guint times = n < 64 ? 100 : 5;
  for (guint i = 0; i < times; i++) {
    if (!measure(kernel, graph, events, n, &us, error)) return FALSE;
    sum += us;
  }
  *ret_us = sum / times;
  return TRUE;
}

typedef struct {
  OrrKernel *kernel;
  cudaGraphExec_t graph;
} Round;

static gboolean post_round(gpointer user, GError **error) {
  const Round *round = user;
  return launch_many(round->kernel, round->graph, round->kernel->shape.at[1], error);
}

static gboolean wait_round(gpointer user, GError **error) {
  return orr_cuda_ok(cudaStreamSynchronize(((Round *)user)->kernel->bench->stream), "cudaStreamSynchronize", error);
}

/* Power is sampled after the timing: a look at NVML would be in the host's time. */
static gboolean repeat_all(OrrKernel *kernel, cudaGraphExec_t graph, const cudaEvent_t *events, OrrTiming *timing,
                           GError **error) {
  double us[25];
  const gint64 n = kernel->shape.at[1];
  for (guint i = 0; i < G_N_ELEMENTS(us); i++) /* the first warms up and is written over */
    if (!measure_mean(kernel, graph, events, n, &us[i > 0 ? i - 1 : 0], error)) return FALSE;
  orr_cuda_summarize(us, G_N_ELEMENTS(us) - 1, timing);
  Round round = {kernel, graph};
  return orr_nvml_sample_under(kernel->bench->nvml, post_round, wait_round, &round, timing, error);
}

static gboolean time_launch(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing, GError **error) {
  const gboolean is_graph = kernel->shape.at[0] == GRAPH;
  cudaGraphExec_t graph = NULL;
  cudaEvent_t events[2] = {NULL, NULL};
  (void)rule;
  OrrTiming timing = {.calls = (guint)kernel->shape.at[1],
                      .method = is_graph ? "graph" : "host",
                      .watts = NAN,
                      .sm_clock_hz = NAN,
                      .memory_clock_hz = NAN};
  gboolean fine = orr_cuda_ok(cudaEventCreate(&events[0]), "cudaEventCreate", error) &&
                  orr_cuda_ok(cudaEventCreate(&events[1]), "cudaEventCreate", error) &&
                  (!is_graph || make_graph(kernel, kernel->shape.at[1], &graph, error)) &&
                  repeat_all(kernel, graph, events, &timing, error);
  if (graph) cudaGraphExecDestroy(graph);
  for (guint i = 0; i < 2; i++)
    if (events[i]) cudaEventDestroy(events[i]);
  if (fine) *ret_timing = timing;
  return fine;
}

gboolean orr_cuda_prepare_launch(OrrKernel *kernel, GError **error) {
  (void)error;
  kernel->launch = launch;
  kernel->time = time_launch;
  return TRUE;
}
