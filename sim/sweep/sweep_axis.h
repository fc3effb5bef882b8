/*
 * sweep_axis.h - an axis of a sweep: a path of the scenario, and the list of values to try.
 */
#pragma once

#include "sim/base/expression.h"
#include "sim/run/scenario.h"

typedef struct {
  char *name; /* the short name, if the path has one, else the path */
  char *path;
  OrrPlace place;
  GPtrArray *values; /* of OrrNode *: scalars, owned */
  GArray *numbers;   /* of double: the values as numbers */
  gboolean is_number;
  gboolean is_plain; /* a plain field of the workload, which can be assigned in place */
} OrrSweepAxis;

/* What the values of an axis can be computed from: "divisors-of: n-gpus". */
typedef struct {
  const OrrExpressionName *names; /* the facts (sweep_facts.h) */
  const OrrValue *values;         /* of the base scenario */
  guint n;
  const OrrScenario *base;
} OrrSweepAxisFacts;

/* @spec: a list, a map that describes a range, or "all". NULL with errors in @diags. */
OrrSweepAxis *orr_sweep_axis_new(const char *name, OrrPlace place, const OrrNode *spec,
                                 const OrrSweepAxisFacts *facts, OrrDiags *diags);
void orr_sweep_axis_free(OrrSweepAxis *axis);

/* The path of a short name; @name itself when it is not a short name. */
const char *orr_sweep_axis_path(const char *name);
