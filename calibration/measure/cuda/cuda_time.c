/*
 * cuda_time.c - measures the time of one call.
 *
 * Calls are captured into a CUDA graph, one operand set after another (rotation.h), so that the
 * measurement sees what a graph sees: the kernel and the gap to the next one, without the host. If
 * a library cannot be captured, calls go to the stream one by one. In both cases the stream is held
 * until the host has posted the whole repeat (timing.h); the row's method says if that was not
 * possible.
 *
 * A board under load reaches its power limit within some tens of milliseconds and lowers its clock,
 * so times of a long burst are neither of a cool board nor of a settled one. The repeats are of a
 * cool one: after each the host pauses three times as long, which keeps the mean power near a
 * quarter of the kernel's. After the repeats, if the rule requires it, the same calls continue
 * without pauses until the board has settled, and then while power, clocks and the time of a call
 * are watched (power_window.h): the sustained state, in which all GPUs of the process are busy
 * (cuda_load.c).
 */
#include "calibration/measure/accumulation.h"
#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernel.h"
#include "calibration/measure/cuda/vendor.h"
#include "calibration/measure/rotation.h"

typedef struct {
  OrrKernel *kernel;
  cudaEvent_t begin, end;
  cudaGraphExec_t graph; /* NULL: calls go to the stream */
  guint n_calls;
  OrrHold hold;
  OrrCudaLoad *load; /* of the other GPUs; NULL: power is not watched */
} Stopwatch;

static void stopwatch_clear(Stopwatch *watch) {
  orr_cuda_load_free(watch->load);
  if (watch->graph) cudaGraphExecDestroy(watch->graph);
  if (watch->begin) cudaEventDestroy(watch->begin);
  if (watch->end) cudaEventDestroy(watch->end);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Stopwatch, stopwatch_clear)

static gboolean launch_all(Stopwatch *watch, GError **error) {
  OrrKernel *kernel = watch->kernel;
  if (watch->graph)
    return orr_cuda_ok(cudaGraphLaunch(watch->graph, kernel->bench->stream), "cudaGraphLaunch",
                       error);
  for (guint i = 0; i < watch->n_calls; i++)
    if (!kernel->launch(kernel, i % kernel->n_sets, kernel->bench->stream, error)) return FALSE;
  return TRUE;
}

gboolean orr_cuda_hold(double us, cudaStream_t stream, GError **error) {
  return us <= 0 || orr_cuda_launched(orr_kernel_hold((guint64)(us * 1e3), stream), "hold", error);
}

/* cudaErrorNotReady is a result, not an error: clear it so that the next check does not find it. */
gboolean orr_cuda_is_reached(cudaEvent_t event) {
  const cudaError_t code = cudaEventQuery(event);
  if (code == cudaErrorNotReady) (void)cudaGetLastError();
  return code != cudaErrorNotReady;
}

/* Runs one repeat; @ret_held: the host had posted everything before it began. @sampled, if not
 * NULL, gets the clocks during it. */
static gboolean repeat_once(Stopwatch *watch, double *ret_us, gboolean *ret_held,
                            OrrTiming *sampled, GError **error) {
  const cudaStream_t stream = watch->kernel->bench->stream;
  float ms = 0;
  if (!orr_cuda_hold(watch->hold.us, stream, error) ||
      !orr_cuda_ok(cudaEventRecord(watch->begin, stream), "cudaEventRecord", error) ||
      !launch_all(watch, error) ||
      !orr_cuda_ok(cudaEventRecord(watch->end, stream), "cudaEventRecord", error))
    return FALSE;
  *ret_held = !orr_cuda_is_reached(watch->begin);
  if (sampled) orr_nvml_clocks(watch->kernel->bench->nvml, sampled);
  if (!orr_cuda_ok(cudaEventSynchronize(watch->end), "cudaEventSynchronize", error) ||
      !orr_cuda_ok(cudaEventElapsedTime(&ms, watch->begin, watch->end), "cudaEventElapsedTime",
                   error))
    return FALSE;
  *ret_us = ms * 1e3 / watch->n_calls;
  return TRUE;
}

