/*
 * cost_aside.c - reports which rows of products were set aside, and why (grid_odd.c has the rules).
 */
#include <math.h>

#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

static char *time_text(double time_s) { return orr_quantity_format(time_s, ORR_UNIT_SECONDS); }

static char *why_text(const OrrGridAside *aside, double row_s) {
  if (isnan(aside->times_slower))
    return g_strdup("far from what its neighbours say, in a table whose rows often take less time "
                    "for more work");
  g_autofree char *witness = time_text(row_s / aside->times_slower);
  return g_strdup_printf("a product at least as %s, m=%.0f n=%.0f k=%.0f, takes %s",
                         aside->times_slower > 1 ? "large" : "small", aside->witness[0],
                         aside->witness[1], aside->witness[2], witness);
}

char *orr_cost_gemm_aside(const OrrCostModel *model, OrrDtype dtype, double m, double n, double k) {
  const OrrGrid *grid = orr_cost_build_gemm(model, dtype);
  const OrrGridAside *aside = grid ? orr_grid_aside_at(grid, (double[]){m, n, k}) : NULL;
  if (!aside) return NULL;
  const double row_s = exp(aside->value) * orr_cost_gemm_roofline_s(model, dtype, m, n, k);
  g_autofree char *row = time_text(row_s), *why = why_text(aside, row_s);
  return g_strdup_printf("set aside: the row here says %s, but %s", row, why);
}

char *orr_cost_asides(const OrrCostModel *model) {
  GString *text = g_string_new(NULL);
  for (int d = 0; d < ORR_N_DTYPES; d++) {
    const OrrGrid *grid = orr_cost_build_gemm(model, (OrrDtype)d);
    if (grid && orr_grid_n_aside(grid) > 0)
      g_string_append_printf(text, "%sgemm %s %u of %u", text->len ? ", " : "", orr_dtype_names[d],
                             orr_grid_n_aside(grid), orr_grid_n_rows(grid));
  }
  return g_string_free(text, FALSE);
}
