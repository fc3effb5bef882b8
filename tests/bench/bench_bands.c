/*
 * bench_bands - processor time that error bands add to a run: reading the measured rows of its kind
 * of workload and asking for every result's band; and for one ratio's, as `compare` asks.
 */
#include <string.h>
#include <time.h>

#include "sim/bands/band_private.h"
#include "tests/bench/benchmark.h"

typedef struct {
  OrrLibrary *library;
  const char *kind;
} Ask;

static double milliseconds(clock_t begin) {
  return 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC;
}

static OrrBands *read_bands(const Ask *ask) {
  g_autoptr(GError) error = NULL;
  OrrBands *bands = orr_bands_new(ask->library, ask->kind, &error);
  bench_check(error);
  return bands;
}

/* The likeness of a measured row in the middle of the file. */
static OrrLikenessRow some_likeness(const Ask *ask) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = orr_residuals_path(ask->library, ask->kind);
  g_autoptr(OrrResiduals) residuals = orr_residuals_read(path, &error);
  bench_check(error);
  return g_array_index(residuals->rows, OrrResidual, residuals->rows->len / 2).likeness;
}

static double of_run(gconstpointer data) {
  const Ask *ask = data;
  const OrrLikenessRow likeness = some_likeness(ask);
  const clock_t begin = clock();
  g_autoptr(OrrBands) bands = read_bands(ask);
  OrrBandBase bases[ORR_N_QUANTITIES] = {{0}}; /* as orr_bands_add finds the rows of each once */
  for (const OrrBandMetric *metric = orr_band_metrics; metric->kind; metric++) {
    const OrrBandQuestion question = {
        .likeness = &likeness, .metric = metric->metric, .level = ORR_BAND_LEVEL};
    OrrBandBase *base = &bases[metric->quantity];
    if (strcmp(metric->kind, ask->kind) != 0) continue;
    if (!base->near) orr_band_base_init(base, bands, &question, metric->quantity);
    orr_band_of_base(bands, &question, metric, base, NULL);
  }
  for (guint i = 0; i < ORR_N_QUANTITIES; i++) orr_band_base_clear(&bases[i]);
  return milliseconds(begin);
}

static double of_ratio(gconstpointer data) {
  const Ask *ask = data;
  OrrLikenessRow likeness = some_likeness(ask), other = likeness;
  g_autoptr(OrrBands) bands = read_bands(ask);
  other.tp = 2 * other.tp;
  const OrrBandQuestion question = {
      .likeness = &likeness, .metric = "tpot_mean_s", .level = ORR_BAND_LEVEL};
  const clock_t begin = clock();
  orr_bands_ask_ratio(bands, &question, &other, 1.1);
  return milliseconds(begin);
}

static double median_of(BenchBody body, const Ask *ask) {
  double values[BENCH_TRIES];
  for (guint i = 0; i < BENCH_TRIES; i++) values[i] = bench_in_child(body, ask);
  return bench_median(values, BENCH_TRIES);
}

int main(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  static const char *const kinds[] = {"training", "serving", "collectives"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    const Ask ask = {library, kinds[i]};
    g_autofree char *what = g_strdup_printf("bands: every result of a run of %s", kinds[i]);
    bench_row(what, median_of(of_run, &ask), "ms of a processor");
  }
  bench_row("bands: one ratio of serving runs", median_of(of_ratio, &(Ask){library, "serving"}),
            "ms of a processor");
  return 0;
}
