/*
 * collective_rows.c - adds one row per size to nccl_test and to collective. The result repeats the
 * last size, plus the mean bus bandwidth over all sizes.
 */
#include "sim/run/answer/answer_private.h"

static char *interned(const char *text) { return (char *)g_intern_string(text); }

static OrrNcclTestRow test_row(const OrrBenchWork *work, const OrrBenchSize *size, double time_s,
                               const char *carried_from) {
  const OrrCollectiveBench *params = &work->params;
  const OrrCollectiveOp op = (OrrCollectiveOp)params->collective;
  const double algbw = time_s > 0 ? size->bytes / time_s : 0;
  return (OrrNcclTestRow){
      .size_bytes = (gint64)size->bytes,
      .count = orr_collective_bench_count(params, size->bytes, work->n_ranks),
      .type = interned(orr_dtype_names[params->dtype]),
      .redop = interned(orr_collective_bench_reduces(op) ? orr_redop_words[params->redop] : "none"),
      .root = orr_collective_bench_has_root(op) ? params->root : -1,
      .time_s = time_s,
      .algbw_bytes_per_s = algbw,
      .busbw_bytes_per_s = algbw * orr_collective_bus_factor(op, work->n_ranks),
      .collective = interned(orr_collective_words[op]),
      .algorithm = interned(size->algorithm->entry.name),
      .protocol = interned(
          orr_protocol_words[size->how == ORR_HOW_MODELLED ? size->protocol : ORR_PROTOCOL_AUTO]),
      .how = interned(orr_cost_how_text(carried_from, size->how)),
      .alone_s = size->predicted_s,
      .low_s = NAN,
      .high_s = NAN,
      .expected_s = NAN,
  };
}

static OrrCollectiveRow collective_row(const OrrBenchWork *work, const OrrBenchSize *size,
                                       const OrrNcclTestRow *test) {
  return (OrrCollectiveRow){
      .name = interned(size->label),
      .op = test->collective,
      .algorithm = test->algorithm,
      .n_ranks = work->n_ranks,
      .bytes = size->bytes,
      .count = 1,
      .latency_s = size->latency_s,
      .predicted_s = size->predicted_s,
      .mean_s = test->time_s,
      .busbw_bytes_per_s = test->busbw_bytes_per_s,
      .how = test->how,
  };
}

static void fill_result(const OrrBenchWork *work, OrrOutcome *outcome) {
  OrrCollectivesResult *r = &outcome->result.collectives;
  r->n_ranks = work->n_ranks;
  r->n_groups = work->n_groups;
  r->n_sizes = outcome->nccl_tests->len;
  ORR_EACH(const OrrNcclTestRow, row, outcome->nccl_tests) {
    r->time_s = row->time_s;
    r->algbw_bytes_per_s = row->algbw_bytes_per_s;
    r->busbw_bytes_per_s = row->busbw_bytes_per_s;
    r->size_bytes = (double)row->size_bytes;
    r->mean_busbw_bytes_per_s += row->busbw_bytes_per_s / outcome->nccl_tests->len;
  }
}

/* A rank sends what the bus bandwidth counts: for a ring exactly. */
static void fill_energy(const OrrReplayed *replayed, OrrOutcome *outcome) {
  OrrCollectivesResult *r = &outcome->result.collectives;
  const OrrDevicePower *power = &replayed->cluster->device.power;
  const double limit_w = orr_device_power_limit_w(power, replayed->cluster->device.tdp_watts);
  const double sent_bytes = r->busbw_bytes_per_s * r->time_s;
  const double link_w = orr_device_power_link_j(power, sent_bytes, r->time_s) / r->time_s;
  const double board_w = orr_device_power_static_w(power) + link_w, gpus = (double)r->n_gpus;
  r->gpu_power_mean_w = orr_device_power_is_known(power)
                            ? gpus * (limit_w > 0 ? fmin(board_w, limit_w) : board_w)
                            : NAN;
  r->energy_j_per_call = r->gpu_power_mean_w * r->time_s;
  const OrrMachineLoad load = {gpus, r->gpu_power_mean_w, 0};
  r->machine = orr_cluster_power_machine(replayed->fabric, replayed->cluster, &load);
  orr_machine_rows_add(replayed->cluster, &r->machine, outcome);
}

static void add_warnings(const OrrBenchWork *work, OrrOutcome *outcome) {
  guint n = 0;
  ORR_EACH(const OrrBenchSize, size, work->sizes) n += size->how == ORR_HOW_OUTSIDE;
  if (n > 0)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("%u sizes lie outside the measured range of the profile", n));
}

/* A size replayed as one flow has a span; a size replayed step by step ends at a mark. */
static double time_of(const OrrReplayed *replayed, const OrrBenchWork *work, guint i) {
  if (work->params.replay == ORR_BENCH_FLOW) {
    const OrrBenchSize *size = &g_array_index(work->sizes, OrrBenchSize, i);
    const OrrLabelTimes times = orr_ledger_label(replayed->ledger, size->label);
    return times.n > 0 ? times.seconds / times.n : 0;
  }
  const GArray *ends = orr_ledger_step_ends(replayed->ledger);
  return g_array_index(ends, double, i) - (i > 0 ? g_array_index(ends, double, i - 1) : 0);
}

void orr_collective_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrBenchWork *work = (const OrrBenchWork *)replayed->work;
  ORR_EACH_AT(i, const OrrBenchSize, size, work->sizes) {
    const OrrNcclTestRow test =
        test_row(work, size, time_of(replayed, work, i), outcome->carried_from);
    const OrrCollectiveRow row = collective_row(work, size, &test);
    g_array_append_val(outcome->nccl_tests, test);
    g_array_append_val(outcome->collectives, row);
  }
  fill_result(work, outcome);
  fill_energy(replayed, outcome);
  outcome->result.collectives.money =
      orr_replayed_money(replayed, (double)outcome->result.collectives.n_gpus,
                         outcome->result.collectives.machine.all_w);
  orr_replayed_add_spans(replayed, outcome);
  orr_replayed_add_links(replayed, outcome);
  orr_link_time_add(replayed, outcome);
  add_warnings(work, outcome);
}

char *orr_collective_rows_explain(const OrrOutcome *outcome) {
  if (outcome->nccl_tests->len == 0) return g_strdup("");
  const guint last = outcome->nccl_tests->len - 1;
  const OrrNcclTestRow *test = &g_array_index(outcome->nccl_tests, OrrNcclTestRow, last);
  const OrrCollectiveRow *row = &g_array_index(outcome->collectives, OrrCollectiveRow, last);
  const gboolean is_protocol = !g_str_equal(test->protocol, orr_protocol_words[ORR_PROTOCOL_AUTO]);
  return g_strdup_printf("%s%s%s, %s, latency %.0f %%", test->algorithm, is_protocol ? " " : "",
                         is_protocol ? test->protocol : "", test->how,
                         row->predicted_s > 0 ? 100 * row->latency_s / row->predicted_s : 0);
}
