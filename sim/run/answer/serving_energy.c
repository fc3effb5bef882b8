/*
 * serving_energy.c - energy and power of the GPUs that replicas hold.
 *
 *   energy = static power * time held + what the steps added (serving_cost.h), over the run or over
 *            metrics.window: full
 *
 * An encoder pool's GPUs draw their static and, while they encode, their active power: the images'
 * products are not added up. GPUs that no replica holds are free for other use and draw nothing.
 */
#include "sim/run/answer/serving_energy.h"

#include <math.h>

/* Over a stretch of time. */
typedef struct {
  OrrJoules joules; /* on top of static power */
  double static_j, seconds, peak_w;
  gboolean is_known;
} Drawn;

static gboolean is_windowed(const OrrServingWork *work) {
  return work->params.metrics.window == ORR_WINDOW_FULL;
}

static void add_replicas(const OrrServingWork *work, Drawn *drawn) {
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedReplica *replica = &work->replicas[i];
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    const OrrDevicePower *power = &group->cluster.device.power;
    const double held = work->end_s > 0 ? replica->held_s / work->end_s : 0;
    const double static_w = power->static_w * (double)group->gpus;
    drawn->is_known &= orr_device_power_is_known(power);
    drawn->static_j += held * static_w * drawn->seconds;
    drawn->peak_w += held > 0 ? static_w + replica->peak_dynamic_w : 0;
    if (!is_windowed(work)) orr_joules_add(&drawn->joules, replica->joules, 1);
  }
}

static void add_encoders(const OrrServingWork *work, Drawn *drawn) {
  const OrrDevicePower *power = &work->world->cluster->device.power;
  const double n = (double)work->params.encoders.replicas;
  if (n == 0) return;
  drawn->static_j += n * power->static_w * drawn->seconds;
  drawn->joules.compute += power->active_w * work->encoder_busy_s;
  drawn->peak_w += n * (power->static_w + power->active_w);
}

static Drawn drawn_of(const OrrServingWork *work) {
  Drawn drawn = {.is_known = TRUE, .seconds = work->end_s};
  if (is_windowed(work)) {
    drawn.seconds = fmax(work->window.end_s - work->window.begin_s, 0);
    orr_joules_add(&drawn.joules, work->window.end_joules, 1);
    orr_joules_add(&drawn.joules, work->window.begin_joules, -1);
  }
  add_replicas(work, &drawn);
  add_encoders(work, &drawn);
  return drawn;
}

static double per(double amount, double n) { return n > 0 ? amount / n : NAN; }

void orr_serving_energy(const OrrServingWork *work, OrrServingResult *result) {
  const Drawn drawn = drawn_of(work);
  const double sum_j = drawn.is_known ? orr_joules_sum(drawn.joules) + drawn.static_j : NAN;
  const double unknown = drawn.is_known ? 0 : NAN;
  result->gpu_power_mean_w = per(sum_j, drawn.seconds);
  result->gpu_power_peak_w = drawn.peak_w + unknown;
  result->gpu_energy_compute_j = drawn.joules.compute + unknown;
  result->gpu_energy_memory_j = drawn.joules.memory + unknown;
  result->gpu_energy_network_j = drawn.joules.network + unknown;
  result->gpu_energy_idle_j = drawn.static_j + unknown;
  result->energy_j_per_output_token = per(result->gpu_power_mean_w, result->output_tokens_per_s);
  result->energy_j_per_token =
      per(result->gpu_power_mean_w, result->output_tokens_per_s + result->input_tokens_per_s);
  result->energy_j_per_request = per(result->gpu_power_mean_w, result->requests_per_s);
}
