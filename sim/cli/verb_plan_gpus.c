/*
 * verb_plan_gpus.c - orrery plan gpus: the fewest GPUs that train a number of tokens in time.
 */
#include "sim/base/uncertain.h"
#include "sim/cli/summary.h"
#include "sim/cli/verb_plan.h"

static char *tokens_text, *devices;
static double days, useful = 1;

static const GOptionEntry options[] = {
    ORR_VERB_PLAN_ENTRIES(orr_verb_plan_asked),
    ORR_OPTION_TEXT("device", devices, "NAMES",
                    "Instead of --cluster: devices, separated by commas, each on the library's "
                    "machine that has it"),
    ORR_OPTION_TEXT("prices", orr_verb_plan_asked.prices, "NAME", "Prices, for what it costs"),
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

/* The figures of the best layout on some GPUs. */
typedef struct {
  gint64 gpus;
  gint64 untried; /* of the answer: numbers of nodes between its own and the next smaller tried */
  double tokens_per_s;
  double low, high, expected; /* the band of the days; 0: none */
  gboolean is_weak;           /* the band is */
  double days;                /* INFINITY: no layout works */
  OrrNode *point;             /* the scenario of its layout; NULL: no layout works */
} Try;

/* The days that decide: a measured run should be in time, too. */
static double deciding_days(const Try *one) { return fmax(one->days, one->high); }

/* Whether it is in time, for a line of a table. */
static const char *verdict_of(const Try *one) {
  if (deciding_days(one) <= days) return "in time";
  return one->days <= days ? "the upper end of the band is too late" : "too slow";
}

static void clear_try(Try *one) { g_clear_pointer(&one->point, orr_node_free); }
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Try, clear_try)

typedef struct {
  OrrPlanSweeps sweeps; /* they differ in the number of GPUs alone */
  OrrPlanTraining asked;
  char **machines; /* clusters, strv */
  char *refused;   /* why the last size was refused; NULL: it was not */
  double tokens;
  gint64 largest; /* the largest size that was not refused */
} Search;

/* A machine may not have every size: a slice of a torus does not. A scenario that two sizes refuse
 * in the same words is wrong at any size. */
static gboolean is_about_size(Search *search, GError *reason) {
  const gboolean is_new = g_error_matches(reason, ORR_FAULT, ORR_FAULT_DOCUMENT) &&
                          g_strcmp0(search->refused, reason->message) != 0;
  g_free(search->refused);
  search->refused = g_strdup(reason->message);
  return is_new;
}

/* "9.09 to 11 weak": a weak band may be wider than it says. */
static char *band_of(const Try *one) {
  if (one->high <= 0) return g_strdup("none");
  return g_strdup_printf("%.3g to %.3g%s", one->low, one->high, one->is_weak ? " weak" : "");
}

/* @why: where no layout works. */
static void print_try(const Try *one, const char *why) {
  if (isinf(one->days)) {
    printf("%8ld  %12s  %8s  %-18s  %s\n", one->gpus, "-", "-", "-", why);
  } else {
    g_autofree char *band = band_of(one);
    g_autofree char *note = orr_uncertain_note_after(one->days, one->low, one->high, one->expected);
    printf("%8ld  %12.4g  %8.4g  %-18s  %s%s\n", one->gpus, one->tokens_per_s, one->days, band,
           verdict_of(one), note);
  }
  fflush(stdout); /* a search takes a while */
}

