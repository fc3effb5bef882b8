/*
 * summary_serving.c - the lines of a serving run. Lines about parts that a scenario does not use
 * (tiers, speculation, encoders, fleet) are left out.
 */
#include "sim/cli/summary.h"

#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/serving.h"

/* @name: of the metrics, "ttft". */
static void add_latencies(OrrPage *page, const OrrOutcome *outcome, const char *name,
                          const OrrLatencies *all) {
  const double values[] = {all->mean, all->p50, all->p90, all->p99};
  static const char *const members[] = {"mean", "p50", "p90", "p99"};
  orr_page_line(page, name, "%s", "");
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
    g_autofree char *metric = g_strdup_printf("%s_%s_s", name, members[i]);
    g_autofree char *one = orr_summary_band_value(outcome, metric, values[i], ORR_UNIT_SECONDS);
    orr_page_more(page, "%s%11s", i > 0 ? "  " : "", one);
  }
}

static gint64 n_differing(const OrrServing *params) {
  gint64 n = 0;
  for (guint i = 0; params->groups && i < params->groups->len; i++)
    n += ((const OrrReplicaGroup *)params->groups->pdata[i])->replicas;
  return n;
}

static const char *format_word(const OrrServingFormats *formats) {
  return formats->quantization == ORR_QUANTIZATION_NONE
             ? orr_dtype_names[formats->precision]
             : orr_quantization_words[formats->quantization];
}

/* Adds ", 3 of TP 2 x PP 1 on a100-80gb-sxm in fp8" for each group. */
static void add_groups(OrrPage *page, const OrrServing *params) {
  ORR_EACH_POINTER(const OrrReplicaGroup, group, params->groups) {
    orr_page_item(page, "%ld of TP %ld x PP %ld", group->replicas, group->parallel.tp,
                  group->parallel.pp);
    if (group->model.name) orr_page_more(page, " with %s", group->model.name);
    if (group->region) orr_page_more(page, " in %s", group->region);
    if (group->shares) orr_page_more(page, " on the same GPUs");
    if (group->device.name && *group->device.name)
      orr_page_more(page, " on %s", group->device.name);
    if (strcmp(format_word(&group->formats), format_word(&params->formats)) != 0)
      orr_page_more(page, " in %s", format_word(&group->formats));
    if (group->formats.kv != params->formats.kv)
      orr_page_more(page, " with a cache in %s", orr_dtype_names[group->formats.kv]);
  }
}

/* Adds "fp8, attention in bf16, first layers (1) in bf16": the formats of weights. */
static void add_formats(OrrPage *page, const OrrServing *params) {
  const OrrInferenceShard shard = orr_serving_shard(params);
  const char *plain = orr_dtype_names[params->formats.activations];
  orr_page_more(page, "%s", format_word(&params->formats));
  for (guint part = 0; shard.is_quantized && part < ORR_N_QUANTIZED_PARTS; part++) {
    const OrrQuantized *format = shard.formats[part];
    if (params->formats.weights.parts[part] > 0)
      orr_page_item(page, "%s in %s", orr_quantized_part_words[part],
                    format ? orr_quantized_word(format) : plain);
  }
  if (shard.is_quantized && shard.plain_first > 0)
    orr_page_item(page, "first layers (%ld) in %s", shard.plain_first, plain);
  if (shard.is_quantized && shard.plain_last > 0)
    orr_page_item(page, "last layers (%ld) in %s", shard.plain_last, plain);
}

static void add_asked(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrServingResult *r = &outcome->result.serving;
  const OrrServing *params = scenario->workload.params;
  const gint64 n_own = r->replicas - n_differing(params);
  orr_page_line(page, "model", "%s in ", scenario->model.name);
  add_formats(page, params);
  orr_page_more(page, ", %s of weights per GPU, ", orr_page_bytes(page, r->weights_bytes));
  if (orr_model_kv_bytes_per_token(&scenario->model, 1) > 0)
    orr_page_more(page, "key-value cache of %s tokens",
                  orr_page_count(page, (double)(r->kv_blocks * params->engine.block_size)));
  else
    orr_page_more(page, "states of %s requests", orr_page_count(page, (double)r->kv_blocks));
  if (!isnan(r->kv_full_requests))
    orr_page_more(page, ", full from %s requests on", orr_page_count(page, r->kv_full_requests));
  if (outcome->reserve_of && params->engine.kv_blocks == 0)
    orr_page_more(page, "; engine.reserved was measured on %s only", outcome->reserve_of);
  orr_page_line(page, "machine", "%s (%s) of %s: %ld replica%s of TP %ld x PP %ld",
                orr_page_things(page, r->n_gpus, "GPU"), scenario->cluster.device.name,
                scenario->cluster.name, n_own, n_own == 1 ? "" : "s", r->tp, r->pp);
  add_groups(page, params);
  orr_page_line(page, "engine", "scheduler %s, load %s, metrics as %s defines them",
                params->engine.scheduler.entry->name, params->load.entry->name,
                orr_metrics_words[params->metrics.definition]);
}

