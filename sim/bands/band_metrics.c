/*
 * band_metrics.c - the table of results that can have a band, by kind of workload.
 */
#include "sim/bands/band_metrics.h"

#define LATENCIES(name, quantity)                                                                  \
  {"serving", name "_mean_s", quantity, FALSE, FALSE, FALSE},                                      \
      {"serving", name "_p50_s", quantity, FALSE, FALSE, FALSE},                                   \
      {"serving", name "_p90_s", quantity, FALSE, TRUE, FALSE},                                    \
      {"serving", name "_p95_s", quantity, FALSE, TRUE, FALSE}, {                                  \
    "serving", name "_p99_s", quantity, FALSE, TRUE, FALSE                                         \
  }

/* Watts of a GPU are the device's: what serving and pictures draw speaks for other work, too. */
#define BORROWED_POWER(kind)                                                                       \
  { kind, "gpu_power_mean_w", ORR_QUANTITY_POWER, FALSE, FALSE, TRUE }

const OrrBandMetric orr_band_metrics[] = {
    {"collectives", "time_s", ORR_QUANTITY_CALL, FALSE, FALSE, FALSE},
    {"collectives", "algbw_bytes_per_s", ORR_QUANTITY_CALL, TRUE, FALSE, FALSE},
    {"collectives", "busbw_bytes_per_s", ORR_QUANTITY_CALL, TRUE, FALSE, FALSE},
    {"diffusion", "latency_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE},
    {"diffusion", "outputs_per_s", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"diffusion", "gpu_power_mean_w", ORR_QUANTITY_POWER, FALSE, FALSE, FALSE},
    {"diffusion-training", "step_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE},
    {"diffusion-training", "samples_per_s", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"diffusion-training", "samples_per_s_per_gpu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    BORROWED_POWER("diffusion-training"),
    {"post-training", "step_time_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE},
    {"post-training", "tokens_per_s", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"post-training", "tokens_per_s_per_gpu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"post-training", "samples_per_s", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    BORROWED_POWER("post-training"),
    {"recommendation", "step_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE},
    {"recommendation", "samples_per_s", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"recommendation", "samples_per_s_per_gpu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    BORROWED_POWER("recommendation"),
    LATENCIES("ttft", ORR_QUANTITY_FIRST),
    LATENCIES("tpot", ORR_QUANTITY_TOKEN),
    LATENCIES("itl", ORR_QUANTITY_TOKEN),
    LATENCIES("e2e", ORR_QUANTITY_REQUEST),
    {"serving", "output_tokens_per_s", ORR_QUANTITY_SERVED, TRUE, FALSE, FALSE},
    {"serving", "total_tokens_per_s", ORR_QUANTITY_SERVED, TRUE, FALSE, FALSE},
    {"serving", "output_tokens_per_s_per_gpu", ORR_QUANTITY_SERVED, TRUE, FALSE, FALSE},
    {"serving", "requests_per_s", ORR_QUANTITY_SERVED, TRUE, FALSE, FALSE},
    {"serving", "energy_j_per_output_token", ORR_QUANTITY_ENERGY, FALSE, FALSE, FALSE},
    {"serving", "gpu_power_mean_w", ORR_QUANTITY_POWER, FALSE, FALSE, FALSE},
    {"training", "iteration_time_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE},
    {"training", "step_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE}, /* a campaign's healthy step */
    {"training", "tokens_per_s", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"training", "tokens_per_s_per_gpu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"training", "model_tflops_per_gpu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"training", "hardware_tflops_per_gpu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"training", "mfu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"training", "hfu", ORR_QUANTITY_STEP, TRUE, FALSE, FALSE},
    {"training", "layer_forward_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE},
    {"training", "layer_backward_s", ORR_QUANTITY_STEP, FALSE, FALSE, FALSE},
    {"training", "memory_peak_bytes", ORR_QUANTITY_MEMORY, FALSE, FALSE, FALSE},
    {"training", "allocator_peak_bytes", ORR_QUANTITY_MEMORY, FALSE, FALSE, FALSE},
    BORROWED_POWER("training"),
    {NULL, NULL, 0, FALSE, FALSE, FALSE},
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