static gboolean attempt(Search *search, gint64 gpus, Try *ret_try, GError **error) {
  OrrPlanTraining asked = search->asked;
  asked.gpus = gpus;
  clear_try(ret_try);
  *ret_try = (Try){.gpus = gpus, .days = INFINITY};
  g_auto(OrrPlanFastest) fastest = {0};
  g_autoptr(GError) reason = NULL;
  if (!orr_verb_plan_fastest(&search->sweeps, &asked, &fastest, &reason)) {
    if (is_about_size(search, reason)) {
      const char *words = strstr(reason->message, "error: ");
      print_try(ret_try, words ? words + strlen("error: ") : reason->message);
      return TRUE;
    }
    g_propagate_error(error, g_steal_pointer(&reason));
    return FALSE;
  }
  search->largest = MAX(search->largest, gpus);
  if (fastest.tokens_per_s > 0) {
    ret_try->tokens_per_s = fastest.tokens_per_s;
    ret_try->days = search->tokens / (fastest.tokens_per_s * useful) / 86400;
    if (fastest.high > 0) {
      ret_try->low = ret_try->days / fastest.high;
      ret_try->high = ret_try->days / fastest.low;
      ret_try->expected = ret_try->days / fastest.middle;
      ret_try->is_weak = fastest.is_weak;
    }
  }
  ret_try->point = g_steal_pointer(&fastest.point);
  print_try(ret_try, fastest.why);
  return TRUE;
}

/* 1 to 16, 20, 24, 28, 32, 40, ... nodes: above 16, sizes that layouts divide. */
static gint64 size_at(guint i) {
  return i < 16 ? i + 1 : (gint64)(4 + (i - 15) % 4) << ((i - 15) / 4 + 2);
}

/* The first sizes that are tried, as places in that row: 1, 2, 8, 32, 128, ... nodes. */
static guint first_tries(guint i) {
  static const guint smallest[] = {0, 1, 7};
  return i < 3 ? smallest[i] : 19 + 8 * (i - 3);
}

static void take(Try *one, Try *ret_found) {
  clear_try(ret_found);
  *ret_found = *one;
  one->point = NULL;
}

static gboolean find(Search *search, gint64 per_node, Try *ret_found, GError **error) {
  guint low = 0, high = 0; /* low: too slow below it */
  g_auto(Try) one = {0};
  for (guint i = 0;; i++) {
    high = first_tries(i);
    if (size_at(high) * per_node > 1 << 20) return TRUE;
    if (!attempt(search, size_at(high) * per_node, &one, error)) return FALSE;
    if (deciding_days(&one) <= days) break;
    low = high + 1;
  }
  take(&one, ret_found);
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (!attempt(search, size_at(middle) * per_node, &one, error)) return FALSE;
    if (deciding_days(&one) <= days) {
      high = middle;
      take(&one, ret_found);
    } else {
      low = middle + 1;
    }
  }
  if (high > 0) ret_found->untried = size_at(high) - size_at(high - 1) - 1;
  return TRUE;
}

/* --- The answer --- */

static gboolean say_none(const Search *search, GError **error) {
  g_autofree char *largest = orr_show_count(search->largest);
  return orr_fault_set(error, ORR_FAULT_DOCUMENT, "no number of GPUs up to %s is fast enough%s",
                       largest,
                       search->refused ? ", and more were refused: the table above says why" : "");
}

static void print_stack(const Search *search) {
  g_autofree char *assumed =
      orr_verb_plan_assumed_training(search->sweeps.library, search->asked.cluster);
  g_autofree char *words = assumed ? orr_show_assumed(assumed) : NULL;
  if (words) printf("%s (--stack names another)\n", words);
}

static gboolean answer_one(const Search *search, const Try *found, GError **error) {
  if (found->gpus == 0) return say_none(search, error);
  printf("%ld %ss train %s tokens in %.3g days", found->gpus,
         orr_plan_noun(search->sweeps.library, search->asked.cluster), tokens_text, found->days);
  g_autofree char *note =
      orr_uncertain_note_after(found->days, found->low, found->high, found->expected);
  if (found->high > 0)
    printf(" (%.3g to %.3g%s, %s80 %% band)", found->low, found->high, note,
           found->is_weak ? "weak " : "");
  printf("; %s\n", found->high > 0 ? "its upper end is in time, too"
                                   : "no band: the simulation alone decides");
  if (found->untried > 0)
    printf("not tried: up to %ld nodes fewer (orrery plan training --gpus N asks for one size)\n",
           found->untried);
  print_stack(search);
  return TRUE;
}

static char *amount(double value) {
  return isfinite(value) ? g_strdup_printf("%.4g", value) : g_strdup("-");
}

