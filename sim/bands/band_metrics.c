/*
 * band_metrics.c - the table of results that can have a band, by kind of workload.
 */
#include "sim/bands/band_metrics.h"

#define LATENCIES(name, quantity)                                                                  \
  {"serving", name "_mean_s", quantity}, {"serving", name "_p50_s", quantity},                     \
      {"serving", name "_p90_s", quantity, .is_tail = TRUE},                                       \
      {"serving", name "_p95_s", quantity, .is_tail = TRUE}, {                                     \
    "serving", name "_p99_s", quantity, .is_tail = TRUE                                            \
  }

/* Watts of a GPU are the device's: what serving and pictures draw speaks for other work, too. */
#define BORROWED_POWER(kind)                                                                       \
  { kind, "gpu_power_mean_w", ORR_QUANTITY_POWER, .is_borrowed = TRUE }

const OrrBandMetric orr_band_metrics[] = {
    {"collectives", "time_s", ORR_QUANTITY_CALL},
    {"collectives", "algbw_bytes_per_s", ORR_QUANTITY_CALL, .is_rate = TRUE},
    {"collectives", "busbw_bytes_per_s", ORR_QUANTITY_CALL, .is_rate = TRUE},
    {"diffusion", "latency_s", ORR_QUANTITY_STEP},
    {"diffusion", "outputs_per_s", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"diffusion", "gpu_power_mean_w", ORR_QUANTITY_POWER},
    {"diffusion-training", "step_s", ORR_QUANTITY_STEP},
    {"diffusion-training", "samples_per_s", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"diffusion-training", "samples_per_s_per_gpu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    BORROWED_POWER("diffusion-training"),
    {"post-training", "step_time_s", ORR_QUANTITY_STEP},
    {"post-training", "tokens_per_s", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"post-training", "tokens_per_s_per_gpu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"post-training", "samples_per_s", ORR_QUANTITY_STEP, .is_rate = TRUE},
    BORROWED_POWER("post-training"),
    {"recommendation", "step_s", ORR_QUANTITY_STEP},
    {"recommendation", "samples_per_s", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"recommendation", "samples_per_s_per_gpu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    BORROWED_POWER("recommendation"),
    LATENCIES("ttft", ORR_QUANTITY_FIRST),
    LATENCIES("tpot", ORR_QUANTITY_TOKEN),
    LATENCIES("itl", ORR_QUANTITY_TOKEN),
    LATENCIES("e2e", ORR_QUANTITY_REQUEST),
    {"serving", "output_tokens_per_s", ORR_QUANTITY_SERVED, .is_rate = TRUE},
    {"serving", "total_tokens_per_s", ORR_QUANTITY_SERVED, .is_rate = TRUE},
    {"serving", "output_tokens_per_s_per_gpu", ORR_QUANTITY_SERVED, .is_rate = TRUE},
    {"serving", "requests_per_s", ORR_QUANTITY_SERVED, .is_rate = TRUE},
    {"serving", "energy_j_per_output_token", ORR_QUANTITY_ENERGY},
    {"serving", "gpu_power_mean_w", ORR_QUANTITY_POWER},
    {"training", "iteration_time_s", ORR_QUANTITY_STEP},
    {"training", "step_s", ORR_QUANTITY_STEP}, /* a campaign's healthy step */
    {"training", "tokens_per_s", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"training", "tokens_per_s_per_gpu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"training", "model_tflops_per_gpu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"training", "hardware_tflops_per_gpu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"training", "mfu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"training", "hfu", ORR_QUANTITY_STEP, .is_rate = TRUE},
    {"training", "layer_forward_s", ORR_QUANTITY_STEP},
    {"training", "layer_backward_s", ORR_QUANTITY_STEP},
    {"training", "memory_peak_bytes", ORR_QUANTITY_MEMORY},
    {"training", "allocator_peak_bytes", ORR_QUANTITY_MEMORY},
    BORROWED_POWER("training"),
    {NULL},
};

const OrrBandMetric *orr_band_metrics_find(const char *kind, const char *metric) {
  for (const OrrBandMetric *one = orr_band_metrics; one->kind; one++)
    if (strcmp(one->kind, kind) == 0 && strcmp(one->metric, metric) == 0) return one;
  return NULL;
}

gboolean orr_band_metrics_has(const char *kind) {
  for (const OrrBandMetric *metric = orr_band_metrics; metric->kind; metric++)
    if (g_str_equal(metric->kind, kind)) return TRUE;
  return FALSE;
}
