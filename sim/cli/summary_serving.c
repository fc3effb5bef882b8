/*
 * summary_serving.c - the lines of a serving run. Lines about parts that a scenario does not use
 * (tiers, speculation, encoders, fleet) are left out.
 */
#include "sim/cli/summary_serving.h"

#include <math.h>

#include "sim/cli/show.h"
#include "sim/cli/summary_band.h"
#include "workloads/serving/serving.h"

G_GNUC_PRINTF(3, 4)
static void add(GString *out, const char *what, const char *format, ...) {
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_strdup_vprintf(format, args);
  va_end(args);
  g_string_append_printf(out, "  %-12s  %s\n", what, text);
}

/* @name: of the metrics, "ttft". */
static void add_latencies(GString *out, const OrrOutcome *outcome, const char *name,
                          const OrrLatencies *all) {
  const double values[] = {all->mean, all->p50, all->p90, all->p99};
  static const char *const members[] = {"mean", "p50", "p90", "p99"};
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
    g_autofree char *metric = g_strdup_printf("%s_%s_s", name, members[i]);
    g_autofree char *one = orr_summary_band_value(outcome, metric, values[i], ORR_UNIT_SECONDS);
    g_string_append_printf(text, "%s%11s", i > 0 ? "  " : "", one);
  }
  add(out, name, "%s", text->str);
}

static gint64 n_differing(const OrrServing *params) {
  gint64 n = 0;
  for (guint i = 0; params->groups && i < params->groups->len; i++)
    n += ((const OrrReplicaGroup *)params->groups->pdata[i])->replicas;
  return n;
}

/* ", 3 of TP 2 x PP 1 on a100-80gb-sxm" for each group. Newly allocated. */
static char *groups_text(const OrrServing *params) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; params->groups && i < params->groups->len; i++) {
    const OrrReplicaGroup *group = params->groups->pdata[i];
    g_string_append_printf(
        text, ", %" G_GINT64_FORMAT " of TP %" G_GINT64_FORMAT " x PP %" G_GINT64_FORMAT,
        group->replicas, group->parallel.tp, group->parallel.pp);
    if (group->device.name && *group->device.name)
      g_string_append_printf(text, " on %s", group->device.name);
  }
  return g_string_free(text, FALSE);
}

/* "fp8, attention in bf16, first layers (1) in bf16": the formats of weights. Newly
 * allocated. */
static char *formats_text(const OrrServing *params) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  const char *plain = orr_dtype_names[params->activations];
  if (!shard.is_quantized) return g_strdup(orr_dtype_names[params->precision]);
  GString *text = g_string_new(orr_quantization_words[params->quantization]);
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++) {
    const OrrQuantized *format = shard.formats[part];
    if (params->weights.parts[part] == 0) continue;
    g_string_append_printf(text, ", %s in %s", orr_quantized_part_words[part],
                           format ? orr_quantized_word(format) : plain);
  }
  if (shard.plain_first > 0)
    g_string_append_printf(text, ", first layers (%" G_GINT64_FORMAT ") in %s", shard.plain_first,
                           plain);
  if (shard.plain_last > 0)
    g_string_append_printf(text, ", last layers (%" G_GINT64_FORMAT ") in %s", shard.plain_last,
                           plain);
  return g_string_free(text, FALSE);
}

static void add_asked(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  const OrrServing *params = scenario->workload.params;
  g_autofree char *gpus = orr_show_gpus(result->n_gpus);
  g_autofree char *tokens = orr_show_count(result->kv_blocks * params->engine.block_size);
  g_autofree char *weights = orr_quantity_format(result->weights_bytes, ORR_UNIT_BYTES);
  g_autofree char *formats = formats_text(params);
  add(out, "model", "%s in %s, %s of weights per GPU, key-value cache of %s tokens",
      scenario->model.name, formats, weights, tokens);
  g_autofree char *differing = groups_text(params);
  add(out, "machine",
      "%s (%s) of %s: %" G_GINT64_FORMAT " replica%s of TP %" G_GINT64_FORMAT
      " x PP %" G_GINT64_FORMAT "%s",
      gpus, scenario->cluster.device.name, scenario->cluster.name,
      result->replicas - n_differing(params),
      result->replicas - n_differing(params) == 1 ? "" : "s", result->tp, result->pp, differing);
  add(out, "engine", "scheduler %s, load %s, metrics as %s defines them",
      params->engine.scheduler.entry->name, params->load.entry->name,
      orr_metrics_words[params->metrics.definition]);
}

