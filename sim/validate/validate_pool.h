/*
 * validate_pool.h - simulates cases in processes of their own, several at once.
 */
#ifndef ORR_VALIDATE_POOL_H
#define ORR_VALIDATE_POOL_H

#include "sim/run/simulate.h"
#include "sim/validate/validate.h"
#include "sim/validate/validate_case.h"

G_BEGIN_DECLS

typedef struct {
  gboolean ok;
  gboolean failed; /* the simulation crashed, was killed, or could not finish */
  char *reason;    /* why not ok */
  OrrResult result;
  char *time_parts, *memory_parts; /* explanations */
  char *engine, *fidelity;
  char *stack; /* of the row's scenario: orr_scenario_stack_name */
  OrrLikenessRow likeness;
} OrrValidateAnswer;

void orr_validate_answer_free(OrrValidateAnswer *answer);

/* Simulates @cases (OrrValidateCase *), @jobs at once (0: one per core). Returns an
 * OrrValidateAnswer * for each, in the order of @cases. */
GPtrArray *orr_validate_pool_run(OrrLibrary *library, GPtrArray *cases, guint jobs,
                                 OrrValidationProgress progress, void *user);

G_END_DECLS

#endif
