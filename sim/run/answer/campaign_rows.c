/*
 * campaign_rows.c - adds up histories, and divides by their number at the end.
 */
#include "sim/run/answer/campaign_rows.h"

#include "sim/base/number.h"
#include "workloads/training/training.h"

struct OrrCampaignAnswer {
  const OrrCampaignInput *input;
  OrrOutcome *outcome;
  double tokens_per_s;  /* of a healthy job */
  GArray *lost, *out_s; /* of double; as in a history, summed */
  GArray *failures;     /* of double, by cause */
  double wall_s, progress_s, n_checkpoints;
};

OrrCampaignAnswer *orr_campaign_rows_begin(const OrrCampaignInput *input, double tokens_per_step,
                                           OrrOutcome *outcome) {
  OrrCampaignAnswer *answer = g_new0(OrrCampaignAnswer, 1);
  const guint n = input->processes->len + ORR_N_CAUSES;
  *answer = (OrrCampaignAnswer){.input = input,
                                .outcome = outcome,
                                .tokens_per_s = tokens_per_step / input->step_s,
                                .lost = g_array_new(FALSE, TRUE, sizeof(double)),
                                .out_s = g_array_new(FALSE, TRUE, sizeof(double)),
                                .failures = g_array_new(FALSE, TRUE, sizeof(double))};
  g_array_set_size(answer->lost, n * ORR_N_PHASES);
  g_array_set_size(answer->failures, n);
  outcome->kind = &orr_campaign_rows_kind;
  return answer;
}

static const char *name_of_cause(const OrrCampaignInput *input, guint cause) {
  static const char *const own[] = {"checkpoint", "planned", "rejoin"};
  return cause < ORR_N_CAUSES
             ? own[cause]
             : g_array_index(input->processes, OrrCampaignProcess, cause - ORR_N_CAUSES).name;
}

static void add_events(const OrrCampaignAnswer *answer, const OrrCampaignHistory *history) {
  ORR_EACH(const OrrCampaignEvent, event, history->events) {
    const char *cause =
        event->phase == ORR_PHASE_RUN ? NULL : name_of_cause(answer->input, (guint)event->cause);
    ORR_APPEND(answer->outcome->campaign_events, OrrCampaignEventRow,
               {.begin_s = event->begin_s,
                .end_s = event->end_s,
                .phase = (char *)orr_campaign_phase_words[event->phase],
                .cause = cause ? (char *)g_intern_string(cause) : NULL,
                .replicas = event->replicas,
                .nodes_out = event->nodes_out,
                .tokens = event->progress_s * answer->tokens_per_s});
  }
}

static void add_each(GArray *sums, const GArray *values) {
  if (sums->len < values->len) g_array_set_size(sums, values->len);
  for (guint i = 0; i < values->len; i++)
    g_array_index(sums, double, i) += g_array_index(values, double, i);
}

void orr_campaign_rows_seed(OrrCampaignAnswer *answer, guint64 seed,
                            const OrrCampaignHistory *history) {
  ORR_APPEND(answer->outcome->campaign_seeds, OrrCampaignSeedRow,
             {.seed = (gint64)seed,
              .goodput = history->progress_s / history->wall_s,
              .duration_s = history->wall_s,
              .tokens = history->progress_s * answer->tokens_per_s,
              .failures = history->n_failures,
              .restarts = history->n_restarts,
              .out_most = history->most_out,
              .stopped = history->has_stopped});
  if (history->events) add_events(answer, history);
  add_each(answer->lost, history->lost);
  add_each(answer->out_s, history->out_s);
  for (guint i = 0; i < history->failures->len; i++)
    g_array_index(answer->failures, double, i) +=
        (double)g_array_index(history->failures, gint64, i);
  answer->wall_s += history->wall_s;
  answer->progress_s += history->progress_s;
  answer->n_checkpoints += (double)history->n_checkpoints;
}

static void add_losses(const OrrCampaignAnswer *answer, double n) {
  for (guint i = 0; i < answer->lost->len; i++) {
    const guint cause = i / ORR_N_PHASES;
    const double seconds = g_array_index(answer->lost, double, i);
    if (seconds <= 0) continue;
    ORR_APPEND(answer->outcome->campaign_losses, OrrCampaignLossRow,
               {.cause = (char *)g_intern_string(name_of_cause(answer->input, cause)),
                .phase = (char *)orr_campaign_phase_words[i % ORR_N_PHASES],
                .seconds = seconds / n,
                .fraction = seconds / answer->wall_s,
                .failures = g_array_index(answer->failures, double, cause) / n});
  }
}

/* The value that @p of the sorted ones do not exceed (nearest rank). */
static double quantile(const GArray *sorted, double p) {
  const double rank = ceil(p * sorted->len);
  return g_array_index(sorted, double, (guint)fmax(rank, 1) - 1);
}

