/*
 * training_rows.c - a replayed training job as rows: times from the ledger, costs and memory from
 * the compiled work.
 *
 *   tokens/s = global batch * sequence * (1 - padding) / iteration time
 *   MFU      = model FLOPs / (iteration time * GPUs) / peak        HFU: the same with recomputation
 *
 * The iteration time is the run's time over its steps. A checkpoint that is loaded before the first
 * step, or still being written when the last step ends, does not count, nor does the step in which
 * a lost node stopped the job: the mean is over the steps before it, and NAN where there are none.
 */
#include "sim/run/answer/training_rows.h"

#include "sim/run/answer/answer_private.h"

static char *interned(const char *text) { return (char *)g_intern_string(text); }

/* All lanes begin to load at 0 and wait for each other. */
double orr_training_rows_load_s(const OrrReplayed *replayed) {
  return orr_ledger_label(replayed->ledger, orr_storage_use_name(ORR_STORAGE_USE_LOAD)).covered_s;
}

double orr_training_rows_outside_s(const OrrReplayed *replayed) {
  const GArray *ends = orr_ledger_step_ends(replayed->ledger);
  const double load_s = orr_training_rows_load_s(replayed);
  const gboolean is_whole = !replayed->stopped && ends->len > 0;
  const double trails =
      replayed->replay.end_s - (is_whole ? g_array_index(ends, double, ends->len - 1) : 0);
  return load_s + (is_whole ? fmax(trails, 0) : 0);
}

static void add_steps(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const GArray *ends = orr_ledger_step_ends(replayed->ledger);
  const gboolean repeats = orr_ledger_repetition(replayed->ledger).times > 0;
  const guint n = replayed->stopped ? orr_ledger_whole_steps(replayed->ledger) : ends->len;
  double begin_s = orr_training_rows_load_s(replayed);
  for (guint i = 0; i < n; i++) {
    const OrrStepRow row = {i, begin_s, g_array_index(ends, double, i), repeats && i > 1};
    g_array_append_val(outcome->steps, row);
    begin_s = row.end_s;
  }
}

static void fill_step_times(OrrTrainingResult *r, const GArray *steps) {
  g_autoptr(GArray) seconds = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH(const OrrStepRow, step, steps) ORR_APPEND(seconds, double, step->end_s - step->begin_s);
  const OrrLatencies spread = orr_latencies_of(seconds);
  r->step_p50_s = spread.p50;
  r->step_p99_s = spread.p99;
}

static gboolean is_exposed_comm(OrrTimeKind kind) {
  return kind >= ORR_TIME_TP_COMM && kind <= ORR_TIME_DP_COMM;
}

static OrrLaneRow lane_row(const OrrTrainingWork *work, const OrrReplayed *replayed, guint lane) {
  const double *seconds = orr_ledger_lane(replayed->ledger, lane);
  OrrLaneRow row = {
      .lane = lane,
      .name = interned(orr_program_lane_name(work->work.program, lane)),
      .multiplicity = orr_program_multiplicity(work->work.program, lane),
      .stage = g_array_index(work->lane_stage, gint64, lane),
      .replica = g_array_index(work->lane_replica, gint64, lane),
      .wait_s = seconds[ORR_TIME_BUBBLE],
      .other_s = seconds[ORR_TIME_HOST],
      .end_s = orr_ledger_lane_end(replayed->ledger, lane),
  };
  for (int kind = 0; kind < ORR_N_TIMES; kind++) {
    if (is_exposed_comm(kind))
      row.comm_s += seconds[kind];
    else if (kind != ORR_TIME_BUBBLE && kind != ORR_TIME_HOST)
      row.compute_s += seconds[kind];
  }
  return row;
}

static void add_lanes(const OrrTrainingWork *work, const OrrReplayed *replayed,
                      OrrOutcome *outcome) {
  const double outside_s = orr_training_rows_outside_s(replayed);
  for (guint lane = 0; lane < orr_program_n_lanes(work->work.program); lane++) {
    ORR_APPEND(outcome->lanes, OrrLaneRow, lane_row(work, replayed, lane));
    const double *all_s = orr_ledger_lane(replayed->ledger, lane);
    for (int kind = 0; kind < ORR_N_TIMES; kind++) {
      const double seconds = all_s[kind] - (kind == ORR_TIME_STORAGE ? outside_s : 0);
      ORR_APPEND(outcome->times, OrrTimeRow,
                 {lane, interned(orr_time_words[kind]), seconds,
                  seconds / (replayed->replay.end_s - outside_s)});
    }
  }
}

