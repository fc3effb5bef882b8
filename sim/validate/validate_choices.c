/*
 * validate_choices.c - finds measured rows that answer one question, and lets the point and the
 * upper end of the band choose among them.
 */
#include "sim/validate/validate.h"

typedef enum { BY_POINT, BY_UPPER, MEASURED, N_VIEWS } View;

/* A row that could be chosen. */
typedef struct {
  const OrrLikenessRow *likeness;
  const char *set;
  double first_s[N_VIEWS], token_s[N_VIEWS]; /* serving; else NAN */
  double pace_s[N_VIEWS];                    /* training: seconds for a token; else NAN */
  double worth[N_VIEWS];                     /* the larger, the better */
} Option;

/* --- Options --- */

static void see(const OrrBandsCheck *check, double ret_s[N_VIEWS]) {
  const double scale = check->metric->is_rate ? -1 : 1;
  ret_s[BY_POINT] = pow(check->answer->simulated, scale);
  ret_s[MEASURED] = pow(check->answer->measured, scale);
  ret_s[BY_UPPER] = ret_s[BY_POINT] * exp(check->bands[0].high);
}

static void see_none(double ret_s[N_VIEWS]) {
  for (int view = 0; view < N_VIEWS; view++) ret_s[view] = NAN;
}

static void take(const OrrBandsCheck *check, Option *option) {
  const OrrQuantity quantity = check->metric->quantity;
  double *into = quantity == ORR_QUANTITY_FIRST   ? option->first_s
                 : quantity == ORR_QUANTITY_TOKEN ? option->token_s
                                                  : NULL;
  if (into && isnan(into[MEASURED]) && !check->metric->is_tail) see(check, into);
  if (strcmp(check->answer->metric, "iteration_time_s") == 0) see(check, option->pace_s);
}

/* Output per GPU of a closed loop, or steps of as many GPUs. */
static void judge(Option *option) {
  const OrrLikenessRow *row = option->likeness;
  const gboolean is_closed = row->arrivals && strcmp(row->arrivals, "closed-loop") == 0;
  for (int view = 0; view < N_VIEWS; view++) {
    option->pace_s[view] /= row->batch * row->input;
    option->worth[view] =
        is_closed ? row->load * row->output / row->gpus /
                        (option->first_s[view] + (row->output - 1) * option->token_s[view])
                  : 1 / option->pace_s[view] / row->gpus;
  }
}

/* Of Option: one of each row that can be chosen. */
static GArray *options_of(const OrrValidateBands *bands) {
  GArray *options = g_array_new(FALSE, FALSE, sizeof(Option));
  const GArray *checks = bands->checks;
  for (guint i = 0, next; i < checks->len; i = next) {
    const OrrResidual *residual = g_array_index(checks, OrrBandsCheck, i).residual;
    Option option = {.likeness = &residual->likeness, .set = residual->set};
    see_none(option.first_s);
    see_none(option.token_s);
    see_none(option.pace_s);
    for (next = i; next < checks->len; next++) {
      const OrrBandsCheck *check = &g_array_index(checks, OrrBandsCheck, next);
      if (check->residual != residual) break;
      take(check, &option);
    }
    judge(&option);
    if (isfinite(option.worth[MEASURED])) g_array_append_val(options, option);
  }
  return options;
}

/* --- Questions --- */

/* Drawn lengths of one question differ a little. */
static double octaves(double tokens) { return tokens > 0 ? round(4 * log2(tokens)) : 0; }

static gboolean is_same_question(const Option *a, const Option *b) {
  const OrrLikenessRow *x = a->likeness, *y = b->likeness;
  return a->set == b->set && x->model == y->model && x->device == y->device &&
         x->stack == y->stack && octaves(x->input) == octaves(y->input) &&
         octaves(x->output) == octaves(y->output);
}

typedef void (*OnQuestion)(const GPtrArray *options, void *user);
static void each_question(const GArray *options, OnQuestion call, void *user) {
  g_autofree gboolean *is_done = g_new0(gboolean, options->len + 1);
  for (guint i = 0; i < options->len; i++) {
    if (is_done[i]) continue;
    g_autoptr(GPtrArray) same = g_ptr_array_new();
    for (guint k = i; k < options->len; k++) {
      Option *one = &g_array_index(options, Option, k);
      if (is_done[k] || !is_same_question(&g_array_index(options, Option, i), one)) continue;
      is_done[k] = TRUE;
      g_ptr_array_add(same, one);
    }
    if (same->len > 1) call(same, user);
  }
}

/* --- Bounds --- */

typedef enum { BOUND_TOKEN, BOUND_FIRST, BOUND_DAYS, N_BOUNDS } Bounded;
static const char *const bounded_words[] = {"all tpot", "all ttft", "all days"};

static const struct {
  const char *name;
  Bounded what;
  double most; /* seconds; of days: of the fastest row's rate */
} bounds[] = {
    {"tpot 10 ms", BOUND_TOKEN, 0.010},    {"tpot 15 ms", BOUND_TOKEN, 0.015},
    {"tpot 20 ms", BOUND_TOKEN, 0.020},    {"tpot 30 ms", BOUND_TOKEN, 0.030},
    {"tpot 50 ms", BOUND_TOKEN, 0.050},    {"ttft 200 ms", BOUND_FIRST, 0.2},
    {"ttft 500 ms", BOUND_FIRST, 0.5},     {"ttft 1 s", BOUND_FIRST, 1},
    {"ttft 2 s", BOUND_FIRST, 2},          {"ttft 5 s", BOUND_FIRST, 5},
    {"days at 50 % rate", BOUND_DAYS, .5}, {"days at 70 % rate", BOUND_DAYS, .7},
    {"days at 90 % rate", BOUND_DAYS, .9},
};

