/*
 * gang_phases.h - a job whose speed changes while it runs: one that raises its batch size as its
 * gradients allow does more samples in the same time.
 *
 *   phases of a trace: 0.25:1.5|0.75:2      1 |        _______
 *                                             |   ____|       1.5, then 2 times the first speed
 *                                             |__|______________
 *                                              0 .25  .75     1   of its work
 *
 * The run time in the trace is the one at the first speed; the job takes the sum of width / speed
 * of it. A scheduler does not know what is to come: it sees the work that is left at the present
 * speed.
 */
#ifndef ORR_GANG_PHASES_H
#define ORR_GANG_PHASES_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  double from, speed; /* from this fraction of the work on; relative to the first */
} OrrGangPhase;

typedef struct OrrGangPhases {
  guint n;
  OrrGangPhase *at; /* the first from 0, at speed 1 */
} OrrGangPhases;

/* "FROM:SPEED|FROM:SPEED|...", FROM rising within (0, 1), SPEED above 0. NULL: the text is not of
 * this form. */
OrrGangPhases *orr_gang_phases_read(const char *text);
void orr_gang_phases_free(OrrGangPhases *phases);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrGangPhases, orr_gang_phases_free)

/* Its run time over that at the first speed. */
double orr_gang_phases_time(const OrrGangPhases *phases);
/* Where it is once @left of this run time (again over that at the first speed) is left. */
guint orr_gang_phases_index(const OrrGangPhases *phases, double left);
/* The run time that is left as a scheduler sees it: all of its work at the present speed. */
double orr_gang_phases_seen(const OrrGangPhases *phases, double left);

G_END_DECLS

#endif
