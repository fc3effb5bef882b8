/*
 * executor_leap.h - the state of fast-forward, which executor_leap.c and executor_rewind.c share.
 */
#pragma once

#include "sim/engine/executor_private.h"

#define ORR_NO_SPAN G_MAXUINT32

/* Where a stream's ops repeat: op q is op q - n_ops again, for q from `first` + n_ops until `end`,
 * one period of the schedule later. n_ops 0: nowhere. */
typedef struct {
  guint32 first, end, n_ops;
} OrrRange;

typedef struct {
  GArray *begins;  /* of guint32: the compute stream's first span of each period */
  gint32 last_tag; /* of that stream, so far */
  gboolean is_probed;
  guint32 differed; /* of the group that the lane names: the stream that did not repeat last */
  gint64 n_rewound; /* periods */
  gint64 n_left;    /* periods that are left out and were not made up for yet */
  OrrLeap *leap;
} OrrLeapLane;

/* A narrower link, as a share of another one's bandwidth (executor_bind.c). */
typedef struct {
  guint n;      /* of the remaining paths */
  double times; /* what they put on the other link, over what they put on it */
} OrrLinkShare;

/* Lanes that concern each other (executor_groups.c). */
typedef struct {
  guint32 *parent;    /* of lanes, as a forest */
  guint32 *comm_lane; /* by comm: a lane that joined it */
  guint8 *seen_routines;
  GHashTable *seen;     /* of guint64: (stream, path) */
  GArray *uses;         /* the same, in order */
  guint32 *last_path;   /* by stream: the newest of them */
  OrrLinkShare *shares; /* by link: zeros between two questions */
  guint n_spans;        /* that the groups know */
  gboolean is_new;      /* uses were added */
  gboolean is_broken;
  double started_s; /* of the span that is looked at */
} OrrLeapGroups;

struct OrrLeaper {
  OrrLeftOut left_out;
  OrrLeapLane *lanes;
  OrrLeapGroups groups;
  guint32 *coupled;    /* of lanes, a forest: those that share communications and events */
  guint32 *compute;    /* by lane: its first stream */
  OrrRange *ranges;    /* by stream */
  guint32 *event_lane; /* that records it; with its stream and op */
  guint32 *event_stream, *event_op;
  guint32 *last;    /* by stream: its last span */
  GPtrArray *calls; /* what calls of the engine are given */
  gboolean is_off;  /* the program changes on the way, or does not repeat */
  guint64 looks[ORR_N_LEAP_LOOKS];
};

void orr_leap_groups_init(OrrExecutor *executor);
void orr_leap_groups_clear(OrrLeaper *leaper);
/* Unites the groups that the spans since the last time show to concern each other. */
void orr_leap_groups_update(OrrExecutor *executor);
/* Whether @link can limit a rate where transfers take @paths (of guint32, which all use it). Uses
 * up the list. */
gboolean orr_leaper_link_can_bind(const OrrExecutor *executor, guint32 link, GArray *paths);
/* The lowest lane of the lane's group. */
guint32 orr_leaper_group(const OrrLeaper *leaper, guint32 lane);

/* The comm that a waiting stream has joined; NULL: none. */
OrrCommState *orr_leaper_joined(const OrrExecutor *executor, guint32 stream);

/* Finds where streams repeat. FALSE: some stream does not. */
gboolean orr_leaper_rewind_init(OrrExecutor *executor);
/* Takes @lane and those coupled with it back by one period of the schedule, at the same date, as
 * soon as all of their streams stand where ops repeat: what follows is what the program has left
 * out. */
void orr_leaper_rewind(OrrExecutor *executor, guint32 lane);
