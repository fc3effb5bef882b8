/*
 * fit_constants.c - derives constants from a profile's rows; fit.h lists them.
 */
#include "calibration/crossval/crossval.h"
#include "calibration/fit/fit.h"
#include "calibration/profile/profile_private.h"

/* Extremes over all rows; 0 where there are none. */
typedef struct {
  double shortest_s;
  double flops_fraction, bandwidth_fraction; /* of GEMM rows */
  double attention_fraction;
} Extremes;

static const double streaming_bytes = 256e6; /* several times any L2 */

static gboolean see_gemm_row(const OrrProfileGemm *table, const OrrProfileGemmRow *row,
                             const GArray *m, const OrrDevice *device, Extremes *extremes,
                             GError **error) {
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, error);
  double peak = orr_device_peak_flops(device, (OrrDtype)table->dtype);
  double operand = orr_dtype_bytes((OrrDtype)table->dtype), n = (double)row->n, k = (double)row->k;
  for (guint i = 0; us && i < MIN(us->len, m->len); i++) {
    double time_s = g_array_index(us, double, i) * 1e-6, rows = g_array_index(m, double, i);
    if (isnan(time_s)) continue;
    const double batch = (double)MAX(1, table->batch);
    double bytes = batch * (operand * (rows * k + n * k) + fmax(operand, 2) * rows * n);
    if (extremes->shortest_s <= 0 || time_s < extremes->shortest_s) extremes->shortest_s = time_s;
    if (peak > 0)
      extremes->flops_fraction =
          fmax(extremes->flops_fraction, 2 * batch * rows * n * k / time_s / peak);
    if (bytes >= streaming_bytes)
      extremes->bandwidth_fraction =
          fmax(extremes->bandwidth_fraction, bytes / time_s / device->memory_bytes_per_s);
  }
  return us != NULL;
}

static gboolean see_gemm(const OrrProfile *profile, const OrrDevice *device, Extremes *extremes,
                         GError **error) {
  for (guint t = 0; t < orr_profile_length(profile->gemm); t++) {
    const OrrProfileGemm *table = profile->gemm->pdata[t];
    g_autoptr(GArray) m = orr_profile_numbers(table->m, FALSE, error);
    if (!m) return FALSE;
    for (guint i = 0; i < table->rows->len; i++)
      if (!see_gemm_row(table, table->rows->pdata[i], m, device, extremes, error)) return FALSE;
  }
  return TRUE;
}

static gboolean see_attention_row(const OrrProfileAttention *table,
                                  const OrrProfileAttentionRow *row, const OrrDevice *device,
                                  Extremes *extremes, GError **error) {
  g_autoptr(GArray) batch = orr_profile_numbers(table->batch, FALSE, error);
  g_autoptr(GArray) length = batch ? orr_profile_numbers(table->length, FALSE, error) : NULL;
  g_autoptr(GArray) us = length ? orr_profile_numbers(row->us, TRUE, error) : NULL;
  double peak = orr_device_peak_flops(device, (OrrDtype)table->dtype);
  for (guint i = 0; us && peak > 0 && i < MIN(us->len, batch->len * length->len); i++) {
    double s = g_array_index(length, double, i % length->len),
           b = g_array_index(batch, double, i / length->len);
    double flops = 4 * b * (double)row->heads * s * (s + 1) / 2 * (double)row->head_dim;
    double time_s = g_array_index(us, double, i) * 1e-6;
    if (!isnan(time_s))
      extremes->attention_fraction = fmax(extremes->attention_fraction, flops / time_s / peak);
  }
  return us != NULL;
}

static gboolean see_attention(const OrrProfile *profile, const OrrDevice *device,
                              Extremes *extremes, GError **error) {
  for (guint t = 0; t < orr_profile_length(profile->attention); t++) {
    const OrrProfileAttention *table = profile->attention->pdata[t];
    for (guint i = 0; table->phase == ORR_PHASE_PREFILL && i < table->rows->len; i++)
      if (!see_attention_row(table, table->rows->pdata[i], device, extremes, error)) return FALSE;
  }
  return TRUE;
}

/* --- the line through the shortest all-reduces --- */

typedef struct {
  double n, x, y, xx, xy;
} Line;

