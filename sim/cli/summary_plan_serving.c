/*
 * summary_plan_serving.c - layouts as a ranked table, and the fleet of the best.
 */
#include "sim/cli/verb_plan.h"

#include "sim/base/json_write.h"

static const OrrPlanLayout *layout_at(const OrrPlanServingAnswer *answer, guint rank) {
  const guint index = g_array_index(answer->ranked, guint, rank);
  return &g_array_index(answer->layouts, OrrPlanLayout, index);
}

/* "+18, +9 %": what a measurement may be above the simulation. */
static char *band_of(const OrrPlanLayout *layout) {
  if (!isfinite(layout->ttft_factor) || !isfinite(layout->tpot_factor)) return g_strdup("none");
  return g_strdup_printf("%+.0f, %+.0f %%%s", 100 * (layout->ttft_factor - 1),
                         100 * (layout->tpot_factor - 1), layout->is_weak ? " weak" : "");
}

/* --- The table --- */

static void print_head(const OrrPlanServingAnswer *answer) {
  g_autofree char *all = g_strconcat(answer->noun, "s", NULL);
  g_autofree char *each = g_strconcat("per ", answer->noun, NULL);
  printf("    %5s %8s  %10s  %9s  %9s  %9s  %8s %8s", all, "replicas", "requests/s", "90 % sure",
         "ttft p99", "tpot p99", "tokens/s", "watts");
  if (answer->currency) printf("  %8s", answer->currency);
  printf("  %-14s  %-5s  layout of a replica\n", "band", "bound");
  printf("    %5s %8s  %10s  %9s  %9s  %9s  %8s %8s", "", "", "", "", "", "", each, each);
  if (answer->currency) printf("  %8s", "per 1M");
  printf("  %-14s  by\n", "ttft, tpot");
}

/* "21.3", "-" where it is not known. */
static char *number_text(double value) {
  return isfinite(value) ? g_strdup_printf("%.4g", value) : g_strdup("-");
}

static void print_layout(const OrrPlanServingAnswer *answer, guint rank) {
  const OrrPlanLayout *layout = layout_at(answer, rank);
  const OrrPlanRate *at = &layout->at;
  g_autofree char *sure = number_text(layout->fleet_sure_rate);
  g_autofree char *ttft = orr_quantity_format(at->ttft_p99_s, ORR_UNIT_SECONDS);
  g_autofree char *tpot = orr_quantity_format(at->tpot_p99_s, ORR_UNIT_SECONDS);
  g_autofree char *watts = number_text(round(at->power_w / (double)layout->gpus));
  g_autofree char *cost = number_text(at->cost_per_million_output_tokens);
  g_autofree char *band = band_of(layout);
  g_autofree char *words = orr_plan_serving_words(answer->asked, layout);
  printf("  %u %5ld %8ld  %10.4g  %9s  %9s  %9s  %8.0f %8s", rank + 1,
         layout->replicas * layout->gpus, layout->replicas, layout->fleet_rate, sure, ttft, tpot,
         at->output_tokens_per_s_per_gpu, watts);
  if (answer->currency) printf("  %8s", cost);
  printf("  %-14s  %-5s  %s\n", band, orr_plan_bound_words[layout->bound], words);
}

static void print_searched(const OrrPlanServingAnswer *answer) {
  guint by[ORR_N_PLAN_STATUSES] = {0};
  ORR_EACH(OrrPlanLayout, item, answer->layouts) by[item->status]++;
  printf(
      "  searched      %u layout%s in %.1f s: %u cannot run, %u too slow for one request, %u worse "
      "than the best, %u measured",
      answer->layouts->len, answer->layouts->len == 1 ? "" : "s", answer->seconds,
      by[ORR_PLAN_REFUSED], by[ORR_PLAN_LATE], by[ORR_PLAN_PRUNED], by[ORR_PLAN_MEASURED]);
  if (by[ORR_PLAN_FAILED]) printf(", %u failed", by[ORR_PLAN_FAILED]);
  if (answer->n_known) printf(" (%u known before)", answer->n_known);
  printf("\n");
}

/* Which of both rates the answer rests on. */
static void print_decides(const OrrPlanServingAnswer *answer) {
  const OrrPlanLayout *best = layout_at(answer, 0);
  if (orr_plan_serving_is_promised(answer->asked, best))
    printf(
        "  decides       the upper ends of the bands: layout 1 serves %.4g requests/s with 90 %% "
        "confidence, %.4g by the simulation alone\n",
        best->fleet_sure_rate, best->fleet_rate);
  else
    printf("  decides       the simulation alone: %s\n",
           isnan(best->sure_rate) ? "no measured run says how far off latencies are"
           : best->sure_rate > 0  ? "with 90 % confidence the GPUs are too few for this rate"
                                  : "with 90 % confidence no rate meets the objectives");
}

