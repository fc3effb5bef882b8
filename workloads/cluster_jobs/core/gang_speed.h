/*
 * gang_speed.h - how long a second of a job's work takes on the nodes that it got.
 *
 * A kind of speed is an entry: it answers for one class of places at a time, and the answer is
 * kept. The class of a gang is its model, its size, the level of the machine that holds it
 * (gang_bins.h), the number of leaves that it is in, rounded up to a power of two, and its GPUs in
 * the leaf that has most of them.
 *
 * Beside other jobs its time changes again. A gang in several leaves sends over the switches above
 * them; the others in its leaves leave it a part of those links:
 *
 *   load of a leaf = sum of `uplink` of the gangs that leave it
 *   free           = 1 - load of the others, at least an equal part for each of them
 *   slow           = slow alone, at 1/2 and 1/4 of the links, linear in 1/free between and beyond
 *
 * with the least `free` of its leaves: a mean over a step, which does not see whose bursts meet.
 *
 * To add one: write speeds/gang_speed_NAME.c with a `const OrrGangSpeedKind` and its line in
 * meson.build.
 */
#pragma once

#include "sim/base/field.h"
#include "workloads/cluster_jobs/core/gang_bins.h"
#include "workloads/workload.h"

enum { ORR_GANG_N_FREES = 3 }; /* alone, half of the links between switches, a quarter */

typedef struct {
  const char *model; /* of the trace */
  gint64 gpus;
  gint64 asked; /* GPUs that the trace has: an elastic gang may have others */
  guint nodes;
  OrrGangLevel level;
  guint leaves;
  gint64 most_in_leaf; /* GPUs */
  GArray *shares;      /* of OrrGangShare: the first place of this class that a gang got */
} OrrGangClass;

typedef struct OrrGangPace {
  double slow[ORR_GANG_N_FREES]; /* seconds that a second of work takes */
  double uplink;                 /* fraction of its leaves' uplinks that it uses, alone */
  double watts;                  /* of its GPUs, alone; NAN: not known */
} OrrGangPace;

typedef struct OrrGangSpeed OrrGangSpeed;

typedef struct {
  OrrEntry entry;
  gboolean is_given; /* run times are the trace's: nothing is asked */
  /* Why its speeds have no band: nothing is simulated, or nothing measured says how far off it is.
   * NULL: what a place adds is simulated time on the network. */
  const char *(*why_no_band)(const void *params);
  /* Findings at @place. Optional. */
  void (*check)(const void *params, const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);
  /* Fills @ret_pace. FALSE with @error. */
  gboolean (*pace)(const void *params, const OrrWorld *world, const OrrGangClass *place,
                   OrrGangPace *ret_pace, GError **error);
  /* Work per time at the reference of a gang with @place's gpus, relative to one with the GPUs it
   * asked for. FALSE with @error. Optional: the policy's scaling says it. */
  gboolean (*resized)(const void *params, const OrrWorld *world, const OrrGangClass *place,
                      double *ret_speed, GError **error);
} OrrGangSpeedKind;

extern const OrrRegistry orr_gang_speed_registry;

/* One class, as it was asked for. */
typedef struct {
  OrrGangClass place;
  OrrGangPace pace;
  gint64 n_starts; /* gangs that started in it */
} OrrGangAnswer;

struct OrrGangSpeed {
  const OrrGangSpeedKind *kind;
  const void *params;
  const OrrWorld *world; /* outlives it */
  const OrrGangMap *map;
  double static_w;     /* of a GPU that waits for its network; 0: not known */
  GHashTable *answers; /* key text -> OrrGangAnswer */
  GHashTable *sizes;   /* key text -> double: speeds of other sizes than asked for */
  GPtrArray *in_order; /* of OrrGangAnswer, as asked; borrowed */
  GError *error;       /* the first class that could not be answered */
  double *loads;       /* by leaf; scratch */
  guint *crossing;
};

OrrGangSpeed *orr_gang_speed_new(const OrrGangSpeedKind *kind, const void *params,
                                 const OrrWorld *world, const OrrGangMap *map);
void orr_gang_speed_free(OrrGangSpeed *speed);

/* The known facts about the place of @job, which runs. Owned by @speed. */
const OrrGangPace *orr_gang_speed_pace(OrrGangSpeed *speed, const OrrGangJob *job);
/* Seconds per second of work where a fraction @free of the links between switches is left. */
double orr_gang_speed_slow(const OrrGangPace *pace, double free);
/* The speed of @job with @gpus, relative to the GPUs that it asked for, where its kind of speed
 * knows it; FALSE: it does not. */
gboolean orr_gang_speed_resized(OrrGangSpeed *speed, const OrrGangJob *job, gint64 gpus,
                                double *ret_speed);
/* What the GPUs of @job draw at its present pace: a longer step has the same energy and waits. NAN:
 * not known. */
double orr_gang_speed_watts(const OrrGangSpeed *speed, const OrrGangJob *job);