static void add_operators(const OrrTrainingWork *work, OrrOutcome *outcome) {
  static const char *const kinds[] = {"gemm", "attention", "memory", "comm", "moe"};
  ORR_EACH(const OrrCostedOperator, costed, work->operators)
    ORR_APPEND(outcome->operators, OrrOperatorRow,
               {
                   .phase = interned(costed->phase),
                   .name = interned(costed->op.name),
                   .kind = interned(kinds[costed->op.kind]),
                   .count = costed->count,
                   .seconds_each = costed->each_s,
                   .seconds_total = costed->each_s * costed->count,
                   .how = interned(orr_cost_how_text(outcome->carried_from, costed->how)),
                   .flops = costed->op.flops,
                   .bytes = costed->op.bytes,
               });
}

/* The times of each row's calls (of OrrLabelTimes). */
static GArray *times_by_row(const OrrTrainingWork *work, const OrrLedger *ledger) {
  GArray *all = g_array_new(FALSE, TRUE, sizeof(OrrLabelTimes));
  g_array_set_size(all, work->collectives->len);
  for (guint32 path = 0; path < work->row_of_path->len; path++) {
    const guint32 row = g_array_index(work->row_of_path, guint32, path);
    if (row == 0) continue;
    const OrrLabelTimes times = orr_ledger_path(ledger, path);
    OrrLabelTimes *sum = &g_array_index(all, OrrLabelTimes, row - 1);
    *sum = (OrrLabelTimes){sum->n + times.n, sum->seconds + times.seconds,
                           sum->alone_s + times.alone_s, 0};
  }
  return all;
}

/* Calls that are part of another communication, or use no link, are as much slower than alone as
 * all of their name. */
static OrrLabelTimes one_call(const OrrPlannedCollective *planned, const OrrLabelTimes *own,
                              const OrrLedger *ledger) {
  if (own->n > 0 && !planned->within)
    return (OrrLabelTimes){1, own->seconds / own->n, own->alone_s / own->n, 0};
  const OrrLabelTimes all = orr_ledger_label(ledger, planned->name);
  const double slower = all.alone_s > 0 ? all.seconds / all.alone_s : 1;
  return (OrrLabelTimes){1, slower * planned->predicted_s, planned->predicted_s, 0};
}

static void add_collectives(const OrrTrainingWork *work, const OrrReplayed *replayed,
                            OrrOutcome *outcome) {
  g_autoptr(GArray) times = times_by_row(work, replayed->ledger);
  ORR_EACH_AT(row, const OrrPlannedCollective, planned, work->collectives) {
    const OrrLabelTimes one =
        one_call(planned, &g_array_index(times, OrrLabelTimes, row), replayed->ledger);
    int op = 0;
    while (!g_str_equal(orr_collective_words[op], planned->op)) op++;
    const double factor = orr_collective_bus_factor(op, planned->n_ranks);
    ORR_APPEND(outcome->collectives, OrrCollectiveRow,
               {
                   .name = interned(planned->name),
                   .op = interned(planned->op),
                   .algorithm = interned(planned->algorithm),
                   .n_ranks = planned->n_ranks,
                   .bytes = planned->bytes,
                   .count = planned->count,
                   .latency_s = planned->latency_s,
                   .predicted_s = one.alone_s,
                   .mean_s = one.seconds,
                   .busbw_bytes_per_s = planned->predicted_s > 0
                                            ? factor * planned->bytes / planned->predicted_s
                                            : 0,
                   .how = interned(orr_cost_how_text(outcome->carried_from, planned->how)),
               });
  }
}

static void add_storage(const OrrTrainingWork *work, const OrrReplayed *replayed,
                        OrrOutcome *outcome) {
  for (int use = 0; use < ORR_N_STORAGE_USES; use++) {
    const OrrLabelTimes times = orr_ledger_label(replayed->ledger, orr_storage_use_name(use));
    if (work->storage_bytes[use] <= 0 || times.n == 0) continue;
    ORR_APPEND(outcome->storage, OrrStorageRow,
               {
                   .name = interned(orr_storage_use_name(use)),
                   .count = work->storage_counts[use],
                   .bytes = work->storage_bytes[use],
                   .alone_s = times.alone_s / (double)times.n,
                   .mean_s = times.seconds / (double)times.n,
                   .wall_s = times.covered_s / (double)work->storage_counts[use],
                   .bytes_per_s = work->storage_bytes[use] * (double)work->storage_counts[use] /
                                  times.covered_s,
               });
  }
}

