/*
 * verb_plan_gpus.c - orrery plan gpus: the fewest GPUs that train a number of tokens in time.
 */
#include <math.h>
#include <stdio.h>

#include <glib/gstdio.h>

#include "sim/bands/caveats.h"
#include "sim/base/fault.h"
#include "sim/base/file_write.h"
#include "sim/base/uncertain.h"
#include "sim/cli/show.h"
#include "sim/cli/verb_plan.h"
#include "sim/run/scenario.h"

static char *tokens_text;
static double days, useful = 1;

static const GOptionEntry options[] = {
    ORR_VERB_PLAN_ENTRIES(orr_verb_plan_asked),
    ORR_OPTION_TEXT("tokens", tokens_text, "N", "Tokens to train on, such as 2T"),
    ORR_OPTION_REAL("days", days, "Days until the end"),
    ORR_OPTION_REAL("useful", useful,
                    "Fraction of the time that is training, not failures and restarts (default 1)"),
    {NULL},
};

static gboolean check_options(double *ret_tokens, GError **error) {
  if (!tokens_text || days <= 0 || !isfinite(days))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "plan gpus needs --tokens N and --days X, above 0");
  if (!(useful > 0 && useful <= 1))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--useful takes a number above 0 and at most 1, found %g", useful);
  return orr_plan_count("--tokens", tokens_text, ret_tokens, error);
}

/* What the best layout on some GPUs takes. */
typedef struct {
  gint64 gpus;
  double tokens_per_s;
  double low, high, expected; /* the band of the days; 0: none */
  double days;                /* INFINITY: no layout works */
} Try;

typedef struct {
  OrrLibrary *library;
  OrrPlanTraining asked;
  double tokens;
  const char *file;    /* where the sweeps are written */
  const char *db;      /* NULL: nothing is stored */
  OrrCaveats *caveats; /* of all sweeps, which differ in the number of GPUs alone */
} Search;

/* @why: where no layout works. */
static void print_try(const Try *one, const char *why) {
  if (isinf(one->days)) {
    printf("%8" G_GINT64_FORMAT "  %12s  %8s  %-18s  %s\n", one->gpus, "-", "-", "-", why);
  } else {
    g_autofree char *band =
        one->high > 0 ? g_strdup_printf("%.3g to %.3g", one->low, one->high) : g_strdup("none");
    g_autofree char *note = orr_uncertain_note_after(one->days, one->low, one->high, one->expected);
    printf("%8" G_GINT64_FORMAT "  %12.4g  %8.4g  %-18s  %s%s\n", one->gpus, one->tokens_per_s,
           one->days, band, one->days <= days ? "in time" : "too slow", note);
  }
  fflush(stdout); /* a search takes a while */
}

/* Why no point of the sweep is an answer: "no layout fits" is a statement about memory, so points
 * that ended in another way are counted. Newly allocated. */
static char *why_none(const OrrSweepReport *report) {
  const guint64 *by = report->by_status;
  GString *text = g_string_new("no layout fits");
  if (report->n_done == by[ORR_POINT_UNFIT]) return g_string_free(text, FALSE);
  g_string_assign(text, "no layout can run:");
  for (guint i = 0; i < ORR_N_POINT_STATUSES; i++)
    if (by[i])
      g_string_append_printf(text, " %" G_GUINT64_FORMAT " %s;", by[i], orr_point_words[i]);
  if (report->refused->len)
    g_string_append_printf(text, " most: %s",
                           g_array_index(report->refused, OrrSweepExclusion, 0).reason);
  return g_string_free(text, FALSE);
}

static gboolean attempt(const Search *search, gint64 gpus, Try *ret_try, GError **error) {
  OrrPlanTraining asked = search->asked;
  asked.gpus = gpus;
  *ret_try = (Try){.gpus = gpus, .days = INFINITY};
  g_autofree char *text = orr_plan_training_text(search->library, &asked, error);
  if (!text || !orr_verb_plan_set(&text, orr_options.settings, search->file, error) ||
      !orr_file_write(search->file, text, -1, error))
    return FALSE;
  g_autoptr(GError) reason = NULL;
  g_autofree char *none = NULL, *why = NULL;
  g_autoptr(OrrSweepReport) report =
      orr_verb_plan_sweep(search->library, search->file, search->db, &none, &reason);
  if (!report && !none) {
    g_propagate_error(error, g_steal_pointer(&reason));
    return FALSE;
  }
  for (guint i = 0; report && i < report->caveats->len; i++)
    orr_caveats_add_text(search->caveats, report->caveats->pdata[i]);
  if (report && report->best->len > 0) {
    const OrrSweepBest *best = &g_array_index(report->best, OrrSweepBest, 0);
    const OrrBand *band = best->bands ? &best->bands->of[0] : NULL;
    ret_try->tokens_per_s = best->score[0];
    ret_try->days = search->tokens / (best->score[0] * useful) / 86400;
    if (band && band->quality != ORR_BAND_NONE) {
      ret_try->low = ret_try->days / band->high;
      ret_try->high = ret_try->days / band->low;
      ret_try->expected = ret_try->days / band->middle;
    }
  }
  why = report ? why_none(report) : g_strdup_printf("no layout can run: %s", none);
  print_try(ret_try, why);
  return TRUE;
}

