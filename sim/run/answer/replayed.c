/*
 * replayed.c - what runs of several kinds have in common: rows of spans and links, a warning of
 * idle GPUs, money. Spans of category "step" mark where a step ends; links that stand for none were
 * dropped by folding. Neither becomes a row.
 */
#include "sim/run/answer/answer_private.h"

static char *interned(const char *text) { return (char *)g_intern_string(text); }

void orr_replayed_add_spans(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrProgram *program = replayed->work->program;
  ORR_EACH(const OrrSpan, span, replayed->spans) {
    const OrrSpanRow row = {
        .lane = orr_program_stream_lane(program, span->stream),
        .stream = interned(orr_program_stream_name(program, span->stream)),
        .name = interned(orr_program_label_name(program, span->label)),
        .category = interned(orr_program_label_category(program, span->label)),
        .micro_batch = span->tag,
        .begin_s = span->begin_s,
        .started_s = span->started_s,
        .end_s = span->end_s,
    };
    if (g_str_equal(row.category, "step")) continue;
    g_array_append_val(outcome->spans, row);
    g_array_append_val(outcome->span_labels, span->label);
  }
  if (replayed->spans && replayed->work->label_seconds && !outcome->label_seconds)
    outcome->label_seconds = g_array_ref(replayed->work->label_seconds);
}

void orr_replayed_add_links(const OrrReplayed *replayed, OrrOutcome *outcome) {
  const OrrProgram *program = replayed->work->program;
  for (guint32 link = 0; link < orr_program_n_links(program); link++) {
    const guint32 stands_for = orr_program_link_stands_for(program, link);
    if (stands_for == 0) continue;
    const double bandwidth = orr_program_link_bandwidth(program, link);
    ORR_APPEND(
        outcome->links, OrrLinkRow,
        {
            .link = g_string_chunk_insert(outcome->names, orr_program_link_name(program, link)),
            .kind = interned(orr_fabric_link_kind(
                replayed->fabric, g_array_index(replayed->work->links, guint32, link))),
            .stands_for = stands_for,
            .bandwidth_bytes_per_s = bandwidth,
            .bytes = replayed->link_bytes[link],
            .utilization = replayed->link_bytes[link] / (bandwidth * replayed->replay.end_s),
        });
  }
}

void orr_replayed_warn_idle(const OrrReplayed *replayed, const char *verb, OrrOutcome *outcome) {
  const gint64 used = replayed->work->n_gpus, all = orr_cluster_n_gpus(replayed->cluster);
  if (used < all)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("%ld of %ld GPUs %s%s; the others idle and are not counted",
                                    used, all, verb, used == 1 ? "s" : ""));
}

OrrMoney orr_replayed_money(const OrrReplayed *replayed, double gpus, double watts) {
  const OrrMoneyQuestion question = {.prices = replayed->prices,
                                     .gpus = gpus,
                                     .hardware_per_s =
                                         orr_money_hardware(replayed->prices, replayed->fabric,
                                                            replayed->cluster->device.name, gpus),
                                     .watts = watts};
  return orr_money_of(&question);
}

void orr_replayed_warn_outside(const double *cost_s, OrrOutcome *outcome) {
  double sum = 0;
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) sum += cost_s[how];
  if (cost_s[ORR_HOW_OUTSIDE] > 0.05 * sum)
    g_ptr_array_add(outcome->warnings,
                    g_strdup_printf("kernels of %.0f %% of the kernels' time lie outside the "
                                    "profile's measured range",
                                    100 * cost_s[ORR_HOW_OUTSIDE] / sum));
}

double orr_replayed_power(const OrrReplayed *replayed, double time_s, gint64 n_gpus,
                          OrrMachinePower *ret_machine, OrrOutcome *outcome) {
  const OrrWorkPower *power = &replayed->work->power;
  const double gpus = (double)n_gpus;
  double mean_s[ORR_N_TIMES], joules = power->static_w * time_s;
  orr_ledger_mean(replayed->ledger, mean_s);
  for (int kind = 0; kind < ORR_N_TIMES; kind++)
    joules += mean_s[kind] * orr_joules_sum(power->watts[kind]);
  const double mean_w = power->is_known ? gpus * joules / time_s : NAN;
  const OrrMachineLoad load = {gpus, mean_w, gpus};
  *ret_machine = orr_cluster_power_machine(replayed->fabric, replayed->cluster, &load);
  orr_machine_rows_add(replayed->cluster, ret_machine, outcome);
  return mean_w;
}