/* When the last step ended: a checkpoint that is still being written then is left out. */
static double steps_end(const OrrReplayed *replayed, const OrrOutcome *outcome) {
  const gboolean trails = outcome->storage->len > 0 || replayed->stopped;
  if (replayed->stopped && outcome->steps->len == 0) return NAN;
  return trails && outcome->steps->len > 0
             ? g_array_index(outcome->steps, OrrStepRow, outcome->steps->len - 1).end_s
             : replayed->replay.end_s;
}

static void add_memory(const OrrTrainingWork *work, const OrrCluster *cluster,
                       OrrOutcome *outcome) {
  OrrTrainingResult *r = &outcome->result.training;
  ORR_EACH(const OrrStageMemory, stage, work->memory) {
    const OrrMemoryRow row = {
        .stage = stage->stage,
        .weights_bytes = stage->weights,
        .gradients_bytes = stage->gradients,
        .optimizer_bytes = stage->optimizer,
        .activations_bytes = stage->activations,
        .working_bytes = stage->working,
        .buffers_bytes = stage->buffers,
        .fragmentation_bytes = stage->fragmentation,
        .flat_copies_bytes = stage->flat_copies,
        .workspace_bytes = stage->workspace,
        .communicators_bytes = stage->communicators,
        .context_bytes = stage->context,
        .host_bytes = stage->host,
        .total_bytes = orr_stage_memory_total(stage),
        .capacity_bytes = cluster->device.memory_bytes,
    };
    g_array_append_val(outcome->memory, row);
    r->memory_peak_bytes = MAX(r->memory_peak_bytes, row.total_bytes);
    r->allocator_peak_bytes = MAX(r->allocator_peak_bytes, orr_stage_memory_reserved(stage));
  }
  r->headroom_bytes = cluster->device.memory_bytes - r->memory_peak_bytes;
  r->host_memory_peak_bytes = work->host_peak_bytes;
  r->host_headroom_bytes =
      work->host_peak_bytes > 0 ? cluster->node.host.memory_bytes - work->host_peak_bytes : 0;
  r->fits = r->headroom_bytes >= 0 && r->host_headroom_bytes >= 0;
}

static void fill_rates(OrrTrainingResult *r, const OrrTrainingWork *work) {
  const double per_gpu_s = r->iteration_time_s * r->n_gpus;
  r->tokens_per_s = work->global_batch * work->sequence * (1 - work->padding) / r->iteration_time_s;
  r->tokens_per_s_per_gpu = r->tokens_per_s / r->n_gpus;
  r->model_tflops_per_gpu = work->model_flops / per_gpu_s / 1e12;
  r->hardware_tflops_per_gpu = work->hardware_flops / per_gpu_s / 1e12;
  r->peak_tflops_per_gpu = work->peak_flops / 1e12;
  r->mfu = work->model_flops / per_gpu_s / work->peak_flops;
  r->hfu = work->hardware_flops / per_gpu_s / work->peak_flops;
}

/* @watts: of the machine for the job; NAN: no power model. */
static void fill_money(OrrTrainingResult *r, const OrrTrainingWork *work,
                       const OrrReplayed *replayed, double watts) {
  const double gpus = (double)r->n_gpus;
  const char *device = replayed->cluster->device.name;
  const OrrMoneyQuestion question = {
      .prices = replayed->prices,
      .gpus = gpus,
      .hardware_per_s = orr_money_hardware(replayed->prices, replayed->fabric, device, gpus),
      .watts = watts,
      .tokens_per_s = r->tokens_per_s};
  r->money = orr_money_of(&question);
  const double per_s = orr_money_per_s(&r->money, &question);
  const double run_s = work->run_tokens > 0 ? work->run_tokens / r->tokens_per_s : NAN;
  r->cost_per_step = per_s * r->iteration_time_s;
  r->run_days = run_s / 86400;
  r->cost_per_run = per_s * run_s;
}

