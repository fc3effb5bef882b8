/*
 * inputs_private.h - what the inputs*.c files share; no other file includes it.
 */
#ifndef ORR_INPUTS_PRIVATE_H
#define ORR_INPUTS_PRIVATE_H

#include "sim/bands/inputs.h"
#include "sim/study/study.h"

G_BEGIN_DECLS

struct OrrInputs {
  GPtrArray *uncertain; /* of OrrUncertain *, the scenario's */
  guint n;              /* replays */
  double *values;       /* [r * uncertain->len + i], in base units */
  OrrStudyAnswer *replays;
};

G_END_DECLS

#endif