/* The energy of @joules; for a device without a power model the most that its limit allows. */
static char *energy_text(const Search *search, const char *machine, const Try *found,
                         double joules) {
  const double most_w = (double)found->gpus * orr_plan_board_w(search->sweeps.library, machine);
  if (isfinite(joules) || most_w <= 0) return amount(joules / 3.6e9);
  return g_strdup_printf("at most %.4g", most_w * found->days * 24 / 1e6);
}

/* The cost of @found. Where the machine's energy is not known, its GPUs' power limit bounds their
 * part of it, and @ret_bounded says so: what else its nodes draw is in no document. */
static char *cost_text(const Search *search, const char *machine, const Try *found,
                       const OrrMoney *money, gboolean *ret_bounded) {
  const double all = search->tokens / useful, hours = found->days * 24 * (double)found->gpus;
  const double kwh = orr_verb_plan_kwh(search->sweeps.library, search->asked.prices);
  const double limit_w = orr_plan_board_w(search->sweeps.library, machine);
  const double hardware =
      isfinite(money->hardware_per_gpu_hour) ? money->hardware_per_gpu_hour * hours : 0;
  *ret_bounded = !isfinite(money->per_million_tokens) && kwh > 0 && limit_w > 0;
  if (!*ret_bounded) return amount(money->per_million_tokens * all / 1e6);
  return g_strdup_printf("at most %.4g", hardware + limit_w / 1e3 * hours * kwh);
}

/* One machine's line: @answer is its layout, simulated whole. TRUE: its cost is a bound. */
static gboolean print_machine(const Search *search, const char *machine, const Try *found,
                              const OrrTrainingResult *answer) {
  g_autofree char *in_days = g_strdup_printf("%.3g", found->days);
  g_autofree char *band = band_of(found);
  const double all = search->tokens / useful; /* as many as the machine could train in that time */
  g_autofree char *energy = energy_text(search, machine, found, answer->energy_j_per_token * all);
  gboolean is_bounded = FALSE;
  printf("%-24s %8ld  %8s  %-18s  %13s", machine, found->gpus, in_days, band, energy);
  if (search->asked.prices) {
    g_autofree char *cost = cost_text(search, machine, found, &answer->money, &is_bounded);
    printf("  %13s", cost);
  }
  printf("  %s\n", verdict_of(found));
  return is_bounded;
}

/* All machines that are fast enough, in the order asked; what their layouts draw and cost is
 * simulated here. */
static gboolean compare(const Search *search, const Try *founds, GError **error) {
  g_autoptr(GPtrArray) points = g_ptr_array_new();
  for (guint i = 0; search->machines[i]; i++)
    if (founds[i].gpus) g_ptr_array_add(points, founds[i].point);
  if (points->len == 0) return say_none(search, error);
  OrrStudyAnswer *answers =
      orr_plan_simulate(search->sweeps.library, points, (guint)orr_options.n_jobs, error);
  if (!answers) return FALSE;
  const char *prices = search->asked.prices;
  g_autofree char *currency =
      prices ? orr_verb_plan_currency(search->sweeps.library, prices) : NULL;
  printf("\n%-24s %8s  %8s  %-18s  %13s", "machine", "GPUs", "days", "80 % band", "MWh of GPUs");
  if (prices) printf("  %13s", currency);
  printf("\n");
  guint n_bounded = 0;
  for (guint i = 0, n = 0; search->machines[i]; i++) {
    if (founds[i].gpus)
      n_bounded +=
          print_machine(search, search->machines[i], &founds[i], &answers[n++].result.training);
    else
      printf("%-24s %8s  no number of GPUs is fast enough\n", search->machines[i], "-");
  }
  if (n_bounded > 0)
    printf("at most: with the power limit of the GPUs, since no document says what they draw; what "
           "else nodes draw is left out of the cost\n");
  orr_study_free(answers, points->len);
  return TRUE;
}

