/*
 * steady.c - the window of a run's steady state, from the dates at which requests left.
 *
 * Each row of a request holds the number of requests in the system when it left, and the integral
 * of that number up to then. The mean number over any interval is a difference of two integrals,
 * interpolated between the dates.
 */
#include "workloads/serving/fleet/fleet_private.h"

enum {
  GRID = 60,         /* equal intervals of a run, among which the warm-up ends */
  BATCHES = 10,      /* of a window */
  FEWEST = 20,       /* requests that left, for any judgement */
  LEAST = 400,       /* of a window: steady, where the document does not say */
  LEAST_MISSES = 20, /* that a window of the fraction asked for would have, but for one of 1 */
  MOST_TIMES = 4,    /* a window near that fraction is made longer, to this many times */
  FEWEST_EARLY = 50, /* that left in a quarter of a run, to see an overload early */
  PAST_START = 8,    /* first residence times, after which an overload is not the start of a run */
};

static const double residences_of_warmup = 2, residences = ORR_STEADY_RESIDENCES;
/* A window cannot show that no request ever misses: a fraction of 1 takes as many requests as this
 * one. */
static const double strictest = 0.999;
/* A looser fraction than this has more misses and no shorter bursts: it takes as many requests.
 * What meets a fraction then meets every looser one. */
static const double loosest = 0.99;
/* A rate near the limit of its objectives: the window is made longer, to this. */
static const double most_residences = 30;
/* Growth over the window, of the mean number: below the first it does not matter, and between the
 * two it may be a long wave, so that the run has to go on. A number that grows from 0 at the run's
 * beginning grows by two thirds of its mean in the second half. */
static const double growth_that_counts = 0.2, growth_of_overload = 0.5;
/* Of the requests that arrive, what an overload leaves behind at least to be seen early. */
static const double overload_seen_early = 0.05;
static const double sigmas = 3, sigmas_early = 4;
/* Student, two-sided 95 %, with 8 and 9 degrees of freedom (NIST/SEMATECH 1.3.6.7.2). */
static const double student_8 = 2.306, student_9 = 2.262;
/* The same, 99.9 %. */
static const double student_8_sure = 5.041;

typedef struct {
  const OrrServedRequest *rows;
  guint n;
  int of; /* 0: requests in the system or at their clients, 1: at their clients */
  double until_s;
  OrrCycle cycle;         /* of the load; 0, 0: it has none */
  gboolean is_bounded;    /* a fixed number of clients: no overload grows */
  OrrChain chain;         /* requests that follow from one another */
  const GArray *unserved; /* of OrrUnserved */
} Run;

