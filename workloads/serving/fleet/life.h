/*
 * life.h - which replicas of a fleet are there, and what becomes of those that are not.
 */
#ifndef ORR_LIFE_H
#define ORR_LIFE_H

#include "workloads/serving/serving_private.h"

G_BEGIN_DECLS

/* Whether replicas come and go without anything going wrong. */
gboolean orr_life_is_eventful(const OrrServing *params);

OrrLife *orr_life_new(OrrFleet *fleet); /* NULL: all replicas are up from beginning to end */
void orr_life_free(OrrLife *life);      /* NULL is fine, here and below */
gboolean orr_life_is_up(const OrrLife *life, guint replica);
void orr_life_idle(OrrLife *life, guint replica); /* a request has left it */
/* Not NULL: */
void orr_life_first_token(OrrLife *life, double ttft_s);
void orr_life_close(const OrrLife *life, double end_s); /* the books, at the engine's @end_s */

G_END_DECLS

#endif
