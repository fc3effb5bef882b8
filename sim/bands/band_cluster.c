/*
 * band_cluster.c - bands of the waits, completion times and makespan of a cluster of jobs: the
 * error of the jobs' speeds, propagated through the scheduler.
 *
 * A job takes the time that its trace states, which somebody measured, times
 *
 *   slow = step on its place / step on the reference                       (gang_speed_steps.c)
 *
 * so what the simulation adds is time on the network: as far off as an all-reduce of 256 MiB over
 * the nodes of the largest gang that its place changes. With a factor f from its band's low end to
 * its high end
 *
 *   slow'(1)     = slow(1) + n (f - 1),  n = max |slow(1) - 1|, slow(1/2) - slow(1)
 *   slow'(1 / k) = slow'(1) + f (slow(1 / k) - slow(1))                    k = 2, 4
 *
 * n is what the place adds or, where much of its communication is hidden, what as much again would
 * add. A gang that no place changes takes its traced time; none becomes faster than there. The
 * whole trace is run again with f at either end for all jobs together: one network model is off in
 * one direction on one machine, and errors that were independent would cancel over many jobs,
 * which nothing measured says. Classes of places that the run has replayed are not replayed again.
 *
 * More time can shorten a wait (Graham 1969, SIAM Journal on Applied Mathematics 17), so a bound is
 * the least or the most of the three runs.
 */

#include "sim/base/children.h"
#include "sim/bands/band_private.h"
#include "workloads/cluster_jobs/cluster_jobs.h"

#define PROBE_BYTES (256.0 * 1024 * 1024)

static const char *const metrics[] = {"wait_mean_s", "wait_p50_s", "wait_p95_s",
                                      "wait_p99_s",  "jct_mean_s", "jct_p50_s",
                                      "jct_p95_s",   "jct_p99_s",  "makespan_s"};

/* --- Paces that are off --- */

static gboolean is_changed(double slow) { return fabs(slow - 1) > 1e-9; }

OrrGangPace orr_band_cluster_scaled(const OrrGangPace *pace, double factor) {
  OrrGangPace scaled = *pace;
  const double *slow = pace->slow;
  const double added = fmax(fabs(slow[0] - 1), slow[1] - slow[0]);
  if (is_changed(slow[0])) scaled.slow[0] = fmax(slow[0] + added * (factor - 1), fmin(slow[0], 1));
  for (int i = 1; i < ORR_GANG_N_FREES; i++)
    scaled.slow[i] = scaled.slow[0] + factor * (slow[i] - slow[0]);
  return scaled;
}

/* A kind of speed that knows the run's classes of places and asks the scenario's own for others. */
typedef struct {
  const OrrGangSpeedKind *own;
  const void *own_params;
  const GArray *places; /* of OrrClusterPlaceRow */
  double factor;
} Off;

/* Rows do not say how many GPUs an elastic gang asked for, so such gangs are replayed again. */
static gboolean is_class(const OrrClusterPlaceRow *row, const OrrGangClass *place) {
  return place->asked == place->gpus && row->gpus == place->gpus &&
         row->leaves == (gint64)place->leaves && row->most_in_leaf == place->most_in_leaf &&
         g_str_equal(row->level, orr_gang_level_words[place->level]) &&
         g_strcmp0(row->model, place->model ? place->model : "") == 0;
}

static gboolean pace_off(const void *params, const OrrWorld *world, const OrrGangClass *place,
                         OrrGangPace *ret_pace, GError **error) {
  const Off *off = params;
  OrrGangPace pace = {.watts = NAN};
  gboolean is_known = FALSE;
  for (guint i = 0; i < off->places->len && !is_known; i++) {
    const OrrClusterPlaceRow *row = &g_array_index(off->places, OrrClusterPlaceRow, i);
    is_known = is_class(row, place);
    if (is_known)
      pace = (OrrGangPace){{row->slow, row->slow_half, row->slow_quarter}, row->uplink, row->watts};
  }
  if (!is_known && !off->own->pace(off->own_params, world, place, &pace, error)) return FALSE;
  *ret_pace = orr_band_cluster_scaled(&pace, off->factor);
  return TRUE;
}

static gboolean resized_off(const void *params, const OrrWorld *world, const OrrGangClass *place,
                            double *ret_speed, GError **error) {
  const Off *off = params;
  return off->own->resized(off->own_params, world, place, ret_speed, error);
}

/* --- The trace again --- */

typedef struct {
  OrrLibrary *library;
  const OrrScenario *scenario;
  const OrrOutcome *outcome;
  double factors[2];
} Again;

