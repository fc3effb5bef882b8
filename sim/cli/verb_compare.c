/*
 * verb_compare.c - orrery compare DB RUN RUN...: prints how the inputs, the results and the times
 * of two runs differ, each table a view (compare-inputs, compare-results, compare-time); or the
 * inputs and results of three and more side by side (compare_many.c).
 */
#include "sim/base/json_write.h"
#include "sim/cli/cli.h"
#include "sim/cli/verb_compare.h"
#include "sim/cli/page.h"

static const GOptionEntry options[] = {
    ORR_OPTION_JSON("one JSON object: the tables as arrays, and verdicts"),
    ORR_OPTION_CSV("Print the results alone, as CSV (RFC 4180)"),
    ORR_OPTION_MARKDOWN("Markdown tables"),
    {NULL},
};

static const struct {
  const char *view, *heading, *same;
} parts[] = {
    {"compare-inputs", "Inputs", "none: the inputs are equal"},
    {"compare-results", "Results", "no results to compare"},
    {"compare-time", "Times", "no times to compare"},
};
enum { N_PARTS = G_N_ELEMENTS(parts) };

static void print_parts(OrrAnswer *const *answers, const char *other, const char *this) {
  for (guint i = 0; i < N_PARTS; i++) {
    g_autofree char *table = orr_options_answer(answers[i]);
    if (orr_options.markdown)
      printf("%s## %s: run %s against run %s\n\n", i > 0 ? "\n" : "", parts[i].heading, this,
             other);
    else
      printf("%s%s: run %s against run %s\n\n", i > 0 ? "\n" : "", parts[i].heading, this, other);
    if (answers[i]->rows->len > 0)
      fputs(table, stdout);
    else
      printf("%s\n", parts[i].same);
  }
}

static void print_verdicts(const OrrVerdicts *verdicts, const char *other, const char *this) {
  g_autofree char *text = orr_options.markdown ? orr_compare_verdict_markdown(verdicts)
                                               : orr_compare_verdict_lines(verdicts);
  printf("\n%sWhich is better: run %s against run %s\n\n%s", orr_options.markdown ? "## " : "",
         this, other, text);
}

static void print_warnings(const GPtrArray *warnings) {
  if (warnings->len > 0) printf("%s", orr_options.markdown ? "\n## Warnings\n\n" : "\n");
  orr_show_warnings(orr_options.markdown ? "* " : "warning: ", warnings);
}

static void print_json_warnings(const GPtrArray *warnings) {
  g_autoptr(GString) out = g_string_new(NULL);
  orr_json_write_texts(out, "warnings", (char *const *)warnings->pdata, warnings->len);
  printf(", %s", out->str);
}

static void print_json(OrrAnswer *const *answers, const OrrVerdicts *verdicts,
                       const GPtrArray *warnings) {
  for (guint i = 0; i < N_PARTS; i++) {
    g_autofree char *rows = orr_answer_json(answers[i]);
    printf("%s\"%s\": %s", i > 0 ? ",\n" : "{", parts[i].view, g_strchomp(rows));
  }
  g_autofree char *judged = orr_compare_verdict_json(verdicts);
  printf(",\n%s", judged);
  print_json_warnings(warnings);
  printf("}\n");
}

static gboolean check_same_kind(OrrStore *store, const char *other, const char *this,
                                GError **error) {
  const OrrBinding pair[] = {{"this", this}, {"other", other}};
  g_autoptr(OrrAnswer) runs = orr_store_ask(
      store, "SELECT id, kind FROM run WHERE id IN (:this, :other) ORDER BY id = :this", 0, pair, 2,
      error);
  if (!runs) return FALSE;
  if (g_ascii_strtoll(other, NULL, 10) == g_ascii_strtoll(this, NULL, 10))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "run %s compared with itself: give two different runs", this);
  if (runs->rows->len < 2)
    return orr_fault_set(
        error, ORR_FAULT_USAGE, "there is no run %s: 'orrery query DB runs' lists the runs",
        runs->rows->len == 1 && g_str_equal(((char **)runs->rows->pdata[0])[0], this) ? other
                                                                                      : this);
  if (!g_str_equal(((char **)runs->rows->pdata[0])[1], ((char **)runs->rows->pdata[1])[1]))
    return orr_fault_set(
        error, ORR_FAULT_USAGE,
        "run %s is of kind %s and run %s of kind %s: their results cannot be compared", other,
        ((char **)runs->rows->pdata[0])[1], this, ((char **)runs->rows->pdata[1])[1]);
  return TRUE;
}

/* --- Two runs --- */