/* --- The fleet --- */

/* Joules where the device has a power model, money where there are prices. */
static void print_money(const OrrPlanServingAnswer *answer) {
  const OrrServingResult *fleet = answer->fleet;
  if (isfinite(fleet->energy_j_per_output_token))
    printf("  energy        %.3g J per output token, %.0f W on average, all %ss\n",
           fleet->energy_j_per_output_token, fleet->gpu_power_mean_w, answer->noun);
  if (!answer->currency) return;
  if (isfinite(fleet->cost_per_million_output_tokens))
    printf(
        "  cost          %.4g %s per million output tokens (all cost on outputs), %.4g per day\n",
        fleet->cost_per_million_output_tokens, answer->currency, fleet->money.per_day);
  else
    printf("  cost          not known: see orrery run\n");
}

static void print_fleet(const OrrPlanServingAnswer *answer) {
  const OrrServingResult *fleet = answer->fleet;
  g_autofree char *ttft = orr_quantity_format(fleet->ttft.p99, ORR_UNIT_SECONDS);
  g_autofree char *tpot = orr_quantity_format(fleet->tpot.p99, ORR_UNIT_SECONDS);
  printf("  fleet         %.4g requests/s offered: %.1f %% within the objectives; ttft p99 %s, "
         "tpot p99 %s, %.0f output tokens/s per %s\n",
         fleet->offered_rps, 100 * fleet->goodput_rps / fleet->requests_per_s, ttft, tpot,
         fleet->output_tokens_per_s_per_gpu, answer->noun);
  if (!fleet->saturated && fleet->goodput_rps < answer->asked->fraction * fleet->requests_per_s)
    printf("  warning       the whole fleet misses the objectives: give it a lower rate\n");
  print_money(answer);
}

static void print_assumed(const OrrPlanServingAnswer *answer) {
  g_autofree char *text = answer->assumed ? orr_show_assumed(answer->assumed) : NULL;
  if (text) printf("  stack         %s (--stack names another)\n", text);
}

/* "9", "9 to 120,000 (mean 14,000)". */
static char *range_text(gint64 least, gint64 most, double mean) {
  g_autofree char *low = orr_show_count(least), *high = orr_show_count(most),
                  *middle = orr_show_count((gint64)(mean + 0.5));
  return least == most ? g_strdup(low) : g_strdup_printf("%s to %s (mean %s)", low, high, middle);
}

static void print_trace(const OrrPlanTrace *trace) {
  if (!trace) return;
  const OrrTraceFacts *facts = &trace->facts;
  g_autofree char *n = orr_show_count(facts->requests);
  g_autofree char *rate = facts->rate > 0 ? g_strdup_printf("%.4g/s as recorded", facts->rate)
                                          : g_strdup("without times");
  g_autofree char *prompts =
      range_text(facts->shortest_prompt, facts->longest_prompt, facts->mean_prompt);
  g_autofree char *outputs =
      range_text(facts->shortest_output, facts->longest_output, facts->mean_output);
  printf("  load          %s (%s): %s requests, %s; prompts of %s tokens, answers of %s;\n"
         "                replayed end to end, its times scaled to each rate\n",
         trace->file, trace->kind, n, rate, prompts, outputs);
}

static void print_launch(const OrrPlanServingAnswer *answer) {
  const gboolean differs = answer->asked->settings && *answer->asked->settings;
  if (!answer->launch) return;
  g_auto(GStrv) lines = g_strsplit(answer->launch, "\n", -1);
  for (guint i = 0; lines[i] && *lines[i]; i++)
    printf("  %s%s%s\n", i ? "              " : "launch        ", lines[i],
           differs ? "   (without what --set changes)" : "");
}

void orr_summary_plan_serving_print(const OrrPlanServingAnswer *answer) {
  print_searched(answer);
  print_trace(answer->asked->trace);
  print_assumed(answer);
  orr_show_warnings("  warning       ", answer->warnings);
  print_head(answer);
  for (guint i = 0; i < MIN(answer->ranked->len, ORR_PLAN_BEST); i++) print_layout(answer, i);
  print_decides(answer);
  print_fleet(answer);
  printf("  scenario      %s\n", answer->file);
  print_launch(answer);
}

void orr_summary_plan_serving_stored(const OrrPlanServingAnswer *answer) {
  if (answer->db) {
    printf("  stored        plan %ld in %s, its fleet is run %ld; orrery query %s plan has every "
           "layout\n",
           answer->run, answer->db, answer->fleet_run, answer->db);
    printf("  pareto        orrery plot %s plan-pareto\n", answer->db);
  }
  printf("  next          orrery run %s\n", answer->file);
}

/* --- Reasons --- */

typedef struct {
  char *text;
  guint n;
  gint64 gpus; /* of the layout that the text is of: the largest one, which comes nearest */
} Reason;