static GBytes *work(guint index, void *user, GError **error) {
  const Again *again = user;
  const OrrClusterJobs *own = again->scenario->workload.params;
  const OrrGangSpeedKind *kind = (const OrrGangSpeedKind *)(gconstpointer)own->speed.entry;
  Off off = {kind, own->speed.params, again->outcome->cluster_places, again->factors[index]};
  const OrrGangSpeedKind speed = {
      .entry = kind->entry, .pace = pace_off, .resized = kind->resized ? resized_off : NULL};
  OrrClusterJobs params = *own;
  params.speed = (OrrChoice){.entry = &speed.entry, .params = &off};
  OrrScenario scenario = *again->scenario;
  scenario.workload.params = &params;
  g_autoptr(OrrOutcome) outcome = orr_simulate(again->library, &scenario, FALSE, error);
  return outcome ? g_bytes_new(&outcome->result.cluster, sizeof outcome->result.cluster) : NULL;
}

gboolean orr_band_cluster_ends(OrrLibrary *library, const OrrScenario *scenario,
                               const OrrOutcome *outcome, double low, double high,
                               OrrClusterResult ret_ends[2], GError **error) {
  Again again = {library, scenario, outcome, {low, high}};
  const OrrChildren children = {.n = 2, .work = work, .user = &again};
  return orr_children_collect(&children, sizeof *ret_ends, ret_ends, NULL, error);
}

/* --- How far off the network is --- */

/* The largest gang that its place changes; 0: none. */
static gint64 largest_changed(const OrrOutcome *outcome) {
  gint64 most = 0;
  ORR_EACH(const OrrClusterPlaceRow, row, outcome->cluster_places)
    if (is_changed(row->slow) || row->slow_quarter > row->slow) most = MAX(most, row->gpus);
  return most;
}

/* NULL: some simulated speed is in the answer. */
static const char *why_none(const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrClusterJobs *params = scenario->workload.params;
  const OrrGangSpeedKind *kind = (const OrrGangSpeedKind *)(gconstpointer)params->speed.entry;
  const char *why = kind->why_no_band ? kind->why_no_band(params->speed.params) : NULL;
  if (why) return why;
  return largest_changed(outcome) > 0 ? NULL : "every gang ran at the trace's speed";
}

static OrrBand network_band(OrrLibrary *library, const OrrScenario *scenario,
                            const OrrOutcome *outcome, double level) {
  const char *why = why_none(scenario, outcome);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrBands) bands = why ? NULL : orr_bands_new(library, "collectives", &error);
  if (!bands) return orr_band_none(level, why ? why : "the measured rows cannot be read");
  const OrrLikenessRow likeness =
      orr_likeness_of_all_reduce(scenario, outcome, largest_changed(outcome), PROBE_BYTES);
  const OrrBandQuestion question = {.likeness = &likeness, .metric = "time_s", .level = level};
  OrrBand band = orr_bands_ask(bands, &question, NULL);
  g_autofree char *reason =
      g_strdup_printf("the time that a placement adds is assumed to be as far off as an all-reduce "
                      "over %ld GPUs%s%s",
                      largest_changed(outcome), *band.reason ? ": " : "", band.reason);
  band.reason = g_intern_string(reason);
  return band;
}

/* --- Rows --- */

static double value_in(const OrrOutcome *outcome, const OrrClusterResult *result,
                       const char *metric) {
  OrrOutcome other = *outcome;
  if (result) other.result.cluster = *result;
  return orr_band_result_value(&other, metric);
}

static void add_row(const OrrBand *band, const char *metric, const OrrClusterResult *ends,
                    OrrOutcome *outcome) {
  const double value = value_in(outcome, NULL, metric);
  if (isnan(value)) return;
  const gboolean is_none = band->quality == ORR_BAND_NONE;
  double low = NAN, high = NAN;
  if (!is_none) {
    const double a = value_in(outcome, &ends[0], metric), b = value_in(outcome, &ends[1], metric);
    low = fmin(value, fmin(a, b));
    high = fmax(value, fmax(a, b));
  }
  const OrrBandQuality quality = is_none ? ORR_BAND_NONE : ORR_BAND_WEAK;
  ORR_APPEND(outcome->bands, OrrBandRow,
             {.metric = (char *)metric,
              .value = value,
              .low = low,
              .high = high,
              .expected = is_none ? NAN : value,
              .level = band->level,
              .rows = band->n_rows,
              .bias = NAN,
              .sided = NAN,
              .quality = (char *)orr_band_quality_words[quality],
              .reason = (char *)band->reason,
              .rests_on = (char *)""});
}

void orr_band_cluster_add(OrrLibrary *library, const OrrScenario *scenario, OrrOutcome *outcome,
                          double level) {
  OrrClusterResult ends[2];
  g_autoptr(GError) error = NULL;
  OrrBand band = network_band(library, scenario, outcome, level);
  if (band.quality != ORR_BAND_NONE &&
      !orr_band_cluster_ends(library, scenario, outcome, band.low, band.high, ends, &error))
    band = orr_band_none(level, g_intern_string(error->message));
  for (guint i = 0; i < G_N_ELEMENTS(metrics); i++) add_row(&band, metrics[i], ends, outcome);
}