static void add_costs(GString *out, const OrrOutcome *outcome) {
  double sum = 0;
  g_autoptr(GString) text = g_string_new(NULL);
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) sum += outcome->trust[how];
  for (int how = 0; sum > 0 && how <= ORR_HOW_OUTSIDE; how++)
    if (outcome->trust[how] > 0.0005 * sum)
      g_string_append_printf(text, "%s%s %.0f %%", text->len ? ", " : "",
                             orr_cost_how_text(outcome->carried_from, (OrrHow)how),
                             100 * outcome->trust[how] / sum);
  if (text->len) add(out, "costs", "%s of the steps' time", text->str);
}

/* Appends lines only for several replicas, or for replicas that start and stop. */
static void add_fleet(GString *out, const OrrScenario *scenario, const OrrServingResult *result) {
  if (result->replicas > 1 || result->rejected > 0)
    add(out, "fleet",
        "router %s, busiest replica %.2f of the mean, %" G_GINT64_FORMAT " requests rejected",
        ((const OrrServing *)scenario->workload.params)->router.entry->name,
        result->replica_imbalance, result->rejected);
  if (result->starts > 0 || result->failed > 0 || result->retried > 0) {
    g_autofree char *took = orr_quantity_format(result->start_mean_s, ORR_UNIT_SECONDS);
    add(out, "replicas",
        "%.3g of %" G_GINT64_FORMAT " in use on average; %" G_GINT64_FORMAT
        " started, %s each; %" G_GINT64_FORMAT " requests retried, %" G_GINT64_FORMAT " failed",
        result->replicas_mean, result->replicas, result->starts, took, result->retried,
        result->failed);
  }
  if (result->handover_bytes > 0) {
    g_autofree char *took = orr_quantity_format(result->handover_mean_s, ORR_UNIT_SECONDS);
    g_autofree char *bytes = orr_quantity_format(result->handover_bytes, ORR_UNIT_BYTES);
    add(out, "hand-over", "%s of cache sent from prefill to decode, complete %s after the prompt",
        bytes, took);
  }
}

static void add_encoders(GString *out, const OrrServing *params, const OrrServingResult *result) {
  if (params->encoders.replicas == 0) return;
  g_autofree char *took = orr_quantity_format(result->encode_mean_s, ORR_UNIT_SECONDS);
  g_autofree char *busy = orr_show_percent(result->encoder_busy),
                  *found = orr_show_percent(result->image_hit_rate);
  g_autofree char *bytes = orr_quantity_format(result->embedding_bytes, ORR_UNIT_BYTES);
  add(out, "encoders",
      "%" G_GINT64_FORMAT
      ", router %s, busy %s, cache hits %s; %s of embeddings, ready %s after the request",
      params->encoders.replicas, params->encoders.router.entry->name, busy, found, bytes, took);
}

/* The line "steady" is printed where the start and end of a run change its rates by more. */
static const double shown_from = 0.05;

/* Rates of the whole run beside those of its steady state. */
static void add_steady_beside(GString *out, const OrrServingResult *result, const char *window) {
  const double ratio = result->steady_output_tokens_per_s / fmax(result->output_tokens_per_s, 1e-9);
  if (fabs(ratio - 1) <= shown_from) return;
  g_autofree char *output = orr_show_count((gint64)(result->steady_output_tokens_per_s + 0.5));
  add(out, "steady", "%.4g requests/s, %s output tokens/s %s; throughput above has start and end",
      result->steady_requests_per_s, output, window);
}

