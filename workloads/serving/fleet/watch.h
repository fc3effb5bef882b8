/*
 * watch.h - watches a run that goes on until it has a steady state (metrics.window: steady).
 *
 * It looks at the run each time the number of first and last tokens has grown by a fifth, so that
 * all looks together take time in proportion to the requests. A load that is too high is seen
 * early: by its growing queue (steady.h), or by more missed objectives than chance allows.
 */
#ifndef ORR_WATCH_H
#define ORR_WATCH_H

#include "workloads/serving/replica/serving_run.h"

G_BEGIN_DECLS

typedef enum {
  ORR_WATCH_GOES_ON,
  ORR_WATCH_ENOUGH, /* the load can end */
  ORR_WATCH_CUT,    /* the rest of the run brings nothing new */
} OrrWatchAnswer;

typedef struct {
  OrrServingRun *run;
  gboolean is_on;              /* the load does not end by itself */
  guint64 events, next_look;   /* first and last tokens of requests; when to look */
  guint64 counted;             /* events before the counts below */
  guint64 first, missed_first; /* first tokens, those past slo.ttft */
  guint64 ended, missed;       /* requests, those that missed an objective */
} OrrWatch;

void orr_watch_init(OrrWatch *watch, OrrServingRun *run);

/* A request has its first token, or has left. The answer is given once; work->steady has the
 * reason. */
OrrWatchAnswer orr_watch_first_token(OrrWatch *watch, double ttft_s);
OrrWatchAnswer orr_watch_left(OrrWatch *watch, gboolean is_good);
/* A request was rejected or has failed: it missed its objectives. */
void orr_watch_unserved(OrrWatch *watch);

G_END_DECLS

#endif