static int compare_two(OrrLibrary *library, OrrStore *store, char **names, const gint64 *runs,
                       GError **error) {
  OrrAnswer *answers[N_PARTS] = {NULL};
  gboolean has_answers = TRUE;
  for (guint i = 0; i < N_PARTS && has_answers; i++) {
    answers[i] =
        orr_store_ask(store, parts[i].view, runs[1], &(OrrBinding){"other", names[0]}, 1, error);
    has_answers = answers[i] != NULL;
  }
  g_autoptr(OrrVerdicts) verdicts =
      has_answers ? orr_compare_verdict_new(library, store, runs[0], runs[1], error) : NULL;
  g_autoptr(GPtrArray) warnings =
      verdicts ? orr_compare_warnings(library, store, runs, 2, error) : NULL;
  if (warnings && orr_options.json) {
    print_json(answers, verdicts, warnings);
  } else if (warnings) {
    print_parts(answers, names[0], names[1]);
    print_verdicts(verdicts, names[0], names[1]);
    print_warnings(warnings);
  }
  for (guint i = 0; i < N_PARTS; i++) orr_answer_free(answers[i]);
  return warnings ? 0 : 1;
}

/* --- More --- */

static void print_table(const char *heading, const OrrAnswer *answer) {
  g_autofree char *text = orr_options_answer(answer);
  if (orr_options.json)
    printf("\"%s\": %s", heading, g_strchomp(text));
  else
    printf("%s%s\n\n%s\n", orr_options.markdown ? "## " : "", heading, text);
}

static gboolean print_sides(OrrLibrary *library, OrrStore *store, char **names, const gint64 *runs,
                            guint n, GError **error) {
  for (guint i = 1; i < n; i++) {
    g_autoptr(OrrVerdicts) verdicts =
        orr_compare_verdict_new(library, store, runs[0], runs[i], error);
    if (!verdicts) return FALSE;
    if (!orr_options.json) {
      print_verdicts(verdicts, names[0], names[i]);
      continue;
    }
    g_autofree char *judged = orr_compare_verdict_json(verdicts);
    printf(",\n\"run %s against run %s\": {%s}", names[i], names[0], judged);
  }
  return TRUE;
}

static int compare_many(OrrLibrary *library, OrrStore *store, char **names, const gint64 *runs,
                        guint n, GError **error) {
  const gboolean is_plain = orr_options.csv || orr_options.json;
  g_autoptr(OrrAnswer) inputs = orr_compare_many_inputs(store, runs, n, error);
  g_autoptr(OrrAnswer) results =
      inputs ? orr_compare_many_results(store, runs, n, is_plain, error) : NULL;
  g_autoptr(GPtrArray) warnings =
      results ? orr_compare_warnings(library, store, runs, n, error) : NULL;
  if (!warnings) return 1;
  if (orr_options.csv) {
    g_autofree char *text = orr_answer_csv(results);
    fputs(text, stdout);
    return 0;
  }
  if (orr_options.json) printf("{");
  print_table(orr_options.json ? "inputs" : "Inputs", inputs);
  if (orr_options.json) printf(",\n");
  print_table(orr_options.json ? "results" : "Results", results);
  if (!print_sides(library, store, names, runs, n, error)) return 1;
  if (orr_options.json) {
    print_json_warnings(warnings);
    printf("}\n");
  } else {
    print_warnings(warnings);
  }
  return 0;
}

static gboolean check_runs(OrrStore *store, char **names, guint n, GError **error) {
  for (guint i = 0; i < n; i++)
    for (guint k = i + 1; k < n; k++)
      if (!check_same_kind(store, names[i], names[k], error)) return FALSE;
  return TRUE;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  gint64 runs[ORR_COMPARE_MANY_MOST] = {0};
  if (!orr_cli_check_args(args, 3, 1 + ORR_COMPARE_MANY_MOST,
                          "compare takes a database and the numbers of 2 to 20 runs", error))
    return 2;
  const guint n = g_strv_length(args) - 1;
  for (guint i = 0; i < n; i++)
    if (!orr_question_run(args[1 + i], &runs[i], error)) return 2;
  if (!orr_options_check_form(error)) return 2;
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  if (!store || !check_runs(store, args + 1, n, error)) return 1;
  if (n == 2 && !orr_options.csv) return compare_two(library, store, args + 1, runs, error);
  return compare_many(library, store, args + 1, runs, n, error);
}

static const OrrCommand *const verb_parts[] = {&orr_verb_compare_trace, NULL};

const OrrCommand orr_verb_compare = {
    .verb = "compare",
    .group = "Compare",
    .sentence = "Compare runs: their inputs, their results, and where the time went.",
    .usage = "DB RUN RUN [RUN]... [--csv|--json|--markdown]",
    .more =
        "Prints the changes of the second run against the first. The three tables are the views "
        "compare-inputs, compare-results and compare-time. Then says which run is better, and how "
        "sure that is, from measured pairs that differ in the same way. Three and more runs stand "
        "side by side, with error bands and their changes against the first.",
    .options = options,
    .run = run,
    .part = "option",
    .parts = verb_parts,
};