/* 1, 2, 3, 4, 6, 8, 12, ... nodes: sizes that layouts divide. */
static gint64 size_at(guint i) {
  if (i == 0) return 1;
  return i % 2 ? (gint64)1 << ((i + 1) / 2) : (gint64)3 << (i / 2 - 1);
}

static gboolean find(const Search *search, gint64 per_node, Try *ret_found, GError **error) {
  guint low = 0, high = 0; /* low: too slow below it */
  Try one = {0};
  for (guint i = 0;; i = i ? i + 4 : 1) {
    if (size_at(i) * per_node > 1 << 20) return TRUE;
    if (!attempt(search, size_at(i) * per_node, &one, error)) return FALSE;
    high = i;
    if (one.days <= days) break;
    low = i + 1;
  }
  *ret_found = one;
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (!attempt(search, size_at(middle) * per_node, &one, error)) return FALSE;
    if (one.days <= days) {
      high = middle;
      *ret_found = one;
    } else {
      low = middle + 1;
    }
  }
  return TRUE;
}

static int answer(const Search *search, const Try *found, GError **error) {
  if (found->gpus == 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "no number of GPUs up to 1,048,576 is fast enough");
    return 2;
  }
  printf("%" G_GINT64_FORMAT " GPUs train %s tokens in %.3g days", found->gpus, tokens_text,
         found->days);
  g_autofree char *note =
      orr_uncertain_note_after(found->days, found->low, found->high, found->expected);
  if (found->high > 0) printf(" (%.3g to %.3g%s, 80 %% band)", found->low, found->high, note);
  if (found->high > days) printf("; the upper end of the band is too late");
  g_autofree char *assumed = orr_verb_plan_assumed_training(search->library);
  g_autofree char *words = assumed ? orr_show_assumed(assumed) : NULL;
  if (words) printf("\n%s (--stack names another)", words);
  printf("\n");
  orr_show_warnings("warning: ", orr_caveats_texts(search->caveats));
  printf("next: orrery plan training --model %s --cluster %s --gpus %" G_GINT64_FORMAT "\n",
         search->asked.model, search->asked.cluster, found->gpus);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  g_autoptr(OrrCaveats) caveats = orr_caveats_new(library);
  Search search = {.library = library, .db = orr_options_database(), .caveats = caveats};
  if (!orr_cli_check_args(args, 0, 0, "plan gpus takes options only", error) ||
      !orr_verb_plan_read(&search.asked, error) || !check_options(&search.tokens, error))
    return 2;
  const gint64 per_node = orr_plan_gpus_per_node(library, &search.asked, error);
  if (per_node == 0) return 2;
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", error);
  if (!folder) return 1;
  g_autofree char *file = g_build_filename(folder, "plan.yaml", NULL);
  search.file = file;
  Try found = {0};
  printf("%8s  %12s  %8s  80 %% band\n", "GPUs", "tokens/s", "days");
  const gboolean is_done = find(&search, per_node, &found, error);
  g_unlink(file);
  g_rmdir(folder);
  return is_done ? answer(&search, &found, error) : 2;
}

const OrrCommand orr_verb_plan_gpus = {
    .verb = "gpus",
    .sentence = "The fewest GPUs that train a number of tokens in time.",
    .usage = "--model NAME --cluster NAME --tokens N --days X [--useful X] [--sequence N] [--db "
             "FILE]",
    .more = "Tries 1, 2, 3, 4, 6, 8, 12, ... nodes: for each number the fastest layout, as plan "
            "training finds it. --useful is the fraction of the time that is training: 1 knows no "
            "failures.",
    .options = options,
    .run = run,
};
