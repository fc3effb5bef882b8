/*
 * extras.h - what a scenario uses beyond a plain run: speculation, offload, a fabric that is
 * oversubscribed. Measured rows without it say little about its error.
 */
#ifndef ORR_EXTRAS_H
#define ORR_EXTRAS_H

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

/* The extras in use, joined by '+', in a fixed order; "" for none. Interned. */
const char *orr_extras_of(const OrrScenario *scenario, const OrrOutcome *outcome);

/* A bit for each extra that @text names; and the name of the lowest bit in @bits. */
guint32 orr_extras_bits(const char *text);
const char *orr_extras_name(guint32 bits);

G_END_DECLS

#endif
