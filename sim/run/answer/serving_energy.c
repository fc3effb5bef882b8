/*
 * serving_energy.c - energy and power of the GPUs that replicas hold.
 *
 *   energy = static power * time held + what the steps added (serving_cost.h), from the first
 *            arrival to the last token or over metrics.window: full or steady. With a warm-up: over
 *            the run, whose requests count in part
 *
 * An encoder pool's GPUs draw their static and, while they encode, their active power: the images'
 * products are not added up. GPUs that no replica holds are free for other use and draw nothing.
 */
#include "sim/run/answer/answer_private.h"

/* Over a stretch of time. */
typedef struct {
  OrrJoules joules; /* on top of static power */
  double static_j, seconds, peak_w;
  gboolean is_known;
} Drawn;

static gboolean is_windowed(const OrrServingWork *work) {
  return work->params.metrics.window != ORR_WINDOW_ALL;
}

/* Of a replica's GPUs: attention's and the feed-forwards'. */
static double static_of(const OrrServedGroup *group) {
  const double feeds = (double)group->params.parallel.feed.gpus;
  const OrrDevice *feed = orr_serving_feed_device(&group->params, &group->cluster);
  return orr_device_power_static_w(&group->cluster.device.power) * ((double)group->gpus - feeds) +
         orr_device_power_static_w(&feed->power) * feeds;
}

/* At its peak, with static power; 0: it held no GPU. */
static double peak_of(const OrrServingWork *work, gint64 index) {
  const OrrServedReplica *replica = &work->replicas[index];
  const double static_w = static_of(orr_serving_group(work, (guint)index));
  return replica->held_s > 0 ? static_w + replica->peak_dynamic_w : 0;
}

/* Whether another replica on GPUs of @index draws more at its peak: one of them runs at a time. */
static gboolean is_outdrawn(const OrrServingWork *work, gint64 index) {
  const OrrServedGroup *group = orr_serving_group(work, (guint)index);
  const gint64 first = group->first_gpu + (index - group->first) * group->gpus;
  const double own_w = peak_of(work, index);
  for (gint64 i = 0; i < work->params.replicas && orr_serving_shares(&work->params); i++) {
    const OrrServedGroup *other = orr_serving_group(work, (guint)i);
    const gint64 at = other->first_gpu + (i - other->first) * other->gpus;
    const double other_w = peak_of(work, i);
    if (i != index && at < first + group->gpus && first < at + other->gpus &&
        (other_w > own_w || (other_w >= own_w && i < index)))
      return TRUE;
  }
  return FALSE;
}

static void add_replicas(const OrrServingWork *work, Drawn *drawn) {
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedReplica *replica = &work->replicas[i];
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    const OrrDevicePower *power = &group->cluster.device.power;
    const double held = work->end_s > 0 ? replica->held_s / work->end_s : 0;
    const double static_w = static_of(group);
    drawn->is_known &=
        orr_device_power_is_known(power) &&
        orr_device_power_is_known(&orr_serving_feed_device(&group->params, &group->cluster)->power);
    drawn->static_j += held * static_w * drawn->seconds;
    drawn->peak_w += is_outdrawn(work, i) ? 0 : peak_of(work, i);
    if (!is_windowed(work)) orr_joules_add(&drawn->joules, replica->joules, 1);
  }
}

double orr_serving_energy_of(const OrrServingWork *work, gint64 replica) {
  const OrrServedReplica *one = &work->replicas[replica];
  const OrrServedGroup *group = orr_serving_group(work, (guint)replica);
  const OrrDevice *feed = orr_serving_feed_device(&group->params, &group->cluster);
  if (!orr_device_power_is_known(&group->cluster.device.power) ||
      !orr_device_power_is_known(&feed->power))
    return NAN;
  return static_of(group) * one->held_s + orr_joules_sum(one->joules);
}

static void add_encoders(const OrrServingWork *work, Drawn *drawn) {
  const OrrDevicePower *power = &work->world->cluster->device.power;
  const double n = (double)work->params.encoders.replicas;
  if (n == 0) return;
  drawn->static_j += n * orr_device_power_static_w(power) * drawn->seconds;
  drawn->joules.compute += power->active_w * work->encoder_busy_s;
  drawn->peak_w += n * (orr_device_power_static_w(power) + power->active_w);
}

/* Pools of tasks: static power, and what their passes and searches draw. When each pass runs is not
 * kept, so the peak of all GPUs is not known. */
static void add_task_pools(const OrrServingWork *work, Drawn *drawn) {
  const OrrDevicePower *power = &work->world->cluster->device.power;
  const double n = (double)orr_tasks_gpus(&work->params.tasks, G_MAXUINT);
  if (n == 0) return;
  drawn->static_j += n * orr_device_power_static_w(power) * drawn->seconds;
  orr_joules_add(&drawn->joules, work->task_joules, 1);
  drawn->peak_w = NAN;
}

