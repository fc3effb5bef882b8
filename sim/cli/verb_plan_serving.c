/*
 * verb_plan_serving.c - orrery plan serving: which layout of an engine serves the most requests
 * within objectives, and how many GPUs a rate needs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/fault.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/cli/show.h"
#include "sim/cli/terminal.h"
#include "sim/cli/verb_plan.h"
#include "sim/plan/plan_serving.h"

static char *model, *clusters, *stack, *prices, *precisions, *ttft, *tpot, *output, **settings;
static double rate, fraction = 0.99;
static int n_gpus, input_tokens, output_tokens;
static gboolean as_json;

static const GOptionEntry options[] = {
    {"model", 0, 0, G_OPTION_ARG_FILENAME, &model, "The model", "NAME"},
    {"cluster", 0, 0, G_OPTION_ARG_FILENAME, &clusters, "The machine; several: a,b", "NAME"},
    {"stack", 0, 0, G_OPTION_ARG_FILENAME, &stack, "The engine (default: the newest vllm)", "NAME"},
    {"prices", 0, 0, G_OPTION_ARG_FILENAME, &prices, "Prices, for the cost of tokens", "NAME"},
    {"precision", 0, 0, G_OPTION_ARG_FILENAME, &precisions,
     "The number format (default: bf16); several: bf16,fp8", "WORD"},
    {"gpus", 0, 0, G_OPTION_ARG_INT, &n_gpus, "GPUs that there are (default: as many as needed)",
     "N"},
    {"rate", 0, 0, G_OPTION_ARG_DOUBLE, &rate,
     "Requests per second (default: as many as the GPUs serve)", "X"},
    {"input", 0, 0, G_OPTION_ARG_INT, &input_tokens, "Tokens of a prompt", "N"},
    {"output", 0, 0, G_OPTION_ARG_INT, &output_tokens, "Tokens of an answer", "N"},
    {"ttft", 0, 0, G_OPTION_ARG_FILENAME, &ttft, "Longest time to the first token, e.g. 2s",
     "TIME"},
    {"tpot", 0, 0, G_OPTION_ARG_FILENAME, &tpot, "Longest time per further token, e.g. 30ms",
     "TIME"},
    {"share", 0, 0, G_OPTION_ARG_DOUBLE, &fraction,
     "Fraction of the requests that must meet both (default 0.99)", "X"},
    {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings,
     "Change the scenario, e.g. workload.kv-dtype=fp8; may be repeated", "PATH=VALUE"},
    {"file", 'o', 0, G_OPTION_ARG_FILENAME, &output,
     "Write the best layout's scenario to FILE (default: plan-best.yaml)", "FILE"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print one JSON object", NULL},
    {NULL},
};

enum { SHOWN = 6 };
static const double POOR = 0.1; /* of the best layout's requests per GPU: searched no further */

/* --- The question --- */

static gboolean read_time(const char *option, const char *text, double *ret_s, GError **error) {
  if (text && orr_quantity_parse(text, ORR_UNIT_SECONDS, ret_s, NULL) && *ret_s > 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "plan serving needs %s TIME, above 0 (%s)", option,
              orr_unit_allowed(ORR_UNIT_SECONDS));
  return FALSE;
}

static gboolean check_numbers(GError **error) {
  const char *wrong = NULL;
  if (!model)
    wrong = "plan serving needs --model NAME ('orrery list models')";
  else if (!clusters)
    wrong = "plan serving needs --cluster NAME ('orrery list clusters')";
  else if (input_tokens < 1 || output_tokens < 1)
    wrong = "plan serving needs --input N and --output N, 1 or more tokens";
  else if (n_gpus < 0 || rate < 0 || !isfinite(rate) || (n_gpus == 0 && rate == 0))
    wrong = "plan serving needs --rate X or --gpus N, above 0, or both";
  else if (!(fraction > 0 && fraction <= 1))
    wrong = "--share takes a number above 0 and at most 1";
  if (wrong) g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s", wrong);
  return !wrong;
}

static gboolean read_question(OrrPlanServing *ret_asked, GError **error) {
  *ret_asked = (OrrPlanServing){.model = model,
                                .stack = stack,
                                .prices = prices,
                                .settings = settings,
                                .gpus = n_gpus,
                                .rate = rate,
                                .input_tokens = input_tokens,
                                .output_tokens = output_tokens,
                                .fraction = fraction};
  return check_numbers(error) && read_time("--ttft", ttft, &ret_asked->ttft_s, error) &&
         read_time("--tpot", tpot, &ret_asked->tpot_s, error);
}

/* --- The search --- */

static OrrPlanLayout *layout_at(const GArray *layouts, guint i) {
  return &g_array_index(layouts, OrrPlanLayout, i);
}

