/*
 * verb_plan_campaign.c - orrery plan campaign FILE: what a campaign would gain from other
 * checkpoint intervals, spares, policies and faster recovery.
 */
#include "sim/bands/band.h"
#include "sim/bands/caveats.h"
#include "sim/bands/known_errors.h"
#include "sim/base/json_write.h"
#include "sim/base/quantity.h"
#include "sim/cli/cli.h"
#include "sim/run/campaign_advice.h"

static const GOptionEntry options[] = {
    ORR_OPTION_SET("campaign.spares=8"), ORR_OPTION_JSON("one JSON object"), {NULL}};

static const OrrCampaignAdviceRow *row_at(const OrrCampaignAdvice *advice, guint i) {
  return &g_array_index(advice->rows, OrrCampaignAdviceRow, i);
}

/* --- JSON --- */

static void add_tiers(GString *out, const GArray *tiers) {
  orr_json_write_array(out, "tiers");
  ORR_EACH_AT(i, const OrrCampaignAdviceTier, tier, tiers) {
    orr_json_write_element(out, i > 0 ? " " : "");
    orr_json_write_text(out, "tier", tier->tier);
    orr_json_write_number(out, "stall_s", tier->stall_s);
    orr_json_write_number(out, "interval_s", tier->interval_s);
    orr_json_write_number(out, "young_s", tier->young_s);
    orr_json_write_number(out, "daly_s", tier->daly_s);
    orr_json_write_number(out, "stall_high_s", tier->stall_s * tier->upper);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
}

static void print_json(const OrrCampaignAdvice *advice, const GPtrArray *warnings) {
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_int(out, "seeds", advice->seeds);
  orr_json_write_number(out, "goodput", advice->goodput);
  orr_json_write_number(out, "late_goodput", advice->late_goodput);
  orr_json_write_number(out, "mttf_s", advice->mttf_s);
  orr_json_write_number(out, "expected_ettr", advice->ettr);
  orr_json_write_int(out, "spares_p50", advice->spares_p50);
  orr_json_write_int(out, "spares_p99", advice->spares_p99);
  add_tiers(out, advice->tiers);
  orr_json_write_array(out, "rows");
  for (guint i = 0; i < advice->rows->len; i++) {
    const OrrCampaignAdviceRow *row = row_at(advice, i);
    orr_json_write_element(out, "\n  ");
    orr_json_write_text(out, "topic", orr_campaign_advice_topics[row->topic]);
    orr_json_write_text(out, "subject", row->subject);
    orr_json_write_text(out, "choice", row->choice);
    orr_json_write_number(out, "value", row->value);
    if (row->topic == ORR_ADVICE_CHECKPOINTS) orr_json_write_int(out, "keep", row->keep);
    orr_json_write_number(out, "goodput", row->goodput);
    orr_json_write_number(out, "gain", row->gain);
    orr_json_write_number(out, "late_goodput", row->late_goodput);
    orr_json_write_text(out, "refusal", row->refusal);
    orr_json_write_bool(out, "now", row->is_now);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  orr_json_write_texts(out, "warnings", (char *const *)warnings->pdata, warnings->len);
  printf("%s}\n", out->str);
}

/* --- Text --- */

static gboolean is_same_group(const OrrCampaignAdviceRow *a, const OrrCampaignAdviceRow *b) {
  return a->topic == b->topic &&
         (a->topic != ORR_ADVICE_CHECKPOINTS || g_strcmp0(a->subject, b->subject) == 0);
}

static void print_tier(const OrrCampaignAdvice *advice, const char *name) {
  ORR_EACH(const OrrCampaignAdviceTier, tier, advice->tiers) {
    if (!g_str_equal(tier->tier, name)) continue;
    g_autofree char *stall = orr_quantity_format(tier->stall_s, ORR_UNIT_SECONDS);
    g_autofree char *young = orr_quantity_format(tier->young_s, ORR_UNIT_SECONDS);
    g_autofree char *daly = orr_quantity_format(tier->daly_s, ORR_UNIT_SECONDS);
    printf("checkpoints to %s every (stall %s; as the only tier: Young %s, Daly %s)\n", name, stall,
           young, daly);
  }
}

static void print_head(const OrrCampaignAdvice *advice, const OrrCampaignAdviceRow *row) {
  if (row->topic == ORR_ADVICE_CHECKPOINTS)
    print_tier(advice, row->subject);
  else if (row->topic == ORR_ADVICE_SPARES)
    printf("spare nodes (M/G/infinity: %ld suffice half of the time, "
           "%ld for 99 %%)\n",
           advice->spares_p50, advice->spares_p99);
  else
    printf("%s\n", row->topic == ORR_ADVICE_POLICY
                       ? "policy, others with their defaults and most-lost for a node"
                       : "half the time of");
}

/* Whether row @i has the shortest or longest interval of its tier. */
static gboolean is_at_edge(const OrrCampaignAdvice *advice, guint i) {
  const OrrCampaignAdviceRow *row = row_at(advice, i);
  return row->topic == ORR_ADVICE_CHECKPOINTS &&
         (i == 0 || !is_same_group(row, row_at(advice, i - 1)) || i + 1 == advice->rows->len ||
          !is_same_group(row, row_at(advice, i + 1)));
}

/* What decides: the goodput with stalls at their upper ends, where they have any. */
static double deciding(const OrrCampaignAdviceRow *row) {
  return isnan(row->late_goodput) ? row->goodput : row->late_goodput;
}

static double best_of(const OrrCampaignAdvice *advice, guint first) {
  double best = 0;
  for (guint i = first; i < advice->rows->len; i++)
    if (is_same_group(row_at(advice, i), row_at(advice, first)))
      best = fmax(best, deciding(row_at(advice, i)));
  return best;
}

/* Which of both goodputs says what is best. */
static void print_decides(const OrrCampaignAdvice *advice) {
  if (isnan(advice->late_goodput)) {
    printf("  the simulated goodput decides: no measurement shows how far off stalls are\n");
    return;
  }
  printf("  the last figure decides: the goodput with stalls at the upper ends of their errors (");
  gboolean is_first = TRUE;
  ORR_EACH(const OrrCampaignAdviceTier, tier, advice->tiers) {
    if (isnan(tier->upper)) continue;
    printf("%s%s %.3g times as long", is_first ? "" : ", ", tier->tier, tier->upper);
    is_first = FALSE;
  }
  printf(")\n");
}

static void print_row(const OrrCampaignAdvice *advice, guint i, double best) {
  const OrrCampaignAdviceRow *row = row_at(advice, i);
  printf("  %-20s %6.2f %%  %+6.2f %%  %+8.1f h", row->choice, 100 * row->goodput, 100 * row->gain,
         row->gain * advice->duration_s / 3600);
  if (!isnan(row->late_goodput)) printf("  %6.2f %%", 100 * row->late_goodput);
  printf("%s%s\n", row->is_now ? "  now" : "",
         deciding(row) != best   ? ""
         : is_at_edge(advice, i) ? "  best, and the end of the list"
                                 : "  best");
}

static void print_text(const OrrScenario *scenario, const OrrCampaignAdvice *advice,
                       const GPtrArray *warnings) {
  g_autofree char *mttf = orr_quantity_format(advice->mttf_s, ORR_UNIT_SECONDS);
  double best = 0;
  printf("%s\n  now %.2f %% goodput, mean of %ld seeds; mean time to failure %s; each line changes "
         "one thing\n",
         scenario->name, 100 * advice->goodput, advice->seeds, mttf);
  if (!isnan(advice->ettr))
    printf("  E[ETTR] by its formula, of a job that restarts from its checkpoints, %.2f %%\n",
           100 * advice->ettr);
  print_decides(advice);
  for (guint i = 0; i < advice->rows->len; i++) {
    const OrrCampaignAdviceRow *row = row_at(advice, i);
    if (i == 0 || !is_same_group(row, row_at(advice, i - 1))) {
      print_head(advice, row);
      best = best_of(advice, i);
    }
    if (row->refusal) {
      printf("  %-20s %s\n", row->choice, row->refusal);
      continue;
    }
    print_row(advice, i, best);
  }
  orr_show_warnings("warning: ", warnings);
}

/* How long measured stalls of each tier may be, where they were measured. */
static void read_uppers(OrrLibrary *library, double *ret_uppers) {
  g_autoptr(GArray) errors = orr_known_errors_read(library, NULL);
  for (guint kind = 0; orr_campaign_tier_words[kind]; kind++) {
    gint64 n = 0;
    const char *tier = orr_campaign_tier_words[kind];
    const double mean =
        errors ? orr_known_errors_mean(errors, "campaign_result", "stall_s", tier, &n) : NAN;
    ret_uppers[kind] = exp(orr_known_errors_bound(mean, ORR_BAND_LEVEL));
  }
}

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 1, 1,
                          "plan campaign takes one scenario: a file, or a name from 'orrery "
                          "list scenarios'",
                          error))
    return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_options_scenario(library, args[0], diags, error);
  g_autoptr(OrrScenario) scenario = tree ? orr_scenario_read(library, tree, diags) : NULL;
  orr_show_diags(diags);
  if (!scenario) return 2;
  if (!orr_campaign_given(&scenario->campaign)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "%s has no campaign: plan campaign needs a section 'campaign'", scenario->name);
    return 2;
  }
  g_autofree double *uppers = g_new(double, g_strv_length((char **)orr_campaign_tier_words));
  read_uppers(library, uppers);
  g_autoptr(OrrCampaignAdvice) advice = orr_campaign_advice(library, scenario, uppers, error);
  if (!advice) return orr_fault_exit_status(error ? *error : NULL);
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(library);
  orr_caveats_add(caveats, scenario);
  orr_caveats_add_values(caveats, scenario);
  const GPtrArray *warnings = orr_caveats_texts(caveats);
  if (orr_options.json)
    print_json(advice, warnings);
  else
    print_text(scenario, advice, warnings);
  return 0;
}

const OrrCommand orr_verb_plan_campaign = {
    .verb = "campaign",
    .sentence = "Predict what other checkpoints, spares, policies and faster recovery would give a "
                "campaign.",
    .usage = "FILE [--set PATH=VALUE]... [--json]",
    .more = "Simulates the scenario's campaign again and again, each time with one thing changed "
            "and the same seeds: the interval of each tier of checkpoints, the number of spare "
            "nodes, the policy, and half the time of each phase. Each line has the goodput, how "
            "much that is above the scenario's own, and the hours of useful training gained. A "
            "shorter interval keeps more checkpoints where the scenario keeps several, so that "
            "they reach as far back; its line says how many. "
            "Young's and Daly's intervals, the expected ETTR for one tier, and the spares of an "
            "M/G/infinity queue are printed with them. Where measured checkpoints say how far off "
            "stalls "
            "are, each choice is simulated once more with stalls at the upper end of that error, "
            "and the goodput there says which choice is the best.",
    .options = options,
    .run = run,
};