static Drawn drawn_of(const OrrServingWork *work, double counted_s) {
  const gboolean counts_all = work->params.metrics.warmup_s == 0 && counted_s > 0;
  Drawn drawn = {.is_known = TRUE, .seconds = counts_all ? counted_s : work->end_s};
  if (is_windowed(work)) {
    drawn.seconds = fmax(work->window.end_s - work->window.begin_s, 0);
    orr_joules_add(&drawn.joules, work->window.end_joules, 1);
    orr_joules_add(&drawn.joules, work->window.begin_joules, -1);
  }
  add_replicas(work, &drawn);
  add_encoders(work, &drawn);
  add_task_pools(work, &drawn);
  return drawn;
}

static double per(double amount, double n) { return n > 0 ? amount / n : NAN; }

/* --- over time --- */

/* Adds @watts from @from_s to @to_s to the static power of the rows, as means. */
static void hold(GArray *rows, double watts, double from_s, double to_s) {
  const OrrPowerRow *first = (const OrrPowerRow *)(gpointer)rows->data;
  for (guint i = rows->len > 0 ? (guint)(from_s / first->end_s) : 0; i < rows->len; i++) {
    OrrPowerRow *row = &g_array_index(rows, OrrPowerRow, i);
    const double part_s = fmin(to_s, row->end_s) - fmax(from_s, row->begin_s);
    if (row->begin_s >= to_s) break;
    if (part_s > 0) row->idle_w += watts * part_s / (row->end_s - row->begin_s);
  }
}

static gboolean is_held(const char *state) {
  return strcmp(state, "off") != 0 && strcmp(state, "down") != 0;
}

/* Before its first turn: that is its start where it was off. Without any it was always up, or
 * never. */
static gboolean is_held_at_first(const OrrServingWork *work, gint64 index) {
  ORR_EACH(const OrrServingTurnRow, turn, work->turns)
    if (turn->replica == index) return strcmp(turn->state, "starting") != 0;
  return work->replicas[index].held_s > 0;
}

/* Replicas that come and go hold their GPUs from turn to turn. */
static void hold_replica(const OrrServingWork *work, gint64 index, double static_w, GArray *rows) {
  double since_s = 0;
  gboolean held = is_held_at_first(work, index);
  ORR_EACH(const OrrServingTurnRow, turn, work->turns) {
    if (turn->replica != index) continue;
    if (held) hold(rows, static_w, since_s, turn->at_s);
    since_s = turn->at_s;
    held = is_held(turn->state);
  }
  if (held) hold(rows, static_w, since_s, work->end_s);
}

static void add_static(const OrrServingWork *work, GArray *rows) {
  const OrrDevice *encoder = &work->world->cluster->device;
  const double n = (double)work->params.encoders.replicas;
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    hold_replica(work, i, static_of(group), rows);
  }
  hold(rows,
       (n + (double)orr_tasks_gpus(&work->params.tasks, G_MAXUINT)) *
           orr_device_power_static_w(&encoder->power),
       0, work->end_s);
}

/* When each encoder works is not kept: their energy is spread over the run. */
static void add_powers(const OrrServingWork *work, GArray *rows) {
  const OrrPowerTime *power = work->power;
  const double encoders_w =
      work->world->cluster->device.power.active_w * work->encoder_busy_s / work->end_s;
  for (guint i = 0; i < power->used && i * power->width_s < work->end_s; i++) {
    const double begin_s = i * power->width_s, end_s = fmin(begin_s + power->width_s, work->end_s);
    const double each_s = end_s - begin_s;
    const OrrJoules *joules = &power->joules[i];
    const OrrPowerRow row = {.begin_s = begin_s,
                             .end_s = end_s,
                             .compute_w = joules->compute / each_s + encoders_w,
                             .memory_w = joules->memory / each_s,
                             .network_w = joules->network / each_s};
    g_array_append_val(rows, row);
  }
  add_static(work, rows);
  ORR_EACH(OrrPowerRow, row, rows)
    row->watts = row->compute_w + row->memory_w + row->network_w + row->idle_w;
}

/* --- in all --- */

static void fill_prompts(const OrrServingWork *work, OrrServingResult *result) {
  double joules = 0, tokens = 0;
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedReplica *replica = &work->replicas[i];
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    const double static_w = static_of(group);
    joules += replica->prompt_j + static_w * replica->prompt_s;
    tokens += replica->prompt_tokens;
  }
  result->energy_prompts_j = joules;
  result->energy_j_per_input_token = per(joules, tokens);
}

void orr_serving_energy(const OrrServingWork *work, OrrOutcome *outcome) {
  OrrServingResult *result = &outcome->result.serving;
  const Drawn drawn = drawn_of(work, result->duration_s);
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
  fill_prompts(work, result);
  if (!drawn.is_known) result->energy_prompts_j = result->energy_j_per_input_token = NAN;
  if (drawn.is_known && work->power && work->end_s > 0) add_powers(work, outcome->powers);
}
