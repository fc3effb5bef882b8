/*
 * cost_narrow.c - compares rows with a cast in them and 16-bit rows at a narrow roofline.
 */
#include "calibration/cost/cost_tables.h"

#include "calibration/cost/cost_private.h"

static gboolean rows_cast(const OrrCostModel *model, const OrrOperator *op) {
  const OrrProfileConstants *c = model->constants;
  return op->kind == ORR_OPERATOR_GEMM && ((op->dtype == ORR_FP8 && c->fp8_row_launch_s > 0) ||
                                           (op->dtype == ORR_FP4 && c->fp4_row_launch_s > 0));
}

static double roofline_s(const OrrCostModel *model, const OrrOperator *op, OrrDtype dtype) {
  return orr_cost_gemm_roofline_s(model, dtype, (double)op->gemm.m, (double)op->gemm.n,
                                  (double)op->gemm.k);
}

static OrrCost modelled(const OrrCostModel *model, const OrrOperator *op) {
  const OrrDtype dtype = (OrrDtype)op->dtype;
  const double elements = (double)op->gemm.batch * (double)op->gemm.m * (double)op->gemm.k;
  const double bytes = elements * (orr_dtype_bytes(ORR_BF16) + orr_dtype_bytes(dtype));
  OrrOperator wide = *op, cast = orr_operator_memory("cast", (OrrPass)op->pass, ORR_BF16, bytes, 0);
  wide.dtype = ORR_BF16;
  cast.fleet = op->fleet;
  const double narrower = roofline_s(model, op, dtype) / roofline_s(model, op, ORR_BF16);
  return (OrrCost){orr_cost_sustained(model, &wide).time_s * narrower +
                       orr_cost_sustained(model, &cast).time_s,
                   ORR_HOW_MODELLED};
}

OrrCost orr_cost_narrow(const OrrCostModel *model, const OrrOperator *op) {
  const OrrCost rows = orr_cost_sustained(model, op);
  if (!rows_cast(model, op)) return rows;
  const OrrCost library = modelled(model, op);
  return library.time_s < rows.time_s ? library : rows;
}
