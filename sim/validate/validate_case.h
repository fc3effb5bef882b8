/*
 * validate_case.h - one row of a set's table, as a scenario to simulate and the values measured.
 */
#ifndef ORR_VALIDATE_CASE_H
#define ORR_VALIDATE_CASE_H

#include "sim/validate/validate_set.h"

G_BEGIN_DECLS

typedef struct {
  gint64 line;
  OrrNode *tree;
  char *texts[ORR_VALIDATE_N_TEXTS]; /* may be NULL, except the label */
  GArray *metrics;                   /* of const OrrField *, in the set's result table */
  GArray *measured;                  /* of double: the value of each metric */
  char *refused;                     /* why the row cannot be simulated; NULL: it can */
  char *part;                        /* of the set; may be NULL */
  gint64 n_gpus;                     /* that the row was measured on; 0: not given */
} OrrValidateCase;

OrrValidateCase *orr_validate_case_new(const OrrValidateSet *set, const OrrCsvLine *line);
void orr_validate_case_free(OrrValidateCase *one);

G_END_DECLS

#endif