/* Adds lines only for several replicas, or for replicas that start and stop. */
static void add_fleet(OrrPage *page, const OrrServing *params, const OrrServingResult *r) {
  if (r->replicas > 1 || r->rejected > 0)
    orr_page_line(page, "fleet",
                  "router %s, busiest replica %.2f of the mean, %ld requests rejected",
                  params->router.entry->name, r->replica_imbalance, r->rejected);
  if (r->starts > 0 || r->failed > 0 || r->retried > 0 ||
      r->replicas_mean < (1 - 1e-9) * (double)r->replicas) {
    orr_page_line(page, "replicas", "%.3g of %ld in use on average; %ld started", r->replicas_mean,
                  r->replicas, r->starts);
    if (r->starts > 0) orr_page_more(page, ", %s each", orr_page_seconds(page, r->start_mean_s));
    orr_page_more(page, "; %ld requests retried, %ld failed", r->retried, r->failed);
  }
  if (r->handover_bytes > 0)
    orr_page_line(
        page, "hand-over", "%s of cache sent from prefill to decode, complete %s after the prompt",
        orr_page_bytes(page, r->handover_bytes), orr_page_seconds(page, r->handover_mean_s));
}

static void add_regions(OrrPage *page, const OrrOutcome *outcome) {
  const OrrServingRegionRow *first = NULL;
  ORR_EACH(const OrrServingRegionRow, row, outcome->serving_regions) {
    orr_page_line(page, first ? "" : "regions", "%s (%s): %s", row->region,
                  orr_page_things(page, row->replicas, "replica"),
                  orr_page_things(page, row->completed, "request"));
    if (!first) first = row;
    if (row->completed > 0)
      orr_page_more(page, ", %s served elsewhere, ttft %s on average",
                    orr_page_percent(page, (double)row->away / (double)row->completed),
                    orr_page_seconds(page, row->ttft_mean_s));
    if (row->replicas > 0)
      orr_page_more(page, "; GPUs busy %s", orr_page_percent(page, row->gpu_busy));
  }
}

static void add_encoders(OrrPage *page, const OrrServing *params, const OrrServingResult *r) {
  if (params->encoders.replicas == 0) return;
  orr_page_line(page, "encoders",
                "%ld, router %s, busy %s, cache hits %s; %s of embeddings, ready "
                "%s after the request",
                params->encoders.replicas, params->encoders.router.entry->name,
                orr_page_percent(page, r->encoder_busy), orr_page_percent(page, r->image_hit_rate),
                orr_page_bytes(page, r->embedding_bytes), orr_page_seconds(page, r->encode_mean_s));
}

static void add_pools(OrrPage *page, const OrrServingResult *r) {
  if (r->feed_gpus == 0) return;
  orr_page_line(page, "pools",
                "attention's GPUs compute %s of a step, %s of feed-forwards with %s of weights "
                "each %s; sends take %s",
                orr_page_percent(page, r->attention_pool_busy),
                orr_page_things(page, r->feed_gpus, "GPU"),
                orr_page_bytes(page, r->feed_weights_bytes),
                orr_page_percent(page, r->feed_pool_busy), orr_page_percent(page, r->sends_busy));
}

/* The line "steady" is printed where the start and end of a run change its rates by more. */
static const double shown_from = 0.05;

/* Rates of the whole run, next to its steady state's. */
static void add_steady_beside(OrrPage *page, const OrrServingResult *r, const char *window) {
  const double ratio = r->steady_output_tokens_per_s / fmax(r->output_tokens_per_s, 1e-9);
  if (fabs(ratio - 1) <= shown_from) return;
  orr_page_line(
      page, "steady", "%.4g requests/s, %s output tokens/s %s; throughput above has start and end",
      r->steady_requests_per_s, orr_page_count(page, r->steady_output_tokens_per_s), window);
}

/* Residence times after which a run without a steady state is not too short. */
enum { LONG_RUN = 30 };

static void add_steady(OrrPage *page, const OrrServing *params, const OrrServingResult *r) {
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  const char *stays = orr_page_seconds(page, r->residence_s);
  const char *window =
      orr_page_text(page, "from %s to %s", orr_page_seconds(page, r->steady_begin_s),
                    orr_page_seconds(page, r->steady_end_s));
  if (r->saturated || params->metrics.window == ORR_WINDOW_FULL) return;
  if (!r->steady && r->residence_s > 0 && load && load->after && !load->is_bounded)
    orr_page_line(
        page, "steady",
        "not shown: the run is too short for conversations, which last longer than the %s "
        "that a request stays; start and end are in the rates",
        stays);
  else if (!r->steady && r->residence_s > 0 && r->duration_s > LONG_RUN * r->residence_s)
    orr_page_line(page, "steady",
                  "not shown: too few requests, or a load that changes; start and end are in the "
                  "rates");
  else if (!r->steady && r->residence_s > 0)
    orr_page_line(page, "steady",
                  "not shown: the run is %.3g times the %s that a request stays; start and end "
                  "are in the rates",
                  r->duration_s / r->residence_s, stays);
  else if (!r->steady)
    orr_page_line(page, "steady", "not shown: too few requests; start and end are in the rates");
  else if (params->metrics.window == ORR_WINDOW_STEADY)
    orr_page_line(page, "steady",
                  "%s: a request stays %s, %.1f are in the system; rates +- %.2g %%", window, stays,
                  r->in_system_mean, 100 * r->steady_margin);
  else
    add_steady_beside(page, r, window);
}

