/*
 * dialect_rollouts.h - what launchers of post-training decide alike (dialect_rollouts.c), for those
 * that have more to say.
 */
#ifndef ORR_DIALECT_ROLLOUTS_H
#define ORR_DIALECT_ROLLOUTS_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

/* Completes the draft of the launcher whose settings it has. */
void orr_dialect_rollouts_finish(OrrLaunchDraft *draft);
/* Converts the settings of @chosen, keys separated by blanks whose rules are `later`; the settings
 * of @other are irrelevant, because of @why. */
void orr_dialect_rollouts_choose(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect,
                                 const char *chosen, const char *other, const char *why);

G_END_DECLS

#endif