static gboolean see_all_reduces(const OrrProfile *profile, Line *line, GError **error) {
  for (guint i = 0; i < orr_profile_length(profile->collectives); i++) {
    const OrrProfileCollective *row = profile->collectives->pdata[i];
    if (strcmp(row->op, "all_reduce") != 0 || row->ranks < 2) continue;
    g_autoptr(GArray) us = orr_profile_numbers(row->us, FALSE, error);
    if (!us) return FALSE;
    double steps = 2 * (double)(row->ranks - 1), shortest_s = INFINITY;
    ORR_EACH_VALUE(const double, value, us) shortest_s = fmin(shortest_s, value * 1e-6);
    *line = (Line){line->n + 1, line->x + steps, line->y + shortest_s, line->xx + steps * steps,
                   line->xy + steps * shortest_s};
  }
  return TRUE;
}

/* --- the weight of waves --- */

static gboolean wave_error(OrrProfile *profile, const OrrDevice *device, double weight,
                           double *ret_mape, GError **error) {
  profile->constants.gemm_wave_share = weight;
  g_autoptr(GPtrArray) tables = orr_crossval_run(profile, device, "gemm", error);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH_POINTER(const OrrCrossvalTable, table, tables) {
    ORR_EACH(const OrrCrossvalPoint, point, table->points)
      ORR_APPEND(errors, double, point->modelled_s / point->measured_s - 1);
  }
  *ret_mape = orr_errors_of(errors).mape;
  return tables != NULL;
}

static gboolean fit_wave_share(OrrProfile *profile, const OrrDevice *device, double *ret_mape,
                               GError **error) {
  double best = 0, best_mape = INFINITY;
  for (int i = 0; i <= 4; i++) {
    double mape, weight = i * 0.25;
    if (!wave_error(profile, device, weight, &mape, error)) return FALSE;
    if (mape >= best_mape) continue;
    best = weight;
    best_mape = mape;
  }
  profile->constants.gemm_wave_share = best;
  *ret_mape = best_mape;
  return TRUE;
}

/* --- the section --- */

/* "  KEY: VALUE UNIT" to @keys, "KEY: HOW" to @source. */
static void add(GString *keys, GString *source, const char *key, double value, const char *unit,
                const char *how) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd(buffer, sizeof buffer, "%.4g", value);
  g_string_append_printf(keys, "  %s: %s%s\n", key, buffer, unit);
  g_string_append_printf(source, "    %s: %s.\n", key, how);
}

static void add_efficiencies(OrrProfileConstants *constants, const Extremes *extremes,
                             GString *keys, GString *source) {
  if (extremes->flops_fraction > 0) {
    constants->gemm_efficiency = CLAMP(extremes->flops_fraction, 0.01, 1);
    add(keys, source, "gemm-efficiency", 100 * constants->gemm_efficiency, " %",
        "the best GEMM row, of its peak");
  }
  if (extremes->bandwidth_fraction > 0) {
    constants->memory_efficiency = CLAMP(extremes->bandwidth_fraction, 0.01, 1);
    add(keys, source, "memory-efficiency", 100 * constants->memory_efficiency, " %",
        "the best GEMM row of 256 MB or more, of the memory bandwidth");
  }
  if (extremes->attention_fraction > 0) {
    constants->attention_efficiency = CLAMP(extremes->attention_fraction, 0.01, 1);
    add(keys, source, "attention-efficiency", 100 * constants->attention_efficiency, " %",
        "the best prefill row, of its peak");
  }
}

static void add_line(OrrProfileConstants *constants, const Line *line, GString *keys,
                     GString *source) {
  double spread = line->n * line->xx - line->x * line->x;
  if (line->n < 2 || spread <= 0) return;
  double step_s = (line->n * line->xy - line->x * line->y) / spread,
         launch_s = (line->y - step_s * line->x) / line->n;
  if (step_s <= 0 || launch_s <= 0) return;
  constants->collective_launch_s = launch_s;
  constants->scale_up_step_s = step_s;
  add(keys, source, "collective-launch", launch_s * 1e6, " us",
      "the line through the shortest all-reduce of each number of ranks over 2 (n - 1) steps");
  add(keys, source, "scale-up-step", step_s * 1e6, " us", "the slope of that line");
}

/* What the profile has no constant for: products beside copies within the device, and NCCL held to
 * few thread blocks. */
