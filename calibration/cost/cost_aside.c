/*
 * cost_aside.c - reports which rows were excluded, and why (grid_odd.c and judge.c have the
 * rules).
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "calibration/profile/profile_nccl.h"

static char *time_text(double time_s) { return orr_quantity_format(time_s, ORR_UNIT_SECONDS); }

static char *why_text(const OrrGridAside *aside, const char *const axes[ORR_GRID_AXES],
                      double row_s) {
  if (isnan(aside->times_slower))
    return g_strdup("far from what its neighbours say, in a table whose rows often take less time "
                    "for more work");
  g_autofree char *witness = time_text(row_s / aside->times_slower);
  g_autofree char *work =
      aside->times_work == 1
          ? g_strdup_printf("at least as %s", aside->times_slower > 1 ? "large" : "small")
          : g_strdup_printf("of %.3g times the work", aside->times_work);
  return g_strdup_printf("one %s, %s=%.0f %s=%.0f %s=%.0f, takes %s", work, axes[0],
                         aside->witness[0], axes[1], aside->witness[1], axes[2], aside->witness[2],
                         witness);
}

static char *aside_text(const OrrGridAside *aside, const char *const axes[ORR_GRID_AXES],
                        double row_s) {
  g_autofree char *row = time_text(row_s), *why = why_text(aside, axes, row_s);
  return g_strdup_printf("excluded: the row here says %s, but %s", row, why);
}

char *orr_cost_gemm_aside(const OrrCostModel *model, OrrDtype dtype, double m, double n, double k) {
  static const char *const axes[] = {"m", "n", "k"};
  const OrrGrid *grid = orr_cost_build_gemm(model, dtype);
  const OrrGridAside *aside = grid ? orr_grid_aside_at(grid, (double[]){m, n, k}) : NULL;
  return aside ? aside_text(aside, axes,
                            exp(aside->value) * orr_cost_gemm_roofline_s(model, dtype, m, n, k))
               : NULL;
}

char *orr_cost_attention_aside(const OrrCostModel *model, const OrrOperator *op,
                               OrrDtype kv_dtype) {
  static const char *const axes[] = {"kv_heads", "batch", "length"};
  double point[ORR_GRID_AXES];
  OrrGridTrust trust;
  const OrrGrid *grid = orr_cost_attention_grid(model, op, kv_dtype, point);
  const OrrGridAside *aside = grid ? orr_grid_aside_at(grid, point) : NULL;
  if (!aside) return NULL;
  const double used_s = orr_cost_attention(model, op, kv_dtype).time_s;
  return aside_text(aside, axes, used_s * exp(aside->value - orr_grid_at(grid, point, &trust)));
}

/* --- counts --- */

typedef struct {
  GString *text;
  char *label; /* of the table that is counted; NULL: none yet */
  guint n_asides, n_rows;
} Counts;

static void finish_table(Counts *counts) {
  if (counts->n_asides > 0)
    g_string_append_printf(counts->text, "%s%s %u of %u", counts->text->len ? ", " : "",
                           counts->label, counts->n_asides, counts->n_rows);
  g_clear_pointer(&counts->label, g_free);
  counts->n_asides = counts->n_rows = 0;
}

/* Adds to the table of that label, which it takes; another label begins another table. */
static void count(Counts *counts, char *label, guint n_asides, guint n_rows) {
  if (g_strcmp0(counts->label, label) != 0) finish_table(counts);
  g_free(counts->label);
  counts->label = label;
  counts->n_asides += n_asides;
  counts->n_rows += n_rows;
}

static void count_kernels(const OrrCostModel *model, Counts *counts) {
  guint n_asides, n_rows;
  for (guint i = 0; model->profile && i < orr_profile_length(model->profile->gemm); i++) {
    const OrrGrid *grid = orr_cost_build_gemm_at(model, i);
    g_autofree char *label = orr_profile_gemm_label(model->profile->gemm->pdata[i]);
    if (grid)
      count(counts, g_strdup_printf("gemm %s", label), orr_grid_n_aside(grid),
            orr_grid_n_rows(grid));
  }
  for (int phase = 0; phase < ORR_N_PHASES; phase++)
    for (int d = 0; d < ORR_N_DTYPES; d++) {
      const GPtrArray *sizes = orr_cost_build_attention(model, (OrrProfilePhase)phase, (OrrDtype)d);
      for (guint i = 0; i < orr_profile_length(sizes); i++) {
        orr_cost_attention_count(sizes->pdata[i], &n_asides, &n_rows);
        count(counts,
              g_strdup_printf("%s %s", phase == ORR_PHASE_PREFILL ? "prefill" : "decode",
                              orr_dtype_names[d]),
              n_asides, n_rows);
      }
    }
  const GPtrArray *moe = orr_cost_build_moe(model);
  for (guint i = 0; i < moe->len; i++) {
    orr_cost_moe_count(moe->pdata[i], &n_asides, &n_rows);
    count(counts, g_strdup_printf("moe %s", orr_dtype_names[orr_cost_moe_dtype(moe->pdata[i])]),
          n_asides, n_rows);
  }
}

/* Whether rows @a and @b of the profile are of one kernel. */
static gboolean is_same_kernel(const OrrProfileLibrary *a, const OrrProfileLibrary *b) {
  return strcmp(a->library, b->library) == 0 && strcmp(a->op, b->op) == 0;
}

/* Tables whose rows need not follow one another are counted at their first row. */
static void count_libraries(const OrrCostModel *model, Counts *counts) {
  const GPtrArray *rows = model->profile ? model->profile->libraries : NULL;
  for (guint first = 0; first < orr_profile_length(rows); first++) {
    const OrrProfileLibrary *row = rows->pdata[first];
    guint n_asides, n_rows, before = 0;
    while (!is_same_kernel(rows->pdata[before], row)) before++;
    for (guint i = first; before == first && i < rows->len; i++) {
      if (!is_same_kernel(rows->pdata[i], row)) continue;
      orr_cost_library_count(model, i, &n_asides, &n_rows);
      count(counts, g_strdup_printf("%s %s", row->library, row->op), n_asides, n_rows);
    }
  }
}

char *orr_cost_asides(const OrrCostModel *model) {
  Counts counts = {.text = g_string_new(NULL)};
  guint n_asides, n_rows;
  count_kernels(model, &counts);
  for (guint i = 0; i < model->collectives->len; i++) {
    orr_cost_collective_count(model->collectives->pdata[i], &n_asides, &n_rows);
    count(&counts, g_strdup("collectives"), n_asides, n_rows);
  }
  count_libraries(model, &counts);
  finish_table(&counts);
  return g_string_free(counts.text, FALSE);
}