static void add_throughput(OrrPage *page, const OrrOutcome *outcome) {
  const OrrServingResult *r = &outcome->result.serving;
  orr_page_line(
      page, "throughput", "%s requests in %s: %.4g requests/s, goodput %.4g, %s output tokens/s",
      orr_page_count(page, (double)r->completed), orr_page_seconds(page, r->duration_s),
      orr_summary_band_rounded(outcome, "requests_per_s", r->requests_per_s), r->goodput_rps,
      orr_page_count(
          page, orr_summary_band_rounded(outcome, "output_tokens_per_s", r->output_tokens_per_s)));
}

static void add_engines(OrrPage *page, const OrrServing *params, const OrrServingResult *r) {
  const OrrChoice *speculation = &params->engine.speculation;
  orr_page_line(page, "engines",
                "batch %.1f, GPUs busy %s, cache used %s, prefix hits %s, %ld preemptions",
                r->running_mean, orr_page_percent(page, r->gpu_busy),
                orr_page_percent(page, r->kv_utilization),
                orr_page_percent(page, r->prefix_hit_rate), r->preemptions);
  if (r->prefix_host_rate + r->prefix_ssd_rate + r->prefix_remote_rate > 0)
    orr_page_line(
        page, "tiers", "%s of the hits from host memory, %s from SSD, %s from the remote store",
        orr_page_percent(page, r->prefix_host_rate), orr_page_percent(page, r->prefix_ssd_rate),
        orr_page_percent(page, r->prefix_remote_rate));
  if (r->ssd_busy + r->store_busy > 0)
    orr_page_line(page, "reads", "wait %s for SSDs (%s busy), %s for the store (%s busy)",
                  orr_page_seconds(page, r->ssd_wait_mean_s), orr_page_percent(page, r->ssd_busy),
                  orr_page_seconds(page, r->store_wait_mean_s),
                  orr_page_percent(page, r->store_busy));
  if (orr_speculation_of(speculation).tokens > 0)
    orr_page_line(page, "speculation", "%s, %ld tokens, %s accepted: %.2f tokens per step",
                  speculation->entry->name, orr_speculation_of(speculation).tokens,
                  orr_page_percent(page, r->acceptance_rate), r->tokens_per_check);
}

static void add_energy(OrrPage *page, const OrrOutcome *outcome) {
  const OrrServingResult *r = &outcome->result.serving;
  if (isnan(r->gpu_power_mean_w)) return;
  orr_page_line(page, "energy", "%s", "");
  if (r->completed > 0)
    orr_page_more(page, "%.3g J per output token; ", r->energy_j_per_output_token);
  orr_page_more(page, "GPUs draw %s on average", orr_page_watts(page, r->gpu_power_mean_w));
  if (!isnan(r->gpu_power_peak_w))
    orr_page_more(page, ", at most %s", orr_page_watts(page, r->gpu_power_peak_w));
}

/* Nothing where no task asks an engine. */
static void add_requests(OrrPage *page, const OrrOutcome *outcome) {
  const OrrServingResult *r = &outcome->result.serving;
  if (r->completed == 0 && outcome->serving_task_results->len > 0) return;
  orr_page_line(page, "", "%11s  %11s  %11s  %11s", "mean", "p50", "p90", "p99");
  add_latencies(page, outcome, "ttft", &r->ttft);
  add_latencies(page, outcome, "tpot", &r->tpot);
  add_latencies(page, outcome, "itl", &r->itl);
  add_latencies(page, outcome, "e2e", &r->e2e);
  orr_summary_band_serving(page, outcome);
}

void orr_summary_serving(OrrPage *page, const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrServingResult *r = &outcome->result.serving;
  const OrrServing *params = scenario->workload.params;
  double sum = 0;
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) sum += outcome->trust[how];
  add_asked(page, scenario, outcome);
  add_requests(page, outcome);
  orr_summary_tasks(page, outcome);
  if (r->completed > 0 || outcome->serving_task_results->len == 0) {
    add_throughput(page, outcome);
    add_steady(page, params, r);
  }
  add_engines(page, params, r);
  add_pools(page, r);
  add_encoders(page, params, r);
  add_fleet(page, params, r);
  add_regions(page, outcome);
  add_energy(page, outcome);
  orr_summary_costs(page, outcome, outcome->trust, sum, 0.0005, "steps'");
}