static void add_other_ratios(const OrrFitOverlap *overlap, GString *source) {
  const OrrFitRatio *compute = &overlap->by[ORR_FIT_COMPUTE][ORR_FIT_MEMORY],
                    *memory = &overlap->by[ORR_FIT_MEMORY][ORR_FIT_COMPUTE];
  if (compute->n && memory->n)
    g_string_append_printf(source,
                           "    During copies within the device products take %.3g times as long, "
                           "and the copies %.3g times. Neither is applied.\n",
                           compute->mean, memory->mean);
  for (guint i = 0; i < overlap->n_limited; i++) {
    const OrrFitLimited *it = &overlap->limited[i];
    if (!it->compute.n || !it->comm.n || !it->alone.n) continue;
    g_string_append_printf(source,
                           "    With NCCL held to %.0f thread blocks products take %.3g times as "
                           "long, all-reduces %.3g times beside products and %.3g times alone. Not "
                           "applied.\n",
                           it->blocks, it->compute.mean, it->comm.mean, it->alone.mean);
  }
}

/* Written only where it was measured: a default in the file would look like a measurement. */
static void add_overlap(OrrProfileConstants *constants, const OrrFitOverlap *overlap, GString *keys,
                        GString *source) {
  OrrInterference *it = &constants->interference;
  const struct {
    const char *key, *watched, *companion;
    OrrFitKind a, b;
    double *to;
  } factors[] = {
      {"overlap-slowdown", "matrix products", "all-reduces", ORR_FIT_COMPUTE, ORR_FIT_COMM,
       &it->compute_by_comm},
      {"overlap-slowdown-by-copy", "matrix products", "copies to and from the host",
       ORR_FIT_COMPUTE, ORR_FIT_COPY, &it->compute_by_copy},
      {"collective-slowdown", "all-reduces", "matrix products", ORR_FIT_COMM, ORR_FIT_COMPUTE,
       &it->comm_by_compute},
      {"collective-slowdown-by-copy", "all-reduces", "copies to and from the host", ORR_FIT_COMM,
       ORR_FIT_COPY, &it->comm_by_copy},
      {"copy-slowdown", "copies to and from the host", "matrix products", ORR_FIT_COPY,
       ORR_FIT_COMPUTE, &it->copy_by_compute},
      {"copy-slowdown-by-collective", "copies to and from the host", "all-reduces", ORR_FIT_COPY,
       ORR_FIT_COMM, &it->copy_by_comm},
  };
  for (guint i = 0; i < G_N_ELEMENTS(factors); i++) {
    const OrrFitRatio *ratio = &overlap->by[factors[i].a][factors[i].b];
    if (ratio->n == 0) {
      g_string_append_printf(source, "    %s: assumed 1, no row of %s during %s.\n", factors[i].key,
                             factors[i].watched, factors[i].companion);
      continue;
    }
    *factors[i].to = CLAMP(ratio->mean, 1, 4);
    g_autofree char *how =
        g_strdup_printf("measured: the mean of %u rows of %s during %s, each over the same alone",
                        ratio->n, factors[i].watched, factors[i].companion);
    add(keys, source, factors[i].key, *factors[i].to, "", how);
  }
  add_other_ratios(overlap, source);
}

char *orr_fit_constants(OrrProfile *profile, const OrrDevice *device, const OrrFitOverlap *overlap,
                        GError **error) {
  Extremes extremes = {0};
  Line line = {0};
  g_autoptr(GString) keys = g_string_new(NULL), source = g_string_new(NULL);
  if (!see_gemm(profile, device, &extremes, error) ||
      !see_attention(profile, device, &extremes, error) || !see_all_reduces(profile, &line, error))
    return NULL;
  if (extremes.shortest_s > 0) {
    profile->constants.kernel_overhead_s = extremes.shortest_s;
    add(keys, source, "kernel-overhead", extremes.shortest_s * 1e6, " us", "the shortest GEMM row");
  }
  add_efficiencies(&profile->constants, &extremes, keys, source);
  if (orr_profile_length(profile->gemm)) {
    double mape;
    if (!fit_wave_share(profile, device, &mape, error)) return NULL;
    g_autofree char *how = g_strdup_printf(
        "least mean error on products left out, %.1f %%, of 0, 0.25, 0.5, 0.75, 1", 100 * mape);
    add(keys, source, "gemm-wave-share", profile->constants.gemm_wave_share, "", how);
  }
  add_line(&profile->constants, &line, keys, source);
  add_overlap(&profile->constants, overlap, keys, source);
  if (!keys->len) return g_strdup(""); /* no constant was found: all are defaults */
  return g_strdup_printf(
      "constants:\n%s  source: >\n    Found by orrery calibrate fit; all others are defaults.\n%s",
      keys->str, source->str);
}
