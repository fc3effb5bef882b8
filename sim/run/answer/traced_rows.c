/*
 * traced_rows.c - a replayed trace as rows: times from the ledger, counts from the compiled work.
 */
#include "sim/run/answer/answer_private.h"
#include "workloads/trace/trace_work.h"

static char *interned(const char *text) { return (char *)g_intern_string(text); }

static gboolean is_comm(int kind) { return kind >= ORR_TIME_TP_COMM && kind <= ORR_TIME_DP_COMM; }

static void add_lanes(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrProgram *program = replayed->work->program;
  for (guint lane = 0; lane < orr_program_n_lanes(program); lane++) {
    const double *seconds = orr_ledger_lane(replayed->ledger, lane);
    OrrLaneRow row = {.lane = lane,
                      .name = interned(orr_program_lane_name(program, lane)),
                      .multiplicity = orr_program_multiplicity(program, lane),
                      .replica = lane,
                      .compute_s = seconds[ORR_TIME_GEMM],
                      .wait_s = seconds[ORR_TIME_BUBBLE],
                      .other_s = seconds[ORR_TIME_HOST],
                      .end_s = orr_ledger_lane_end(replayed->ledger, lane)};
    for (int kind = 0; kind < ORR_N_TIMES; kind++)
      if (is_comm(kind)) row.comm_s += seconds[kind];
    g_array_append_val(outcome->lanes, row);
  }
}

static void add_calls(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrTraceWork *work = (const OrrTraceWork *)replayed->work;
  ORR_EACH(const OrrTraceCall, call, work->calls) {
    const OrrLabelTimes times = orr_ledger_label(replayed->ledger, call->label);
    int op = 0;
    while (!g_str_equal(orr_collective_words[op], call->op)) op++;
    ORR_APPEND(outcome->collectives, OrrCollectiveRow,
               {.name = interned(call->label),
                .op = interned(call->op),
                .algorithm = interned(call->algorithm),
                .n_ranks = call->n_ranks,
                .bytes = call->bytes,
                .count = call->count,
                .latency_s = call->latency_s,
                .predicted_s = call->predicted_s,
                .mean_s = times.n > 0 ? times.seconds / (double)times.n : 0,
                .busbw_bytes_per_s =
                    call->predicted_s > 0
                        ? call->bytes / call->predicted_s *
                              orr_collective_bus_factor((OrrCollectiveOp)op, (guint)call->n_ranks)
                        : 0,
                .how = interned(orr_cost_how_text(outcome->carried_from, (OrrHow)call->how))});
  }
}

static void fill_times(const OrrReplayed *replayed, OrrTraceResult *r) {
  const OrrTraceWork *work = (const OrrTraceWork *)replayed->work;
  const double ranks = (double)work->work.n_gpus;
  double mean_s[ORR_N_TIMES];
  orr_ledger_mean(replayed->ledger, mean_s);
  r->time_s = replayed->replay.end_s;
  r->compute_s = mean_s[ORR_TIME_GEMM];
  r->overlapped_s = replayed->stopped ? NAN : fmax(work->compute_s / ranks - r->compute_s, 0);
  r->host_s = work->host_s / ranks;
  r->modelled_fraction = work->compute_s > 0 ? work->modelled_s / work->compute_s : 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    if (is_comm(kind)) r->exposed_comm_s += mean_s[kind];
  r->wait_s = mean_s[ORR_TIME_BUBBLE] + mean_s[ORR_TIME_HOST];
  r->exposed_comm_fraction = r->time_s > 0 ? r->exposed_comm_s / r->time_s : 0;
}

static void warn_of_times(const OrrTraceWork *work, const char *device, OrrOutcome *outcome) {
  if (work->as_recorded_s == 0) return;
  const double percent = 100 * work->as_recorded_s / work->compute_s;
  char *text = work->recorded_on
                   ? g_strdup_printf("%.0f %% of the time in kernels is as recorded on %s: the "
                                     "trace has no num_ops or tensor_size by which to scale it to "
                                     "%s",
                                     percent, work->recorded_on, device)
                   : g_strdup_printf("%.0f %% of the time in kernels is as the trace recorded it, "
                                     "on whichever GPU: workload.recorded-on names that GPU",
                                     percent);
  g_ptr_array_add(outcome->warnings, text);
}

static void add_warnings(const OrrTraceWork *work, OrrOutcome *outcome) {
  for (guint i = 0; i < work->notes->len; i++)
    g_ptr_array_add(outcome->warnings, g_strdup(work->notes->pdata[i]));
  if (work->n_unknown > 0)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("%ld kernels have neither a time nor num_ops and tensor_size: "
                                    "they take no time",
                                    work->n_unknown));
  if (work->modelled_s > 0)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("%.0f %% of the time in kernels is the roofline of the "
                                    "datasheet: the trace recorded no time for them",
                                    100 * work->modelled_s / work->compute_s));
  if (work->lacks_gpu_deps)
    g_ptr_array_add(outcome->warnings,
                    g_strdup("no kernel or communication of the trace depends on another: kernels "
                             "of one stream run one after another, but nothing says which wait for "
                             "communication, so the time is too short"));
}

void orr_traced_rows(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrTraceWork *work = (const OrrTraceWork *)replayed->work;
  OrrTraceResult *r = &outcome->result.trace;
  r->n_nodes = work->n_nodes;
  r->n_collectives = work->n_collectives;
  r->n_sends = work->n_sends;
  r->comm_bytes = work->comm_bytes;
  fill_times(replayed, r);
  r->money = orr_replayed_money(replayed, (double)r->n_gpus,
                                NAN); /* a trace does not say what kernels draw */
  add_lanes(replayed, outcome);
  add_calls(replayed, outcome);
  orr_replayed_add_spans(replayed, outcome);
  orr_replayed_add_links(replayed, outcome);
  orr_link_time_add(replayed, outcome);
  warn_of_times(work, replayed->cluster->device.name, outcome);
  add_warnings(work, outcome);
}

char *orr_traced_rows_explain(const OrrOutcome *outcome) {
  const OrrTraceResult *r = &outcome->result.trace;
  return g_strdup_printf("kernels %.0f %%, exposed communication %.0f %%",
                         r->time_s > 0 ? 100 * r->compute_s / r->time_s : 0,
                         100 * r->exposed_comm_fraction);
}
