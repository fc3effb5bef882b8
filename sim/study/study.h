/*
 * study.h - variants of one scenario: what does it take with these changes?
 *
 *   tree of a variant -> scenario -> machine -> result      each in a process of its own
 */
#pragma once

#include "sim/run/simulate.h"

typedef struct {
  OrrLibrary *library;
  guint n;    /* variants */
  guint jobs; /* processes at once; 0: one per core */
  /* The tree of variant @index, which the caller owns: mostly a copy of the scenario's own with
   * changes. Called in the variant's process, for the first variant also in this one. NULL with
   * @error. */
  OrrNode *(*tree)(guint index, void *user, GError **error);
  const OrrRunWorld *world; /* the machine of all variants; NULL: each makes its own */
  gboolean is_brief;        /* the result alone, of a step shortened as far as it is steady */
  void (*progress)(guint n_done, void *user); /* may be NULL */
  gboolean (*stop)(void *user);               /* as in children.h; may be NULL */
  void *user;
} OrrStudy;

typedef struct {
  GError *error; /* NULL: fine. Of a variant that crashed or was killed: ORR_FAULT_RESOURCE */
  const OrrWorkloadKind *kind; /* NULL without an error: `stop` came first */
  OrrResult result;
  double seconds[ORR_N_TIMES]; /* training: a step by kind of time, mean over GPUs */
} OrrStudyAnswer;

/* Simulates the variants. Returns study->n answers, in their order: orr_study_free. */
OrrStudyAnswer *orr_study_run(const OrrStudy *study);
void orr_study_free(OrrStudyAnswer *answers, guint n); /* NULL is fine */