static void fill_sizes(OrrTrainingResult *r, const OrrTrainingWork *work) {
  r->tp = work->tp;
  r->pp = work->pp;
  r->dp = work->dp;
  r->cp = work->cp;
  r->micro_batches = work->shape.micro_batches;
  r->padding_fraction = work->padding;
  r->checkpoint_bytes = work->checkpoint_bytes;
}

static void fill_result(const OrrTrainingWork *work, const OrrReplayed *replayed,
                        OrrOutcome *outcome) {
  OrrTrainingResult *r = &outcome->result.training;
  const double load_s = orr_training_rows_load_s(replayed);
  const double outside_s = orr_training_rows_outside_s(replayed);
  const double end_s = replayed->replay.end_s - outside_s;
  const double n_steps = MAX(outcome->steps->len, 1);
  r->iteration_time_s = (steps_end(replayed, outcome) - load_s) / n_steps;
  orr_ledger_mean(replayed->ledger, outcome->time_by_kind);
  outcome->time_by_kind[ORR_TIME_STORAGE] -= outside_s;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) {
    if (is_exposed_comm(kind)) r->exposed_comm_fraction += outcome->time_by_kind[kind] / end_s;
    if (kind == ORR_TIME_BUBBLE) r->bubble_fraction = outcome->time_by_kind[kind] / end_s;
    outcome->time_by_kind[kind] /= replayed->stopped ? end_s / r->iteration_time_s : n_steps;
  }
  fill_step_times(r, outcome->steps);
  fill_sizes(r, work);
  r->layer_forward_s = work->layer_forward_s;
  r->layer_backward_s = work->layer_backward_s;
  r->costs_outside = work->costs_outside;
  fill_rates(r, work);
  orr_training_energy(replayed, outcome);
  fill_money(r, work, replayed, r->machine.all_w);
}

/* Figures that the rows of single operations do not show. */
static void add_left_out(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const guint times = orr_ledger_repetition(replayed->ledger).times, n = outcome->steps->len;
  if (times == 0 || outcome->spans->len == 0) return;
  g_ptr_array_add(outcome->warnings,
                  g_strdup_printf("%s%u %s step 1 and %s not replayed: the time line has steps 0 "
                                  "and 1 and the end of step %u",
                                  n > 3 ? "steps 2 to " : "step ", n - 1,
                                  n > 3 ? "repeat" : "repeats", n > 3 ? "were" : "was", n - 1));
}

/* Part of the hardware FLOPs behind the causal mask from which on MFU and HFU mislead. */
static const double masked_part = 0.1;

static void add_warnings(const OrrTrainingWork *work, const OrrCluster *cluster,
                         OrrOutcome *outcome) {
  const OrrTrainingResult *r = &outcome->result.training;
  if (work->dropped > 1e-9)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("experts.capacity drops %.3g %% of the routed tokens: they are "
                                    "in tokens/s, and not in TFLOP/s, MFU and HFU",
                                    100 * work->dropped));
  if (work->masked_flops > masked_part * work->hardware_flops)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("MFU and HFU count attention as if it had no causal mask, as "
                        "papers do: without what the mask leaves out the "
                        "GPUs compute %.1f %% of the peak",
                        100 * r->hfu * (1 - work->masked_flops / work->hardware_flops)));
  if (work->unknown_release)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf("products.release %s: no products of it were measured on %s; the "
                        "profile's other rows answer at their own rate "
                        "(products.rate sets another)",
                        work->unknown_release, cluster->device.name));
  if (work->left_out > 0.01)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("packing trains %.3g %% of the documents' tokens: documents "
                                    "longer than a sequence end with it, and packing.cut: true "
                                    "continues them in the next",
                                    100 * (1 - work->left_out)));
  if (work->host_peak_bytes > 0 && orr_cluster_n_nodes(cluster) > 1 &&
      cluster->node.host.network_path == ORR_NETWORK_AUTO &&
      !orr_cluster_network_on_host_link(cluster))
    g_ptr_array_add(outcome->warnings,
                    g_strdup("copies to the host and the network do not share a GPU's PCIe link: "
                             "the NICs reach less than 80 % of its rate (with "
                             "cluster.node.host.network-path: bridge they share it)"));
  if (r->costs_outside > 0)
    g_ptr_array_add(
        outcome->warnings,
        g_strdup_printf(
            "operators outside the measured range of the profile: %d (see the view operators)",
            (int)r->costs_outside));
  const OrrFootprint footprint = {r->memory_peak_bytes, r->host_memory_peak_bytes};
  g_autofree char *refusal = orr_footprint_refuse(&footprint, cluster);
  if (!refusal) return;
  g_autofree char *gpu = orr_quantity_format(r->memory_peak_bytes, ORR_UNIT_BYTES);
  g_autofree char *host = orr_quantity_format(r->host_memory_peak_bytes, ORR_UNIT_BYTES);
  g_ptr_array_add(outcome->warnings,
                  g_strdup_printf("the job needs %s per GPU%s%s: %s", gpu,
                                  footprint.host_bytes > 0 ? " and, of a node's host memory, " : "",
                                  footprint.host_bytes > 0 ? host : "", refusal));
}

