/*
 * cost_missing.c - names the tables that a profile lacks, so that another table or the datasheet
 * stands in.
 */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"

void orr_cost_refuse_gaps(OrrCostModel *model) { model->refuses_gaps = TRUE; }

gboolean orr_cost_refuses_gaps(const OrrCostModel *model) { return model->refuses_gaps; }

char *orr_cost_missing(const OrrCostModel *model, const OrrOperator *op) {
  OrrDtype dtype = (OrrDtype)op->dtype;
  const gboolean is_decode = op->kind == ORR_OPERATOR_ATTENTION && op->attention.q_length == 1 &&
                             op->attention.kv_length > 1;
  switch ((OrrOperatorKind)op->kind) {
  case ORR_OPERATOR_GEMM:
    if (op->gemm.stored.weight_bytes > 0)
      return g_strdup_printf("gemm %s with weights of %.2g bytes", orr_dtype_names[dtype],
                             op->gemm.stored.weight_bytes);
    return orr_cost_gemm_holds(model, dtype) ? NULL
                                             : g_strdup_printf("gemm %s", orr_dtype_names[dtype]);
  case ORR_OPERATOR_ATTENTION:
    return orr_cost_attention_holds(model, is_decode ? ORR_PHASE_DECODE : ORR_PHASE_PREFILL, dtype)
               ? NULL
               : g_strdup_printf("attention %s %s", is_decode ? "decode" : "prefill",
                                 orr_dtype_names[dtype]);
  case ORR_OPERATOR_MOE:
    if (op->moe.stored.weight_bytes > 0)
      return g_strdup_printf("moe %s with weights of %.2g bytes", orr_dtype_names[dtype],
                             op->moe.stored.weight_bytes);
    return orr_cost_moe_holds(model, dtype) ? NULL
                                            : g_strdup_printf("moe %s", orr_dtype_names[dtype]);
  case ORR_OPERATOR_MEMORY:
    return orr_profile_length(model->kernels) > 0 ? NULL : g_strdup("memory-bound kernels");
  case ORR_OPERATOR_COMM: /* see orr_collective_plan */
    break;
  }
  return NULL;
}