/* Progress, where somebody looks. */
static void show(guint i, guint n) {
  g_autofree char *line = g_strdup_printf("layout %u of %u", i, n);
  if (isatty(STDERR_FILENO)) orr_terminal_line(i < n ? line : NULL);
}

static gboolean measure(OrrLibrary *library, const OrrPlanServing *asked, GArray *layouts,
                        GError **error) {
  double start = 1, most = 0; /* most: requests/s of one GPU */
  for (guint i = 0; i < layouts->len;
       i++) { /* large ones first: small ones may meet no objective */
    OrrPlanLayout *layout = layout_at(layouts, layouts->len - 1 - i);
    const double gpus = (double)layout->gpus;
    show(i, layouts->len);
    if (!orr_plan_serving_measure(library, asked, layout, start, most * gpus * POOR, error))
      return FALSE;
    most = MAX(most, layout->rate / gpus);
    if (layout->rate > 0) start = layout->rate;
  }
  show(layouts->len, layouts->len);
  orr_plan_serving_rank(asked, layouts);
  if (layout_at(layouts, 0)->rate > 0) return TRUE;
  const char *why = layout_at(layouts, layouts->len - 1)->why;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "no layout serves it%s%s", why ? "; one: " : "",
              why ? why : "");
  return FALSE;
}

/* The fleet of the best layout at the rate asked for, or at what it serves. */
static gboolean verify(OrrLibrary *library, const OrrPlanServing *asked, OrrPlanLayout *best,
                       OrrServingResult *ret_result, char **ret_text, GError **error) {
  const double load = asked->rate > 0 ? asked->rate : best->fleet_rate;
  g_autofree char *text = orr_plan_serving_text(library, asked, best, best->replicas, load);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  OrrNode *tree = orr_yaml_parse(text, strlen(text), "the fleet", diags);
  g_autoptr(GPtrArray) points = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  g_ptr_array_add(points, tree);
  OrrPlanAnswer answer;
  if (!orr_settings_apply(&orr_scenario_table, tree, settings, error) ||
      !orr_plan_simulate(library, points, 0, &answer, error))
    return FALSE;
  *ret_result = answer.result.serving;
  if (settings && *settings) {
    g_autofree char *yaml = orr_yaml_text(tree);
    *ret_text = g_strconcat("# Made by orrery plan serving.\n", yaml, NULL);
  } else {
    *ret_text = g_steal_pointer(&text);
  }
  return TRUE;
}

/* --- The answer --- */

static char *layout_text(const OrrPlanLayout *layout) {
  g_autofree char *split =
      layout->dp_attention > 1
          ? g_strdup_printf("dp-attention %" G_GINT64_FORMAT, layout->dp_attention)
          : g_strdup_printf("tp %" G_GINT64_FORMAT, layout->tp);
  return g_strdup_printf("%s, %s, %" G_GINT64_FORMAT " tokens per step, %s", split,
                         layout->precision, layout->batched_tokens, layout->cluster);
}

static void print_layouts(const GArray *layouts) {
  guint none = 0;
  printf("  %6s %9s  %10s  %14s  layout of a replica\n", "GPUs", "replicas", "requests/s",
         "90 % sure");
  for (guint i = 0; i < layouts->len; i++) {
    const OrrPlanLayout *layout = layout_at(layouts, i);
    none += layout->rate <= 0;
    if (layout->rate <= 0 || i >= SHOWN) continue;
    g_autofree char *text = layout_text(layout);
    printf("  %6" G_GINT64_FORMAT " %9" G_GINT64_FORMAT "  %10.4g  %14.4g  %s\n",
           layout->replicas * layout->gpus, layout->replicas, layout->fleet_rate,
           (double)layout->replicas * layout->sure_rate, text);
  }
  if (none)
    printf("  layouts that do not fit, or serve less than a tenth of the best per GPU: %u\n", none);
}

/* Joules where the device has a power model, money where there are prices. */
static void print_money(OrrLibrary *library, const OrrServingResult *fleet) {
  if (isfinite(fleet->energy_j_per_output_token))
    printf("  energy        %.3g J per output token, %.0f W on average, all GPUs\n",
           fleet->energy_j_per_output_token, fleet->gpu_power_mean_w);
  if (!prices) return;
  g_autofree char *currency = orr_verb_plan_currency(library, prices);
  if (isfinite(fleet->cost_per_million_output_tokens))
    printf("  cost          %.4g %s per million output tokens, %.4g per day\n",
           fleet->cost_per_million_output_tokens, currency, fleet->money.per_day);
  else
    printf("  cost          not known: see orrery run\n");
}