static void add_steady(GString *out, const OrrServing *params, const OrrServingResult *result) {
  g_autofree char *begin = orr_quantity_format(result->steady_begin_s, ORR_UNIT_SECONDS);
  g_autofree char *end = orr_quantity_format(result->steady_end_s, ORR_UNIT_SECONDS);
  g_autofree char *stays = orr_quantity_format(result->residence_s, ORR_UNIT_SECONDS);
  g_autofree char *window = g_strdup_printf("from %s to %s", begin, end);
  if (result->saturated || params->metrics.window == ORR_WINDOW_FULL) return;
  if (!result->steady && result->residence_s > 0)
    add(out, "steady",
        "not shown: the run is %.3g times the %s that a request stays; start and end are in the "
        "rates",
        result->duration_s / result->residence_s, stays);
  else if (!result->steady)
    add(out, "steady", "not shown: too few requests; start and end are in the rates");
  else if (params->metrics.window == ORR_WINDOW_STEADY)
    add(out, "steady", "%s: a request stays %s, %.1f are in the system; rates +- %.2g %%", window,
        stays, result->in_system_mean, 100 * result->steady_margin);
  else
    add_steady_beside(out, result, window);
}

void orr_summary_serving(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  add_asked(out, scenario, outcome);
  add(out, "", "%11s  %11s  %11s  %11s", "mean", "p50", "p90", "p99");
  add_latencies(out, outcome, "ttft", &result->ttft);
  add_latencies(out, outcome, "tpot", &result->tpot);
  add_latencies(out, outcome, "itl", &result->itl);
  add_latencies(out, outcome, "e2e", &result->e2e);
  orr_summary_band_serving(out, outcome);
  g_autofree char *completed = orr_show_count(result->completed);
  g_autofree char *duration = orr_quantity_format(result->duration_s, ORR_UNIT_SECONDS);
  g_autofree char *output =
      orr_show_count((gint64)(orr_summary_band_rounded(outcome, "output_tokens_per_s",
                                                       result->output_tokens_per_s) +
                              0.5));
  add(out, "throughput", "%s requests in %s: %.4g requests/s, goodput %.4g, %s output tokens/s",
      completed, duration,
      orr_summary_band_rounded(outcome, "requests_per_s", result->requests_per_s),
      result->goodput_rps, output);
  add_steady(out, scenario->workload.params, result);
  g_autofree char *busy = orr_show_percent(result->gpu_busy),
                  *kv = orr_show_percent(result->kv_utilization);
  g_autofree char *hits = orr_show_percent(result->prefix_hit_rate);
  add(out, "engines",
      "batch %.1f, GPUs busy %s, cache used %s, prefix hits %s, %" G_GINT64_FORMAT " preemptions",
      result->running_mean, busy, kv, hits, result->preemptions);
  const double below =
      result->prefix_host_rate + result->prefix_ssd_rate + result->prefix_remote_rate;
  if (below > 0) {
    g_autofree char *host = orr_show_percent(result->prefix_host_rate);
    g_autofree char *ssd = orr_show_percent(result->prefix_ssd_rate);
    g_autofree char *remote = orr_show_percent(result->prefix_remote_rate);
    add(out, "tiers", "%s of the hits from host memory, %s from SSD, %s from the remote store",
        host, ssd, remote);
  }
  const OrrChoice *speculation =
      &((const OrrServing *)scenario->workload.params)->engine.speculation;
  if (orr_speculation_of(speculation).tokens > 0) {
    g_autofree char *right = orr_show_percent(result->acceptance_rate);
    add(out, "speculation", "%s, %" G_GINT64_FORMAT " tokens, %s accepted: %.2f tokens per step",
        speculation->entry->name, orr_speculation_of(speculation).tokens, right,
        result->tokens_per_check);
  }
  add_encoders(out, scenario->workload.params, result);
  add_fleet(out, scenario, result);
  if (!isnan(result->gpu_power_mean_w)) {
    g_autofree char *mean = orr_quantity_format(result->gpu_power_mean_w, ORR_UNIT_WATTS),
                    *peak = orr_quantity_format(result->gpu_power_peak_w, ORR_UNIT_WATTS);
    add(out, "energy", "%.3g J per output token; GPUs draw %s on average, at most %s",
        result->energy_j_per_output_token, mean, peak);
  }
  add_costs(out, outcome);
}