static const double *bounded_of(const Option *option, Bounded what) {
  return what == BOUND_TOKEN   ? option->token_s
         : what == BOUND_FIRST ? option->first_s
                               : option->pace_s;
}

/* Fewer GPUs are worth more where a rate is to be reached. */
static double worth_of(const Option *option, Bounded what, View view) {
  return what == BOUND_DAYS ? 1 / option->likeness->gpus : option->worth[view];
}

/* The best of @options that meets the bound as @view sees it; of equals the faster one. NULL: none
 * does. Its worth is always the simulated one: only whether it meets the bound is at stake. */
static const Option *choose(const GPtrArray *options, Bounded what, double most, View view) {
  const Option *best = NULL;
  ORR_EACH_POINTER(const Option, one, options) {
    if (!(bounded_of(one, what)[view] <= most)) continue;
    const double more = best ? worth_of(one, what, BY_POINT) - worth_of(best, what, BY_POINT) : 1;
    if (more > 0 ||
        (more == 0 && bounded_of(one, what)[BY_POINT] < bounded_of(best, what)[BY_POINT]))
      best = one;
  }
  return best;
}

typedef struct {
  Bounded what;
  double most;
  OrrChoices *found;
  double kept;
  guint n_kept;
} Count;

static double bound_of(const GPtrArray *options, const Count *count) {
  double least_s = INFINITY;
  if (count->what != BOUND_DAYS) return count->most;
  ORR_EACH_POINTER(const Option, one, options)
    least_s = fmin(least_s, one->pace_s[MEASURED]); /* fmin leaves out what is not a number */
  return least_s / count->most;
}

static gboolean all_meet(const GPtrArray *options, Bounded what, double most) {
  ORR_EACH_POINTER(const Option, one, options)
    for (int view = 0; view < MEASURED; view++)
      if (!(bounded_of(one, what)[view] <= most)) return FALSE;
  return TRUE;
}

static void count_choice(const GPtrArray *options, void *user) {
  Count *count = user;
  const double most = bound_of(options, count);
  const Option *point = choose(options, count->what, most, BY_POINT),
               *upper = choose(options, count->what, most, BY_UPPER);
  if (!point || all_meet(options, count->what, most)) return;
  count->found->n_point++;
  count->found->broken_point += bounded_of(point, count->what)[MEASURED] > most;
  if (!upper) return;
  count->found->n_upper++;
  count->found->broken_upper += bounded_of(upper, count->what)[MEASURED] > most;
  count->kept += worth_of(upper, count->what, MEASURED) / worth_of(point, count->what, MEASURED);
  count->n_kept++;
}

static void add(Count *sum, const Count *one) {
  sum->found->n_point += one->found->n_point;
  sum->found->n_upper += one->found->n_upper;
  sum->found->broken_point += one->found->broken_point;
  sum->found->broken_upper += one->found->broken_upper;
  sum->kept += one->kept;
  sum->n_kept += one->n_kept;
}

static void close_count(const Count *count) {
  count->found->kept = count->n_kept > 0 ? count->kept / count->n_kept : NAN;
}

GArray *orr_validate_choices_new(const OrrValidateBands *bands) {
  GArray *choices = g_array_new(FALSE, FALSE, sizeof(OrrChoices));
  g_autoptr(GArray) options = options_of(bands);
  OrrChoices kinds[N_BOUNDS] = {{NULL}};
  Count sums[N_BOUNDS];
  for (int k = 0; k < N_BOUNDS; k++) {
    kinds[k].name = bounded_words[k];
    sums[k] = (Count){.found = &kinds[k]};
  }
  for (guint i = 0; i < G_N_ELEMENTS(bounds); i++) {
    OrrChoices one = {.name = bounds[i].name};
    Count count = {.what = bounds[i].what, .most = bounds[i].most, .found = &one};
    each_question(options, count_choice, &count);
    close_count(&count);
    add(&sums[bounds[i].what], &count);
    g_array_append_val(choices, one);
  }
  for (int k = 0; k < N_BOUNDS; k++) {
    close_count(&sums[k]);
    g_array_append_val(choices, kinds[k]);
  }
  return choices;
}

/* --- Without a bound --- */

/* Training's options of other numbers of GPUs answer another question. */
static void count_regret(const GPtrArray *options, void *user) {
  OrrChoicesRegret *regret = user;
  const Option *point = NULL, *lower = NULL;
  double best = 0;
  ORR_EACH_POINTER(const Option, one, options) {
    const Option *first = options->pdata[0];
    if (isnan(one->first_s[MEASURED]) && one->likeness->gpus != first->likeness->gpus) return;
    if (!point || one->worth[BY_POINT] > point->worth[BY_POINT]) point = one;
    if (!lower || one->worth[BY_UPPER] > lower->worth[BY_UPPER] || isnan(lower->worth[BY_UPPER]))
      lower = one;
    best = fmax(best, one->worth[MEASURED]);
  }
  regret->n++;
  regret->point += 1 - point->worth[MEASURED] / best;
  regret->lower += 1 - lower->worth[MEASURED] / best;
}

OrrChoicesRegret orr_validate_choices_regret(const OrrValidateBands *bands) {
  OrrChoicesRegret regret = {0};
  g_autoptr(GArray) options = options_of(bands);
  each_question(options, count_regret, &regret);
  regret.point /= MAX(regret.n, 1);
  regret.lower /= MAX(regret.n, 1);
  return regret;
}
