/*
 * query_module.h - queries of sparse and linear attention, by the names of the tables that they
 * were measured in. Texts are GQuarks in doubles, 0 where absent. For query.c alone.
 */
#ifndef ORR_QUERY_MODULE_H
#define ORR_QUERY_MODULE_H

#include "calibration/cost/cost.h"

G_BEGIN_DECLS

/* The order of the values. */
enum {
  ORR_SPARSE_OP,
  ORR_SPARSE_SYSTEM,
  ORR_SPARSE_ENGINE,
  ORR_SPARSE_KERNEL,
  ORR_SPARSE_MODEL,
  ORR_SPARSE_WEIGHTS,
  ORR_SPARSE_CACHE,
  ORR_SPARSE_MODE,
  ORR_SPARSE_HEADS,
  ORR_SPARSE_BATCH,
  ORR_SPARSE_QUERIES,
  ORR_SPARSE_BEFORE
};
enum {
  ORR_LINEAR_SYSTEM,
  ORR_LINEAR_ENGINE,
  ORR_LINEAR_KERNEL,
  ORR_LINEAR_PHASE,
  ORR_LINEAR_BATCH,
  ORR_LINEAR_TOKENS,
  ORR_LINEAR_KEY_HEADS,
  ORR_LINEAR_VALUE_HEADS,
  ORR_LINEAR_STATE,
  ORR_LINEAR_HEADS,
  ORR_LINEAR_GROUPS
};

OrrCost orr_query_module_sparse(const OrrCostModel *cost, const char *name, const double *values);
OrrCost orr_query_module_linear(const OrrCostModel *cost, const char *name, const double *values);
/* What is wrong with them; NULL: nothing. */
const char *orr_query_module_refuse_sparse(const double *values);
const char *orr_query_module_refuse_linear(const double *values);

G_END_DECLS

#endif
