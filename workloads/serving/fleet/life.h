/*
 * life.h - replicas that come and go: autoscaling, lost nodes and cold starts.
 */
#ifndef ORR_LIFE_H
#define ORR_LIFE_H

#include "workloads/serving/stations/station.h"

G_BEGIN_DECLS

typedef struct OrrLife OrrLife;

/* What replicas' lives report to their fleet, and ask it. */
typedef struct {
  void *user;
  void (*homeless)(void *user, OrrRequest *request); /* its replica is lost */
  gint64 (*in_system)(void *user);                   /* requests */
  gboolean (*expects)(void *user);                   /* the load has requests yet to come */
} OrrLifeReports;

/* NULL: all replicas are up from beginning to end. */
OrrLife *orr_life_new(OrrRoute *route, const OrrLifeReports *reports);
void orr_life_free(OrrLife *life);                /* NULL is fine, here and below */
void orr_life_idle(OrrLife *life, guint replica); /* a request has left it */
void orr_life_first_token(OrrLife *life, double ttft_s);
void orr_life_close(const OrrLife *life,
                    double end_s); /* adds to the rows what is held until then */

G_END_DECLS

#endif