/* Requests that left by @at_s. */
static guint left_by(const Run *run, double at_s) {
  guint low = 0, high = run->n;
  while (low < high) {
    const guint middle = low + (high - low) / 2;
    if (run->rows[middle].left_s <= at_s)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The last date up to @at_s at which one left. Clients that move together leave together: a window
 * from one such date to another holds whole turns of theirs. */
static double last_left_by(const Run *run, double at_s) {
  const guint n = left_by(run, at_s);
  return n > 0 ? run->rows[n - 1].left_s : at_s;
}

/* The integral of the number in the system, clients' queue included, up to @at_s. */
static double area_at(const Run *run, double at_s) {
  const guint n = left_by(run, at_s);
  const OrrServedRequest *first = run->rows, *before = n > 0 ? &run->rows[n - 1] : NULL;
  if (!before) /* the number grows evenly up to the first that leaves */
    return first->left_s > 0 ? first->area_s[run->of] * pow(at_s / first->left_s, 2) : 0;
  if (n == run->n)
    return before->area_s[run->of] + (at_s - before->left_s) * before->number[run->of];
  const OrrServedRequest *after = &run->rows[n];
  const double more_s = after->area_s[run->of] - before->area_s[run->of];
  return before->area_s[run->of] +
         more_s * (at_s - before->left_s) / (after->left_s - before->left_s);
}

static double mean_between(const Run *run, double from_s, double to_s) {
  return to_s > from_s ? (area_at(run, to_s) - area_at(run, from_s)) / (to_s - from_s) : 0;
}

/* The last date at which as many requests have left since @begin_s as there are clients, or a
 * multiple. Clients that stay in step leave in groups, turn after turn: a window that ends within a
 * group has its requests, but not the pause before the next one (64 clients with constant lengths:
 * 26.2 requests per second instead of 24.5). Without a whole turn, the last date. */
static double last_turn(const Run *run, double begin_s) {
  const guint before = left_by(run, begin_s), n = run->n - before;
  const guint clients = (guint)(mean_between(run, begin_s, run->until_s) + 0.5);
  const guint whole = clients > 0 ? n - n % clients : 0;
  return run->rows[whole > 0 ? before + whole - 1 : run->n - 1].left_s;
}

static double in_system_at(const Run *run, double at_s) {
  const guint n = left_by(run, at_s);
  return n > 0 ? run->rows[n - 1].number[0] : 0;
}

/* Mean time in the system of the requests [from, to). */
static double residence(const Run *run, guint from, guint to) {
  double sum = 0;
  for (guint i = from; i < to; i++) sum += run->rows[i].left_s - run->rows[i].row.arrival_s;
  return sum / (to - from);
}

/* --- 1. the warm-up --- */

static double mser(const double *means, int from) {
  double sum = 0, squares = 0;
  const double n = GRID - from;
  for (int k = from; k < GRID; k++) sum += means[k];
  for (int k = from; k < GRID; k++) squares += pow(means[k] - sum / n, 2);
  return squares / (n * n);
}

/* What an event of the run lasts: a request's stay, a client's time from request to request, or a
 * conversation, for the number of conversations, and what they have said, settles no sooner. */
static double turn_of(const Run *run, const OrrSteady *steady) {
  return run->chain.requests * steady->residence_s + run->chain.pauses_s;
}

static double warmup(const Run *run, double turn_s) {
  const double width_s = run->until_s / GRID;
  double means[GRID];
  int best = 0;
  for (int k = 0; k < GRID; k++) means[k] = mean_between(run, k * width_s, (k + 1) * width_s);
  for (int k = 1; k <= GRID / 2; k++)
    if (mser(means, k) < mser(means, best)) best = k;
  return fmin(fmax(best * width_s, residences_of_warmup * turn_s), run->until_s);
}

/* --- 3. growth --- */

/* Requests that left and are still there. */
static double arrivals_by(const Run *run, double at_s) {
  return left_by(run, at_s) + in_system_at(run, at_s);
}

/* Whether requests have come and gone long enough. In an overload their times in the system grow
 * with the run, also in the first quarter; so their mean is at most an eighth of it. */
static gboolean has_settled(const Run *run) {
  const guint n = left_by(run, run->until_s / 4);
  return n >= FEWEST_EARLY && run->until_s > PAST_START * residence(run, 0, n);
}

/* Whether the requests of the last quarter waited for most of the time that they were in the
 * system: then the engines are full, and this is not their start. */
static gboolean is_full(const Run *run) {
  const guint from = left_by(run, run->until_s * 3 / 4);
  double waited = 0, stayed = 0;
  for (guint i = from; i < run->n; i++) {
    waited += run->rows[i].row.queue_s;
    stayed += run->rows[i].left_s - run->rows[i].row.arrival_s;
  }
  return run->n - from >= FEWEST_EARLY && waited > stayed / 2;
}

/* Whether conversations have begun and ended long enough: their number grows from none for as long
 * as one lasts. Waits do not count: an overload's grow with the run. */
static gboolean has_chains(const Run *run) {
  double alone_s = 0;
  for (guint i = 0; i < run->n; i++)
    alone_s += run->rows[i].left_s - run->rows[i].row.arrival_s - run->rows[i].row.queue_s;
  const double more_s = (run->chain.requests - 1) * alone_s / run->n + run->chain.pauses_s;
  return run->until_s > PAST_START * more_s;
}

/* A quarter of the run; of a trace, which has waves, whole replays. */
static double quarter(const Run *run) {
  const double quarter_s = run->until_s / 4, period_s = run->cycle.period_s;
  return period_s > 0 ? fmax(floor(quarter_s / period_s), 1) * period_s : quarter_s;
}

/* The variance of the arrivals in an interval, of their mean: 1 for a Poisson process, 0 for a
 * constant rate, more for bursts (the index of dispersion for counts, Cox and Lewis 1966). A
 * conversation spreads its n requests over long intervals, in which it is E(n^2) / E(n) (a Poisson
 * cluster process, Daley and Vere-Jones 2003, 6.3). */
static double dispersion(const Run *run) {
  const double width_s = run->until_s / GRID, mean = arrivals_by(run, run->until_s) / GRID;
  double squares = 0, before = 0;
  for (int k = 1; k <= GRID; k++) {
    const double now = arrivals_by(run, k * width_s);
    squares += pow(now - before - mean, 2);
    before = now;
  }
  return fmax(squares / (GRID - 1) / mean, run->chain.bunching);
}

/* The standard error of arrivals and departures in which @arrived came. */
static double chance_of(const Run *run, double arrived) {
  return sqrt((1 + dispersion(run)) * arrived);
}

/* Per second, of an overload that the last two quarters of the run show; 0: none. Of a queue that
 * is full, arrivals and departures add to chance; and a run looks at itself many times. */
static double growth_early(const Run *run) {
  const double quarter_s = quarter(run), half_s = run->until_s - 2 * quarter_s;
  const double third_s = run->until_s - quarter_s;
  if (half_s < 0 || run->is_bounded) return 0;
  const double before = in_system_at(run, third_s) - in_system_at(run, half_s);
  const double now = in_system_at(run, run->until_s) - in_system_at(run, third_s);
  const double arrived = arrivals_by(run, run->until_s) - arrivals_by(run, half_s);
  const gboolean grows = now > overload_seen_early * arrived / 2 &&
                         before + now > sigmas_early * chance_of(run, arrived);
  /* at the start of a run that will be steady the growth falls from quarter to quarter; an overload
   * of one quarter alone is a wave */
  const gboolean lasts = now > 0.9 * before && before > now / 3;
  return grows && lasts && has_chains(run) && (has_settled(run) || is_full(run))
             ? (before + now) / (2 * quarter_s)
             : 0;
}

typedef struct {
  double per_s, error; /* of the slope of what batches hold, and its standard error */
  double relative;     /* growth over the window, of the mean */
} Slope;

static Slope slope_of(const double *values, double width_s) {
  const double middle = (BATCHES - 1) / 2.0;
  double sum = 0, slope = 0, squares = 0, left = 0;
  for (int k = 0; k < BATCHES; k++) {
    sum += values[k];
    slope += (k - middle) * values[k];
    squares += (k - middle) * (k - middle);
  }
  slope /= squares;
  for (int k = 0; k < BATCHES; k++)
    left += pow(values[k] - sum / BATCHES - slope * (k - middle), 2);
  const double error = sqrt(left / (BATCHES - 2) / squares);
  return (Slope){slope / width_s, error / width_s, sum > 0 ? slope * BATCHES / (sum / BATCHES) : 0};
}

static gboolean is_growth(Slope slope) {
  return slope.relative > growth_that_counts && slope.per_s > student_8 * slope.error;
}

/* Whether the load's own rate grows, by day or on a ramp, and explains the growth: by Little's law
 * the number over the rate is the time in the system, and only in an overload does that grow. */
static gboolean is_of_load(const double *means, const double *arrived, double width_s) {
  double stays[BATCHES];
  for (int k = 0; k < BATCHES; k++) stays[k] = means[k] / fmax(arrived[k], 1);
  return is_growth(slope_of(arrived, width_s)) &&
         slope_of(stays, width_s).relative <= growth_of_overload;
}

/* Whether conversations, which bring their requests over many batches, may have made the slope by
 * chance: for other loads the batches' errors decide. */
static gboolean is_wave(const Run *run, const OrrSteady *steady, double per_s) {
  const double arrived = arrivals_by(run, steady->end_s) - arrivals_by(run, steady->begin_s);
  return run->chain.bunching > 0 &&
         per_s * (steady->end_s - steady->begin_s) < sigmas * chance_of(run, arrived);
}

/* Of a window that is long enough. */
static void judge_slope(const Run *run, OrrSteady *steady) {
  const double width_s = (steady->end_s - steady->begin_s) / BATCHES;
  double means[BATCHES], arrived[BATCHES];
  for (int k = 0; k < BATCHES; k++) {
    const double from_s = steady->begin_s + k * width_s;
    means[k] = mean_between(run, from_s, from_s + width_s);
    arrived[k] = arrivals_by(run, from_s + width_s) - arrivals_by(run, from_s);
  }
  const Slope slope = slope_of(means, width_s);
  if (!run->is_bounded && slope.relative > growth_of_overload &&
      slope.per_s > student_8_sure * slope.error && !is_wave(run, steady, slope.per_s) &&
      !is_of_load(means, arrived, width_s))
    steady->growth_rps = slope.per_s;
  else if (!is_growth(slope))
    steady->state = ORR_STEADY_HOLDS;
}

/* --- 2. how long the window is --- */

typedef struct {
  double tokens, good, n; /* good: of n requests, those that met their objectives */
} Batch;

static int batch_at(const OrrSteady *steady, double at_s) {
  const double width_s = (steady->end_s - steady->begin_s) / BATCHES;
  return CLAMP((int)((at_s - steady->begin_s) / width_s), 0, BATCHES - 1);
}

static void fill_batches(const Run *run, const OrrServing *params, const OrrSteady *steady,
                         Batch *batches) {
  const guint end = left_by(run, steady->end_s);
  for (guint i = left_by(run, steady->begin_s); i < end; i++) {
    const OrrServedRequest *row = &run->rows[i];
    Batch *batch = &batches[batch_at(steady, row->left_s)];
    batch->tokens += (double)row->row.output_tokens;
    batch->n++;
    if (params->least_good > 0) batch->good += row->row.good;
  }
  for (guint i = run->unserved->len; i > 0; i--) {
    const double at_s = g_array_index(run->unserved, OrrUnserved, i - 1).at_s;
    if (at_s <= steady->begin_s) break;
    if (at_s <= steady->end_s) batches[batch_at(steady, at_s)].n++;
  }
}

static double half_interval(const double *values, double *ret_mean) {
  double sum = 0, squares = 0;
  for (int k = 0; k < BATCHES; k++) sum += values[k];
  for (int k = 0; k < BATCHES; k++) squares += pow(values[k] - sum / BATCHES, 2);
  *ret_mean = sum / BATCHES;
  return student_9 * sqrt(squares / (BATCHES - 1) / BATCHES);
}

/* The fraction of good requests, and its standard error: of a ratio of two sums over the batches
 * (Cochran 1977, 6.4), so that an empty batch says nothing. */
static double fraction_of(const Batch *batches, double *ret_error) {
  double good = 0, n = 0, squares = 0;
  for (int k = 0; k < BATCHES; k++) good += batches[k].good;
  for (int k = 0; k < BATCHES; k++) n += batches[k].n;
  for (int k = 0; k < BATCHES; k++) squares += pow(batches[k].good - good / n * batches[k].n, 2);
  *ret_error = sqrt(squares * BATCHES / (BATCHES - 1)) / n;
  return good / n;
}

/* Fills the margin; FALSE: the fraction within the objectives is within its error of the one asked
 * for. */
static gboolean judge_batches(const Run *run, const OrrServing *params, OrrSteady *steady) {
  Batch batches[BATCHES] = {0};
  double tokens[BATCHES], mean;
  fill_batches(run, params, steady, batches);
  for (int k = 0; k < BATCHES; k++) tokens[k] = batches[k].tokens;
  const double half = half_interval(tokens, &mean);
  steady->margin = mean > 0 ? half / mean : 0;
  if (params->least_good <= 0) return TRUE;
  const double fraction = fraction_of(batches, &steady->good_error);
  return fabs(fraction - params->least_good) >= student_9 * steady->good_error;
}

/* Requests in bunches determine a mean no better than fewer independent ones would. */
static double least_requests(const OrrServingWork *work) {
  const OrrServing *params = &work->params;
  const gboolean is_asked = params->metrics.window == ORR_WINDOW_STEADY;
  const double own = !is_asked ? FEWEST : params->requests > 0 ? (double)params->requests : LEAST;
  const double fraction = params->least_good < 1 ? fmax(params->least_good, loosest) : strictest;
  return (is_asked ? fmax(work->chain.bunching, 1) : 1) *
         (params->least_good > 0 ? fmax(own, LEAST_MISSES / (1 - fraction)) : own);
}

double orr_steady_longest(const OrrServingWork *work) { return MOST_TIMES * least_requests(work); }

static gboolean is_long(const Run *run, const OrrServingWork *work, OrrSteady *steady) {
  const double window_s = steady->end_s - steady->begin_s, turn_s = turn_of(run, steady);
  const gint64 n = (gint64)left_by(run, steady->end_s) - left_by(run, steady->begin_s);
  if ((double)n < least_requests(work) || window_s < residences * turn_s) return FALSE;
  return judge_batches(run, &work->params, steady) ||
         (window_s > most_residences * turn_s && (double)n > orr_steady_longest(work));
}

/* --- 4. a load that repeats itself --- */

/* Replays of a window that ends now; 0: the run is too short. Two residence times are the warm-up,
 * and one is compared. */
static double replays(const Run *run, const OrrSteady *steady) {
  const double period_s = run->cycle.period_s, start_s = 3 * steady->residence_s;
  const double least = fmax(ceil(residences * steady->residence_s / period_s),
                            ceil(FEWEST / (double)run->cycle.requests));
  const double late = floor((steady->end_s - fmax(start_s, steady->end_s / 2)) / period_s);
  if (late >= least) return late;
  return steady->end_s - start_s >= least * period_s ? least : 0;
}

/* Between the last two dates at which requests left, so that a window of whole replays begins
 * between two dates, too, with the same requests. */
static double between_last(const Run *run) {
  const double last_s = run->rows[run->n - 1].left_s;
  for (guint i = run->n - 1; i > 0; i--)
    if (run->rows[i - 1].left_s < last_s) return (run->rows[i - 1].left_s + last_s) / 2;
  return last_s;
}

/* The window is the last whole replays. */
static void judge_replays(const Run *run, const OrrServing *params, OrrSteady *steady) {
  steady->end_s = between_last(run);
  const double n = replays(run, steady), window_s = n * run->cycle.period_s;
  steady->begin_s = steady->end_s - window_s;
  if (n < 1) {
    steady->begin_s = fmin(residences_of_warmup * steady->residence_s, steady->end_s);
    return;
  }
  const double stay_s = steady->residence_s;
  const double growth = mean_between(run, steady->end_s - stay_s, steady->end_s) -
                        mean_between(run, steady->begin_s - stay_s, steady->begin_s);
  steady->in_system = mean_between(run, steady->begin_s, steady->end_s);
  judge_batches(run, params, steady);
  steady->good_error = NAN; /* its batches are other parts of the trace, not other draws */
  if (growth <= fmax(growth_that_counts * steady->in_system, 1))
    steady->state = ORR_STEADY_HOLDS;
  else if (growth >
           fmax(growth_of_overload * steady->in_system, sigmas * sqrt(2 * steady->in_system)))
    steady->growth_rps = growth / window_s;
}

static double at_clients(const Run *run, const OrrSteady *steady) {
  Run clients = *run;
  clients.of = 1;
  return mean_between(&clients, steady->begin_s, steady->end_s);
}

OrrSteady orr_steady_of(const OrrServingWork *work, double until_s) {
  const GArray *rows = work->requests;
  const OrrArrival *load = (const OrrArrival *)work->params.load.entry;
  Run run = {.rows = (const OrrServedRequest *)(const void *)rows->data,
             .n = rows->len,
             .until_s = until_s,
             .cycle = work->cycle,
             .is_bounded = load->is_bounded,
             .chain = work->chain,
             .unserved = work->unserved};
  OrrSteady steady = {.state = ORR_STEADY_SHORT, .end_s = until_s};
  run.n = left_by(&run, until_s);
  if (run.n < FEWEST) return steady;
  steady.residence_s = residence(&run, run.n / 2, run.n);
  steady.begin_s = warmup(&run, turn_of(&run, &steady));
  if (run.is_bounded) {
    steady.begin_s = last_left_by(&run, steady.begin_s);
    steady.end_s = last_turn(&run, steady.begin_s);
  }
  steady.in_system = mean_between(&run, steady.begin_s, until_s);
  steady.growth_rps = growth_early(&run);
  if (steady.growth_rps == 0 && run.cycle.period_s > 0)
    judge_replays(&run, &work->params, &steady);
  else if (steady.growth_rps == 0 && is_long(&run, work, &steady))
    judge_slope(&run, &steady);
  if (steady.growth_rps > 0) {
    steady.state = ORR_STEADY_GROWS;
    steady.begin_s = fmin(steady.begin_s, until_s / 2);
  }
  steady.at_clients = at_clients(&run, &steady);
  return steady;
}
