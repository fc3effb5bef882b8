/*
 * simulate.h - the composition root: scenario -> world -> program -> replay -> rows.
 */
#ifndef ORR_SIMULATE_H
#define ORR_SIMULATE_H

#include "results/store.h"
#include "sim/run/answer/rows.h"
#include "sim/run/world.h"

G_BEGIN_DECLS

typedef struct OrrRunKind OrrRunKind; /* kinds.h */

/* What a run found; every GArray holds the row struct named. */
typedef struct {
  const OrrRunKind *kind;
  OrrResult result;
  double wall_time_s;
  GArray *nccl_tests;                /* OrrNcclTestRow */
  GArray *serving_requests;          /* OrrServingRequestRow */
  GArray *serving_steps;             /* OrrServingStepRow */
  GArray *serving_replicas;          /* OrrServingReplicaRow */
  GArray *serving_classes;           /* OrrServingClassRow */
  GArray *serving_turns;             /* OrrServingTurnRow */
  double trust[ORR_HOW_OUTSIDE + 1]; /* serving: seconds of steps by how they are known */
  /* the device whose rows the costs are from, where it is another one; NULL: its own. Interned */
  const char *carried_from;
  double attention_share, experts_share; /* serving: of the steps' GPU time */
  GArray *steps;                         /* OrrStepRow */
  GArray *lanes;                         /* OrrLaneRow */
  GArray *spans;                         /* OrrSpanRow; empty unless asked for */
  GArray *times;                         /* OrrTimeRow */
  GArray *operators;                     /* OrrOperatorRow */
  GArray *collectives;                   /* OrrCollectiveRow */
  GArray *links;                         /* OrrLinkRow */
  /* of links: a machine has too many to intern them for the life of the process */
  GStringChunk *names;
  GArray *link_times;   /* OrrLinkTimeRow; empty without spans */
  GArray *memory;       /* OrrMemoryRow */
  GArray *activations;  /* OrrActivationRow */
  GArray *memory_times; /* OrrMemoryTimeRow; empty without spans */
  GArray *faults;       /* OrrFaultRow */
  GArray *storage;      /* OrrStorageRow */
  char *engine;         /* orr_engine_settings */
  const char *fidelity; /* "folded" or "full": what was replayed */
  /* of char *: e.g. costs outside the measured range, a job that does not fit memory */
  GPtrArray *warnings;
  /* where it was one of several jobs, or met faults; borrowed; NULL elsewhere */
  const OrrJobRow *job;
  OrrJobRow *own_job;               /* the same, where it is the outcome's own */
  double time_by_kind[ORR_N_TIMES]; /* seconds of the iteration, mean over GPUs; training */
} OrrOutcome;

/* How one run of many is made. */
typedef struct {
  gboolean keep_spans;
  gboolean brief; /* the result alone; rows may be left out */
  /* Called before a SimGrid engine is made, of which a process has one: a caller that runs many
   * forks here. FALSE: this process does not go on, and orr_simulate_in returns NULL without an
   * error. NULL: go on. */
  gboolean (*before_simgrid)(void *user);
  void *user;
  /* of a brief run: replay fewer events for the same numbers: at attempt 1 of a shorter step,
   * too */
  guint shorten;
  /* set where that had no steady state: NULL is returned without an error; ask for attempt + 1 */
  gboolean *too_short;
} OrrSimulation;

/* Runs @scenario on @world, which was made of a scenario with an equal cluster, seed and
 * on-missing. */
OrrOutcome *orr_simulate_in(const OrrRunWorld *world, const OrrScenario *scenario,
                            const OrrSimulation *how, GError **error);

/* Runs @scenario. With the simgrid engine once a process (engine.h, rule 5): callers that run
 * several fork. */
OrrOutcome *orr_simulate(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                         GError **error);
void orr_outcome_free(OrrOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrOutcome, orr_outcome_free)

/* One run in the database: run, params, all rows. @file: where the scenario was read from. */
gboolean orr_outcome_store(const OrrOutcome *outcome, const OrrScenario *scenario, const char *file,
                           OrrStore *store, gint64 *ret_run_id, GError **error);

/* The spans in the Trace Event format that Perfetto opens: a process a lane, a thread a stream. */
gboolean orr_outcome_trace(const OrrOutcome *outcome, const char *path, GError **error);

G_END_DECLS

#endif