static gboolean search_all(Search *search, Try *founds, GError **error) {
  const gboolean is_one = !search->machines[1];
  for (guint i = 0; search->machines[i]; i++) {
    search->asked.cluster = search->machines[i];
    const gint64 per_node = orr_plan_gpus_per_node(search->sweeps.library, &search->asked, error);
    if (per_node == 0) return FALSE;
    if (!is_one) {
      printf("%s%s\n", i ? "\n" : "", search->machines[i]);
      print_stack(search);
    }
    g_autofree char *devices_word =
        g_strconcat(orr_plan_noun(search->sweeps.library, search->machines[i]), "s", NULL);
    printf("%8s  %12s  %8s  80 %% band\n", devices_word, "tokens/s", "days");
    if (!find(search, per_node, &founds[i], error)) return FALSE;
  }
  if (is_one && !answer_one(search, &founds[0], error)) return FALSE;
  return (is_one && !search->asked.prices) || compare(search, founds, error);
}

static void print_end(const Search *search, const Try *founds) {
  g_autofree char *again = orr_verb_plan_again();
  orr_show_warnings("warning: ", orr_caveats_texts(search->sweeps.caveats));
  for (guint i = 0; search->machines[i]; i++)
    if (founds[i].gpus)
      printf("%s orrery plan training --model %s --cluster %s --gpus %ld%s\n",
             i ? "     " : "next:", search->asked.model, search->machines[i], founds[i].gpus,
             again);
}

/* --cluster A,B or --device A,B as clusters. */
static char **machines_of(OrrLibrary *library, GError **error) {
  const char *clusters = orr_verb_plan_asked.cluster;
  g_auto(GStrv) names = g_strsplit(devices ? devices : clusters ? clusters : "", ",", -1);
  if (devices && clusters)
    return orr_fault_null(error, ORR_FAULT_USAGE, "give --cluster or --device, not both");
  for (char **name = names; devices && *name; name++) {
    char *machine = orr_plan_serving_machine(library, *name, error);
    if (!machine) return NULL;
    g_free(*name);
    *name = machine;
  }
  return g_steal_pointer(&names);
}

/* The options, on the first of @machines. */
static gboolean read_asked(char **machines, OrrPlanTraining *ret_asked, GError **error) {
  char *own = orr_verb_plan_asked.cluster;
  orr_verb_plan_asked.cluster = *machines; /* NULL: none is named */
  const gboolean is_read = orr_verb_plan_read(ret_asked, error);
  orr_verb_plan_asked.cluster = own;
  return is_read;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  Search search = {0};
  if (!orr_cli_check_args(args, 0, 0, "plan gpus takes options only", error)) return 2;
  g_auto(GStrv) machines = search.machines = machines_of(library, error);
  if (!machines || !read_asked(machines, &search.asked, error) ||
      !check_options(&search.tokens, error))
    return 2;
  if (!orr_verb_plan_sweeps_begin(&search.sweeps, library, error)) return 1;
  const guint n = g_strv_length(machines);
  g_autofree Try *founds = g_new0(Try, n);
  const gboolean is_found = search_all(&search, founds, error);
  if (is_found) print_end(&search, founds);
  for (guint i = 0; i < n; i++) clear_try(&founds[i]);
  g_free(search.refused);
  orr_verb_plan_sweeps_end(&search.sweeps);
  return is_found ? 0 : 2;
}

const OrrCommand orr_verb_plan_gpus = {
    .verb = "gpus",
    .sentence = "The fewest GPUs that train a number of tokens in time.",
    .usage = "--model NAME --cluster NAMES --tokens N --days X [--useful X] [--prices NAME] "
             "[--sequence N] [--db FILE]",
    .more =
        "Tries 1 to 16, 20, 24, 28, 32, 40, ... nodes: for each number the fastest layout, as plan "
        "training finds it; the upper end of its error band must be in time. --useful is the "
        "fraction of the time that is training: 1 knows no "
        "failures. Several machines, as --cluster dgx-h100-superpod,mi355x-roce or --device "
        "h100-sxm,mi355x, are compared, each with the software that runs on it.",
    .options = options,
    .run = run,
};
