/*
 * verb_plan_gpus.c - orrery plan gpus: the fewest GPUs that train a number of tokens in time.
 */
#include <math.h>
#include <stdio.h>

#include "sim/base/fault.h"
#include "sim/base/uncertain.h"
#include "sim/cli/show.h"
#include "sim/cli/verb_plan.h"

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
  OrrPlanSweeps sweeps; /* they differ in the number of GPUs alone */
  OrrPlanTraining asked;
  double tokens;
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

static gboolean attempt(const Search *search, gint64 gpus, Try *ret_try, GError **error) {
  OrrPlanTraining asked = search->asked;
  asked.gpus = gpus;
  *ret_try = (Try){.gpus = gpus, .days = INFINITY};
  g_auto(OrrPlanFastest) fastest = {0};
  if (!orr_verb_plan_fastest(&search->sweeps, &asked, &fastest, error)) return FALSE;
  if (fastest.tokens_per_s > 0) {
    ret_try->tokens_per_s = fastest.tokens_per_s;
    ret_try->days = search->tokens / (fastest.tokens_per_s * useful) / 86400;
    if (fastest.high > 0) {
      ret_try->low = ret_try->days / fastest.high;
      ret_try->high = ret_try->days / fastest.low;
      ret_try->expected = ret_try->days / fastest.middle;
    }
  }
  print_try(ret_try, fastest.why);
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
  g_autofree char *assumed = orr_verb_plan_assumed_training(search->sweeps.library);
  g_autofree char *words = assumed ? orr_show_assumed(assumed) : NULL;
  if (words) printf("\n%s (--stack names another)", words);
  printf("\n");
  orr_show_warnings("warning: ", orr_caveats_texts(search->sweeps.caveats));
  printf("next: orrery plan training --model %s --cluster %s --gpus %" G_GINT64_FORMAT "\n",
         search->asked.model, search->asked.cluster, found->gpus);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  Search search = {0};
  if (!orr_cli_check_args(args, 0, 0, "plan gpus takes options only", error) ||
      !orr_verb_plan_read(&search.asked, error) || !check_options(&search.tokens, error))
    return 2;
  const gint64 per_node = orr_plan_gpus_per_node(library, &search.asked, error);
  if (per_node == 0) return 2;
  if (!orr_verb_plan_sweeps_begin(&search.sweeps, library, error)) return 1;
  Try found = {0};
  printf("%8s  %12s  %8s  80 %% band\n", "GPUs", "tokens/s", "days");
  const int status = find(&search, per_node, &found, error) ? answer(&search, &found, error) : 2;
  orr_verb_plan_sweeps_end(&search.sweeps);
  return status;
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
