/*
 * verb_plan.c - orrery plan PART: the parts, and what they share.
 */
#include "sim/cli/verb_plan.h"

#include <unistd.h>

#include "sim/base/paths.h"
#include "sim/base/file.h"
#include "sim/base/number.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/cli/summary.h"

OrrPlanOptions orr_verb_plan_asked;

char *orr_verb_plan_again(void) {
  const OrrPlanOptions *asked = &orr_verb_plan_asked;
  const char *const texts[][2] = {{"stack", asked->stack},
                                  {"precision", asked->precision},
                                  {"prices", asked->prices},
                                  {"batch-tokens", asked->batch_tokens}};
  GString *out = g_string_new(NULL);
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
    if (texts[i][1]) g_string_append_printf(out, " --%s %s", texts[i][0], texts[i][1]);
  if (asked->sequence) g_string_append_printf(out, " --sequence %d", asked->sequence);
  g_autofree char *settings = orr_summary_settings(orr_options.settings);
  g_string_append(out, settings);
  return g_string_free(out, FALSE);
}

static const char mark[] = "# Made by orrery plan ";

gboolean orr_verb_plan_read(OrrPlanTraining *ret_asked, GError **error) {
  const OrrPlanOptions *options = &orr_verb_plan_asked;
  *ret_asked = (OrrPlanTraining){.model = options->model,
                                 .cluster = options->cluster,
                                 .stack = options->stack,
                                 .precision = options->precision,
                                 .prices = options->prices,
                                 .sequence = options->sequence};
  if (!options->model || !options->cluster)
    return orr_fault_set(error, ORR_FAULT_USAGE, "plan needs %s",
                         options->model ? "--cluster NAME ('orrery list clusters')"
                                        : "--model NAME ('orrery list models')");
  if (options->sequence < 0)
    return orr_fault_set(error, ORR_FAULT_USAGE, "--sequence is %d: 1 or more is allowed",
                         options->sequence);
  return orr_options_check_jobs(error) &&
         (!options->batch_tokens ||
          orr_plan_count("--batch-tokens", options->batch_tokens, &ret_asked->batch_tokens, error));
}

const char *orr_verb_plan_assumed(const char *stack, char *const *settings, const char *taken) {
  gboolean is_named = stack != NULL;
  for (; settings && *settings; settings++)
    is_named = is_named || g_str_has_prefix(*settings, "workload.stack=") ||
               g_str_has_prefix(*settings, "workload.stack.");
  return is_named ? NULL : taken;
}

char *orr_verb_plan_assumed_training(OrrLibrary *library, const char *cluster) {
  const OrrPlanOptions *options = &orr_verb_plan_asked;
  const OrrPlanTraining asked = {.cluster = cluster};
  g_autofree char *taken = orr_plan_training_stack(library, &asked);
  return g_strdup(orr_verb_plan_assumed(options->stack, orr_options.settings, taken));
}

char *orr_verb_plan_currency(OrrLibrary *library, const char *prices) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrNode *tree = orr_library_borrow(library, "prices", prices, (OrrPlace){0}, diags);
  const char *currency = tree ? orr_node_get_text(tree, "currency") : NULL;
  return g_strdup(currency ? currency : "");
}

double orr_verb_plan_kwh(OrrLibrary *library, const char *prices) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrNode *tree = orr_library_borrow(library, "prices", prices, (OrrPlace){0}, diags);
  const char *kwh = tree ? orr_node_get_text(tree, "kwh") : NULL;
  const char *pue = tree ? orr_node_get_text(tree, "pue") : NULL;
  return kwh ? g_ascii_strtod(kwh, NULL) * (pue ? g_ascii_strtod(pue, NULL) : 1) : 0;
}

gboolean orr_verb_plan_check(const char *path, GError **error) {
  g_autofree char *before = NULL;
  if (!orr_file_write_check(path, error)) {
    g_prefix_error(error, "-o ");
    return FALSE;
  }
  if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
      !g_file_get_contents(path, &before, NULL, NULL) || g_str_has_prefix(before, mark))
    return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "%s exists and was not made by plan: name another file with -o", path);
}

static char *with_settings(const char *text, char *const *settings, GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_plan_tree(text, diags);
  if (!tree || !orr_settings_apply(&orr_scenario_table, tree, settings, error) ||
      !orr_sweep_check_settings(tree, settings, error))
    return NULL;
  g_autofree char *yaml = orr_yaml_text(tree);
  g_autofree char *head = g_strndup(text, strcspn(text, "\n"));
  return g_strdup_printf("%s\n%s", head, yaml);
}

gboolean orr_verb_plan_set(char **text, char *const *settings, const char *file, GError **error) {
  g_autofree char *set = settings && *settings ? with_settings(*text, settings, error) : NULL;
  if (settings && *settings && !set) return FALSE;
  char *placed = orr_relative_text(set ? set : *text, file);
  g_free(*text);
  *text = placed;
  return TRUE;
}

static void draw(const OrrSweepReport *report, void *user) {
  gboolean *is_drawn = user;
  if (report->seconds < 1) return;
  g_autofree char *line = orr_summary_sweep_line(report);
  orr_terminal_line(line);
  *is_drawn = TRUE;
}

OrrSweepReport *orr_verb_plan_sweep(OrrLibrary *library, const char *file, const char *db,
                                    char **ret_none, GError **error) {
  gboolean is_drawn = FALSE;
  OrrSweepOrder order = {.file = file,
                         .db = db,
                         .jobs = (guint)orr_options.n_jobs,
                         .resume = db != NULL,
                         .begin = TRUE,
                         .none = ret_none,
                         .progress = isatty(STDERR_FILENO) ? draw : NULL,
                         .user = &is_drawn};
  OrrSweepReport *report = orr_sweep(library, &order, error);
  if (is_drawn) orr_terminal_line(NULL);
  return report;
}

/* Alphabetical. */
static const OrrCommand *const parts[] = {
    &orr_verb_plan_campaign, &orr_verb_plan_gpus,    &orr_verb_plan_nccl,     &orr_verb_plan_rate,
    &orr_verb_plan_scaling,  &orr_verb_plan_serving, &orr_verb_plan_training, NULL};

const OrrCommand orr_verb_plan = {
    .verb = "plan",
    .group = "Ask",
    .sentence = "Answer a planner's question: which layout, how many GPUs, which rate.",
    .usage = "QUESTION [OPTION]...",
    .more =
        "gpus, serving and training take a model and a machine, search layouts, and write the best "
        "one as a scenario with its launch line. campaign and rate take a scenario. nccl and "
        "scaling take a machine.",
    .part = "question",
    .parts = parts,
};