static void print_text(OrrLibrary *library, const OrrPlanServing *asked, const GArray *layouts,
                       const OrrServingResult *fleet, const char *file) {
  const OrrPlanLayout *best = layout_at(layouts, 0);
  g_autofree char *launch = orr_plan_serving_launch(library, asked, best);
  print_layouts(layouts);
  printf(
      "  fleet         %.4g requests/s: %.1f %% within the objectives; ttft p99 %.0f ms, tpot p99 "
      "%.1f ms, %.0f output tokens/s per GPU\n",
      fleet->offered_rps, 100 * fleet->goodput_rps / fleet->requests_per_s, 1000 * fleet->ttft.p99,
      1000 * fleet->tpot.p99, fleet->output_tokens_per_s_per_gpu);
  print_money(library, fleet);
  printf("  scenario      %s\n", file);
  if (launch)
    printf("  launch        %s%s\n", launch,
           settings && *settings ? "   (without what --set changes)" : "");
  printf("  next          orrery run %s\n", file);
}

static void print_json(OrrLibrary *library, const OrrPlanServing *asked, const GArray *layouts,
                       const OrrServingResult *fleet, const char *file) {
  g_autofree char *launch = orr_plan_serving_launch(library, asked, layout_at(layouts, 0));
  g_autoptr(GString) out = g_string_new("{\"file\": ");
  orr_show_json_text(out, file);
  g_string_append(out, ", \"launch\": ");
  orr_show_json_text(out, launch);
  g_string_append_printf(out,
                         ", \"goodput_rps\": %.17g, \"ttft_p99_s\": %.17g, \"tpot_p99_s\": "
                         "%.17g, \"energy_j_per_output_token\": ",
                         fleet->goodput_rps, fleet->ttft.p99, fleet->tpot.p99);
  orr_show_json_number(out, fleet->energy_j_per_output_token);
  g_string_append(out, ", \"cost_per_million_output_tokens\": ");
  orr_show_json_number(out, fleet->cost_per_million_output_tokens);
  g_string_append(out, ", \"layouts\": [");
  for (guint i = 0; i < layouts->len; i++) {
    const OrrPlanLayout *layout = layout_at(layouts, i);
    g_autofree char *text = layout_text(layout);
    g_string_append_printf(out, "%s\n  {\"layout\": ", i ? "," : "");
    orr_show_json_text(out, text);
    g_string_append_printf(out,
                           ", \"gpus\": %" G_GINT64_FORMAT ", \"replicas\": %" G_GINT64_FORMAT
                           ", \"rate_rps\": %.6g, \"sure_rate_rps\": %.6g, \"why\": ",
                           layout->replicas * layout->gpus, layout->replicas, layout->fleet_rate,
                           (double)layout->replicas * layout->sure_rate);
    orr_show_json_text(out, layout->why);
    g_string_append_c(out, '}');
  }
  printf("%s]}\n", out->str);
}

static int answer(OrrLibrary *library, const OrrPlanServing *asked, GArray *layouts,
                  GError **error) {
  const char *file = output ? output : "plan-best.yaml";
  OrrServingResult fleet;
  g_autofree char *text = NULL;
  if (!measure(library, asked, layouts, error)) return 2;
  if (!verify(library, asked, layout_at(layouts, 0), &fleet, &text, error)) return 1;
  if (!orr_verb_plan_write(text, file, error)) return 2;
  (as_json ? print_json : print_text)(library, asked, layouts, &fleet, file);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  OrrPlanServing asked;
  if (!orr_cli_check_args(args, 0, 0, "plan serving takes options only", error) ||
      !read_question(&asked, error))
    return 2;
  g_auto(GStrv) machines = g_strsplit(clusters, ",", -1);
  g_auto(GStrv) formats = g_strsplit(precisions ? precisions : "bf16", ",", -1);
  asked.clusters = machines;
  asked.precisions = formats;
  GArray *layouts = orr_plan_serving_layouts(library, &asked, error);
  if (!layouts) return 2;
  const int status = answer(library, &asked, layouts, error);
  orr_plan_serving_free(layouts);
  return status;
}

const OrrCommand orr_verb_plan_serving = {
    .verb = "serving",
    .sentence = "Which layout serves the most requests within objectives, and on how many GPUs.",
    .usage = "--model NAME --cluster NAME[,NAME]... (--rate X | --gpus N) --input N --output N "
             "--ttft TIME --tpot TIME [--precision WORD[,WORD]...] [-o FILE]",
    .more = "Each layout's highest rate is found by simulation, as orrery capacity does, with 400 "
            "requests and two seeds; then the fleet of the best one is simulated. With --rate the "
            "layout of the fewest GPUs is the best, otherwise the one of the most requests. Rates "
            "are those of the simulation, and those that a measurement reaches with 90 % "
            "confidence.",
    .options = options,
    .run = run,
};
