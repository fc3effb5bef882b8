/*
 * sweep_plan.h - a scenario's sweep: section, read and checked: axes, names, constraints,
 * objectives.
 *
 * Expressions refer to names by their slot in `names`, in this order:
 *
 *   0             first_axis                        first_result     first_derived
 *   | facts       | axes by name | axes by path     | results        | derived
 */
#pragma once

#include "sim/run/answer/kinds.h"
#include "sim/sweep/sweep.h"

typedef struct {
  OrrExpression *expression;
  gboolean after;    /* uses results, so it is evaluated after the simulation */
  gboolean maximize; /* of an objective */
  char *text;        /* as the document has it: "maximize tokens_per_s" */
} OrrSweepRule;

typedef struct {
  char *file;
  OrrLibrary *library;
  OrrNode *tree;     /* the scenario without its sweep: section */
  OrrScenario *base; /* the same, read */
  OrrSweepSection section;
  char *hash;      /* of base and section; identifies the sweep for --resume */
  char *resolved;  /* base and section as text */
  GPtrArray *axes; /* of OrrSweepAxis */
  GArray *names;   /* of OrrExpressionName */
  guint n_axes, first_axis, first_result, first_derived;
  const OrrRunKind *kind;
  GPtrArray *wheres;     /* of OrrSweepRule */
  GPtrArray *objectives; /* of OrrSweepRule; at least one */
  guint64 n_combinations;
  int schedule_axis, chunks_axis; /* -1: not an axis */
  gboolean whole_steps;           /* replay every micro-batch of a step */
  gboolean dp_is_open;            /* dp follows from the GPUs and tp, pp and cp */
} OrrSweepPlan;

/* Reads the sweep of @file after applying @settings ("path=value"; may be NULL). NULL with errors
 * in @diags or @error. */
OrrSweepPlan *orr_sweep_plan_new(OrrLibrary *library, const char *file, char **settings,
                                 OrrDiags *diags, GError **error);
void orr_sweep_plan_free(OrrSweepPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepPlan, orr_sweep_plan_free)