void orr_training_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrTrainingWork *work = (const OrrTrainingWork *)replayed->work;
  add_steps(replayed, outcome);
  add_lanes(work, replayed, outcome);
  orr_replayed_add_spans(replayed, outcome);
  add_operators(work, outcome);
  add_collectives(work, replayed, outcome);
  orr_replayed_add_links(replayed, outcome);
  orr_link_time_add(replayed, outcome);
  add_memory(work, replayed->cluster, outcome);
  orr_outcome_take(&outcome->activations, work->activations);
  orr_memory_time_add(replayed, outcome);
  orr_training_energy_add_power(replayed, outcome);
  add_storage(work, replayed, outcome);
  fill_result(work, replayed, outcome);
  add_warnings(work, replayed->cluster, outcome);
  add_left_out(replayed, outcome);
}

/* A cost is bounded by the hardware's part of it: energy is not known, and at least 0. */
void orr_training_rows_outline(const OrrReplayed *outline, double least_s, OrrOutcome *outcome) {
  const OrrTrainingWork *training = (const OrrTrainingWork *)outline->work;
  OrrTrainingResult *r = &outcome->result.training;
  add_memory(training, outline->cluster, outcome);
  fill_sizes(r, training);
  r->iteration_time_s = least_s;
  fill_rates(r, training);
  fill_money(r, training, outline, 0);
}

/* --- Explanations --- */

typedef struct {
  const char *name;
  double amount;
} Part;

ORR_MOST_FIRST(compare_parts, Part, amount)

/* "gemm 61 %, tp-comm 17 %, bubble 9 %": the three largest parts, in percent of the sum.
 * Equal parts keep their order. */
static char *largest_parts(Part *parts, guint n) {
  g_autoptr(GArray) sorted = g_array_new(FALSE, FALSE, sizeof(Part));
  GString *text = g_string_new(NULL);
  double sum = 0;
  g_array_append_vals(sorted, parts, n);
  g_array_sort(sorted, compare_parts); /* merge sort: stable */
  for (guint i = 0; i < n; i++) sum += parts[i].amount;
  for (guint i = 0; i < MIN(n, 3); i++) {
    const Part *part = &g_array_index(sorted, Part, i);
    if (part->amount > 0)
      g_string_append_printf(text, "%s%s %.0f %%", i > 0 ? ", " : "", part->name,
                             100 * part->amount / sum);
  }
  return g_string_free(text, FALSE);
}

char *orr_training_rows_explain(const OrrOutcome *outcome) {
  Part parts[ORR_N_TIMES];
  for (guint i = 0; i < ORR_N_TIMES; i++)
    parts[i] = (Part){orr_time_words[i], outcome->time_by_kind[i]};
  return largest_parts(parts, ORR_N_TIMES);
}

/* The parts of the stage that holds most. */
char *orr_training_rows_memory_parts(const OrrOutcome *outcome) {
  const OrrMemoryRow *peak = NULL;
  ORR_EACH(const OrrMemoryRow, row, outcome->memory)
    if (!peak || row->total_bytes > peak->total_bytes) peak = row;
  if (!peak) return g_strdup("");
  Part parts[] = {{"weights", peak->weights_bytes},
                  {"gradients", peak->gradients_bytes},
                  {"optimizer", peak->optimizer_bytes},
                  {"activations", peak->activations_bytes},
                  {"working set", peak->working_bytes},
                  {"fragmentation", peak->fragmentation_bytes},
                  {"flat copies", peak->flat_copies_bytes},
                  {"communicators", peak->communicators_bytes},
                  {"context", peak->context_bytes + peak->workspace_bytes}};
  return largest_parts(parts, G_N_ELEMENTS(parts));
}