/* The fewest nodes that are not exceeded for more than 1 - @p of the time. */
static double out_quantile(const OrrCampaignAnswer *answer, double p) {
  double sum_s = 0;
  for (guint k = 0; k < answer->out_s->len; k++) {
    sum_s += g_array_index(answer->out_s, double, k);
    if (sum_s >= p * answer->wall_s) return k;
  }
  return answer->out_s->len > 0 ? answer->out_s->len - 1 : 0;
}

/* Student's t for 95 % in the middle: exact for 1 and 2, from 3 on by its expansion in 1/@freedom
 * (Abramowitz, Stegun 26.7.5), within 1 %. */
static double student_t(double freedom) {
  const double middle = 0.95;
  if (freedom == 1) return tan(G_PI / 2 * middle);
  if (freedom == 2) return middle * sqrt(2 / (1 - middle * middle));
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

static void fill_spread(const OrrOutcome *outcome, OrrCampaignResult *r) {
  g_autoptr(GArray) goodputs = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) most = g_array_new(FALSE, FALSE, sizeof(double));
  double sum = 0, squares = 0, restarts = 0, failures = 0, stopped = 0;
  const double n = outcome->campaign_seeds->len;
  ORR_EACH(const OrrCampaignSeedRow, row, outcome->campaign_seeds) {
    const double out_most = (double)row->out_most;
    g_array_append_val(goodputs, row->goodput);
    g_array_append_val(most, out_most);
    sum += row->goodput;
    restarts += (double)row->restarts;
    failures += (double)row->failures;
    stopped += row->stopped;
  }
  r->goodput = sum / n;
  ORR_EACH_VALUE(const double, value, goodputs) squares += pow(value - r->goodput, 2);
  const double half = n > 1 ? student_t(n - 1) * sqrt(squares / (n - 1) / n) : NAN;
  g_array_sort(goodputs, orr_number_compare);
  g_array_sort(most, orr_number_compare);
  r->goodput_low = isnan(half) ? NAN : fmax(r->goodput - half, 0);
  r->goodput_high = isnan(half) ? NAN : fmin(r->goodput + half, 1);
  r->goodput_p5 = quantile(goodputs, 0.05);
  r->goodput_p95 = quantile(goodputs, 0.95);
  r->out_most_p50 = quantile(most, 0.5);
  r->out_most_p99 = quantile(most, 0.99);
  r->failures = failures / n;
  r->restarts = restarts / n;
  r->stopped = stopped / n;
}

void orr_campaign_rows_end(OrrCampaignAnswer *answer) {
  OrrCampaignResult *r = &answer->outcome->result.campaign;
  const double n = answer->outcome->campaign_seeds->len;
  fill_spread(answer->outcome, r);
  add_losses(answer, n);
  r->duration_s = answer->wall_s / n;
  r->effective_s = answer->progress_s / n;
  r->tokens = answer->progress_s * answer->tokens_per_s / n;
  r->tokens_per_s = r->tokens / r->duration_s;
  r->tokens_per_day = r->tokens_per_s * 86400;
  r->mttf_s = r->failures > 0 ? r->duration_s / r->failures : NAN;
  r->checkpoints = answer->n_checkpoints / n;
  r->stall_s =
      g_array_index(answer->lost, double, ORR_CAUSE_CHECKPOINT *ORR_N_PHASES + ORR_PHASE_STALL) /
      answer->n_checkpoints;
  r->out_p50 = out_quantile(answer, 0.5);
  r->out_p99 = out_quantile(answer, 0.99);
  r->step_s = answer->input->step_s;
  r->seeds = (gint64)n;
  g_array_unref(answer->lost);
  g_array_unref(answer->out_s);
  g_array_unref(answer->failures);
  g_free(answer);
}

/* The three phases that lose most. */
static char *explain(const OrrOutcome *outcome) {
  double by_phase[ORR_N_PHASES] = {0};
  GString *text = g_string_new(NULL);
  ORR_EACH(const OrrCampaignLossRow, row, outcome->campaign_losses) {
    for (int phase = 0; phase < ORR_N_PHASES; phase++)
      if (g_str_equal(row->phase, orr_campaign_phase_words[phase]))
        by_phase[phase] += row->fraction;
  }
  for (int place = 0; place < 3; place++) {
    int most = 0;
    for (int phase = 1; phase < ORR_N_PHASES; phase++)
      if (by_phase[phase] > by_phase[most]) most = phase;
    if (by_phase[most] <= 0) break;
    g_string_append_printf(text, "%s%s %.1f %%", place > 0 ? ", " : "",
                           orr_campaign_phase_words[most], 100 * by_phase[most]);
    by_phase[most] = 0;
  }
  return g_string_free(text, FALSE);
}

const OrrRunKind orr_campaign_rows_kind = {
    .kind = &orr_training_kind,
    .result = &orr_campaign_result_table,
    .explain = explain,
    .view = "campaign",
    .details = &orr_campaign_loss_table,
};
