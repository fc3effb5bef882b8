/*
 * summary_plan_serving.h - the answer of orrery plan serving, as text and as JSON.
 */
#ifndef ORR_SUMMARY_PLAN_SERVING_H
#define ORR_SUMMARY_PLAN_SERVING_H

#include "sim/plan/plan_serving.h"

G_BEGIN_DECLS

/* What was found. */
typedef struct {
  const OrrPlanServing *asked;
  const GArray *layouts; /* of OrrPlanLayout */
  const GArray *ranked;  /* of guint: orr_plan_serving_rank */
  const OrrServingResult *fleet;
  const char *assumed;  /* the stack that was taken where none was named; NULL: one was */
  const char *currency; /* NULL: no prices */
  const char *launch;   /* NULL: none is known */
  const char *file;     /* the best layout's scenario */
  const char *db;       /* NULL: nothing is stored */
  gint64 run, fleet_run;
  guint n_known; /* layouts that an earlier search had answered */
  double seconds;
} OrrPlanServingAnswer;

/* The answer; then, when it is stored, where it is and what to run next. */
void orr_summary_plan_serving_print(const OrrPlanServingAnswer *answer);
void orr_summary_plan_serving_stored(const OrrPlanServingAnswer *answer);
void orr_summary_plan_serving_json(const OrrPlanServingAnswer *answer);

/* Why no layout serves it: the most frequent reasons. Newly allocated. */
char *orr_summary_plan_serving_reasons(const GArray *layouts);

G_END_DECLS

#endif