/* Microseconds of one call, mean over one repeat. */
static gboolean repeat(Stopwatch *watch, double *ret_us, OrrTiming *sampled, GError **error) {
  gboolean was_held = FALSE;
  do {
    if (!repeat_once(watch, ret_us, &was_held, sampled, error)) return FALSE;
  } while (!orr_hold_take(&watch->hold, was_held));
  return TRUE;
}

/* If the calls cannot be captured this is not an error: they then go to the stream. */
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

/* The first calls load code and choose algorithms; then the number of calls per repeat is
 * determined. */
static gboolean count_calls(Stopwatch *watch, GError **error) {
  double us = 0;
  watch->n_calls = 1;
  if (!repeat(watch, &us, NULL, error) || !repeat(watch, &us, NULL, error)) return FALSE;
  watch->n_calls = orr_rotation_calls(us, watch->kernel->n_sets);
  watch->hold = orr_hold_new(); /* loading code took longer than any launch will take */
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

enum { PAUSES = 3, LONGEST_PAUSE_US = 100000 };

void orr_cuda_pause_after(double busy_us) {
  g_usleep((gulong)CLAMP(PAUSES * busy_us, 1, LONGEST_PAUSE_US));
}

/* For power: the calls without events and holds. */
static gboolean post_round(gpointer user, GError **error) {
  Stopwatch *watch = user;
  return orr_cuda_load_post(watch->load, error) && launch_all(watch, error);
}

static gboolean wait_round(gpointer user, GError **error) {
  return orr_cuda_wait(((Stopwatch *)user)->kernel->bench, error);
}

static gboolean measure(Stopwatch *watch, const OrrTimingRule *rule, OrrTiming *timing,
                        GError **error) {
  g_autofree double *us = g_new(double, rule->max_repeats);
  orr_cuda_pause_after(rule->warm_up_s * 1e6);
  const gint64 begin_us = g_get_monotonic_time();
  guint n = 0;
  for (; n < rule->max_repeats; n++) {
    const double spent_s = (g_get_monotonic_time() - begin_us) / 1e6;
    if (n >= rule->min_repeats && spent_s >= rule->burst_s) break;
    if (!repeat(watch, &us[n], n == rule->min_repeats / 2 ? timing : NULL, error)) return FALSE;
    orr_cuda_pause_after(us[n] * watch->n_calls);
  }
  orr_timing_summarize(us, n, timing);
  timing->method = orr_hold_method(&watch->hold, watch->graph != NULL);
  return TRUE;
}

/* The settled state, with all GPUs of the process busy. */
static gboolean watch_power(Stopwatch *watch, const OrrTimingRule *rule, OrrTiming *timing,
                            GError **error) {
  const OrrBench *bench = watch->kernel->bench;
  if (!bench->nvml || rule->watch_s <= 0) return TRUE;
  watch->load = orr_cuda_load_new(bench);
  timing->sustained_gpus = 1 + orr_cuda_load_gpus(watch->load);
  return orr_nvml_watch(bench->nvml, rule, post_round, wait_round, watch, timing, error);
}

gboolean orr_cuda_time(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                       GError **error) {
  if (kernel->time) return kernel->time(kernel, rule, ret_timing, error);
  const OrrBench *bench = kernel->bench;
  g_auto(Stopwatch) watch = {.kernel = kernel, .hold = orr_hold_new()};
  if (!orr_cuda_ok(cudaEventCreate(&watch.begin), "cudaEventCreate", error) ||
      !orr_cuda_ok(cudaEventCreate(&watch.end), "cudaEventCreate", error) ||
      !count_calls(&watch, error))
    return FALSE;
  capture(&watch);
  OrrTiming timing = orr_timing_of("", watch.n_calls);
  if (ORR_VENDOR_SETS_SUMS && orr_accumulation_word(&kernel->shape))
    orr_timing_set(&timing, orr_accumulation_word(&kernel->shape));
  if (kernel->touched_bytes > 0 &&
      orr_rotation_is_warm(kernel->n_sets, kernel->touched_bytes, &bench->facts))
    orr_timing_set(&timing, "warm-l2");
  if (!warm_up(&watch, rule->warm_up_s, error) || !measure(&watch, rule, &timing, error) ||
      !watch_power(&watch, rule, &timing, error))
    return FALSE;
  *ret_timing = timing;
  return TRUE;
}