ORR_MOST_FIRST(more_frequent, Reason, n)

/* Layouts differ in numbers: the text up to the first one is the reason. */
static gboolean is_alike(const char *a, const char *b) {
  const gsize n = strcspn(a, "0123456789");
  return n == strcspn(b, "0123456789") && strncmp(a, b, n) == 0;
}

static void add_reason(GArray *reasons, const char *text, gint64 gpus) {
  ORR_EACH(Reason, reason, reasons) {
    if (!is_alike(reason->text, text)) continue;
    reason->n++;
    if (gpus >= reason->gpus) *reason = (Reason){(char *)text, reason->n, gpus};
    return;
  }
  ORR_APPEND(reasons, Reason, {(char *)text, 1, gpus});
}

char *orr_summary_plan_serving_reasons(const GArray *layouts) {
  g_autoptr(GArray) reasons = g_array_new(FALSE, FALSE, sizeof(Reason));
  GString *text = g_string_new(NULL);
  ORR_EACH(const OrrPlanLayout, layout, layouts)
    add_reason(reasons,
               *layout->why       ? layout->why
               : layout->rate > 0 ? "more GPUs are needed than there are"
                                  : "no rate is low enough",
               layout->gpus);
  g_array_sort(reasons, more_frequent);
  for (guint i = 0; i < MIN(reasons->len, 3); i++) {
    const Reason *reason = &g_array_index(reasons, Reason, i);
    g_string_append_printf(text, "%s%u: %s", i ? "; " : "", reason->n, reason->text);
  }
  return g_string_free(text, FALSE);
}

/* --- JSON --- */

static void add_layout(GString *out, const OrrPlanServingAnswer *answer,
                       const OrrPlanLayout *layout, guint rank) {
  g_autofree char *words = orr_plan_serving_words(answer->asked, layout);
  const OrrPlanRate *at = &layout->at;
  orr_json_write_element(out, "\n  ");
  orr_json_write_int(out, "rank", rank);
  orr_json_write_text(out, "layout", words);
  orr_json_write_text(out, "cluster", answer->asked->clusters[layout->cluster]);
  ORR_JSON_NUMBERS(out, {"gpus", (double)(layout->replicas * layout->gpus)},
                   {"replicas", (double)layout->replicas}, {"rate_rps", layout->fleet_rate},
                   {"sure_rate_rps", layout->fleet_sure_rate}, {"ttft_p99_s", at->ttft_p99_s},
                   {"tpot_p99_s", at->tpot_p99_s},
                   {"output_tokens_per_s_per_gpu", at->output_tokens_per_s_per_gpu},
                   {"power_w_per_gpu", at->power_w / (double)layout->gpus},
                   {"cost_per_million_output_tokens", at->cost_per_million_output_tokens},
                   {"ttft_factor", layout->ttft_factor}, {"tpot_factor", layout->tpot_factor});
  orr_json_write_text(out, "bound_by", orr_plan_bound_words[layout->bound]);
  g_string_append_c(out, '}');
}

static void add_trace(GString *out, const OrrPlanTrace *trace) {
  if (!trace) return;
  orr_json_write_text(out, "trace", trace->file);
  orr_json_write_text(out, "trace_kind", trace->kind);
  orr_json_write_int(out, "trace_requests", trace->facts.requests);
  orr_json_write_number(out, "trace_rate_rps", trace->facts.rate);
}

void orr_summary_plan_serving_json(const OrrPlanServingAnswer *answer) {
  const OrrServingResult *fleet = answer->fleet;
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_text(out, "file", answer->file);
  orr_json_write_text(out, "launch", answer->launch);
  orr_json_write_text(out, "release_assumed", answer->assumed);
  add_trace(out, answer->asked->trace);
  orr_json_write_text(
      out, "decides",
      orr_plan_serving_is_promised(answer->asked, layout_at(answer, 0)) ? "band" : "simulation");
  ORR_JSON_NUMBERS(out, {"goodput_rps", fleet->goodput_rps}, {"growth_rps", fleet->growth_rps},
                   {"good_fraction", fleet->goodput_rps / fleet->requests_per_s},
                   {"ttft_p99_s", fleet->ttft.p99}, {"tpot_p99_s", fleet->tpot.p99},
                   {"energy_j_per_output_token", fleet->energy_j_per_output_token},
                   {"cost_per_million_output_tokens", fleet->cost_per_million_output_tokens},
                   {"searched", (double)answer->layouts->len}, {"known", (double)answer->n_known});
  orr_json_write_array(out, "layouts");
  for (guint i = 0; i < answer->ranked->len; i++)
    add_layout(out, answer, layout_at(answer, i), i + 1);
  g_string_append_c(out, ']');
  orr_json_write_texts(out, "warnings", (char *const *)answer->warnings->pdata,
                       answer->warnings->len);
  printf("%s}\n", out->str);
}
