/*
 * sweep.h - many configurations of one scenario.
 *
 * A scenario with a `sweep:` section: axes (values of paths of the scenario), constraints and
 * objectives as expressions (sim/base/expression.h), and a sampler that picks among the
 * combinations.
 *
 *   sweep:
 *     axes:
 *       tp: [1, 2, 4, 8]
 *       pp: {divisors-of: n-gpus, to: 32}
 *       micro-batch: {powers-of: 2, to: 16}
 *       workload.sequence: {from: 2048, to: 8192, step: 2048}
 *       recompute: all
 *     where: [tp <= gpus-per-node, tp * pp <= n-gpus]
 *     objective: maximize tokens_per_s
 *     sampler: {kind: random, points: 500}
 *
 *   combination   a number that picks one value of each axis (the first axis varies slowest)
 *   point         a combination that passes the constraints and the workload's own checks, at a rung of the sampler;
 *                 points are numbered from 0 in the sampler's order, whatever runs them
 *
 * What a constraint or a check excludes is counted by reason and is no point. A point whose memory
 * does not fit is one, and is not simulated.
 */
#ifndef ORR_SWEEP_H
#define ORR_SWEEP_H

#include "sim/base/expression.h"
#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* The slurm: section; of --executor slurm. */
typedef struct {
  char *partition, *account, *time, *memory, *extra;
  gint64 tasks;
  gint64 cpus;
} OrrSlurm;

/* The sweep: section, as it was read. */
typedef struct {
  OrrNode *axes, *where, *objective;
  OrrNode *space;
  OrrChoice sampler;
  gint64 seed;
  double timeout_s;
  double gpu_hour_price;
  gint64 most;
  OrrSlurm slurm;
} OrrSweepSection;

extern const OrrFieldTable orr_sweep_section_table;
extern const OrrFieldTable orr_sweep_table, orr_sweep_excluded_table,
    orr_sweep_point_table; /* rows */

/* What expressions may name beside axes and results, with a sentence; NULL beyond the last. */
const char *orr_sweep_name(guint i, const char **ret_sentence);

/* How a point ended. */
typedef enum {
  ORR_POINT_OK,
  ORR_POINT_UNFIT,   /* its memory does not fit: not simulated */
  ORR_POINT_REFUSED, /* the workload found what its checks did not */
  ORR_POINT_FAILED,  /* the simulation could not finish */
  ORR_POINT_CRASHED, /* its process ended by a signal */
  ORR_POINT_TIMEOUT, /* it took longer than the time a point may */
  ORR_N_POINT_STATUSES
} OrrPointStatus;
extern const char *const orr_point_words[]; /* "ok", "unfit", ... NULL */

#define ORR_SWEEP_MOST_BEST 10
#define ORR_SWEEP_MOST_OBJECTIVES 4

/* A point that is worth showing. */
typedef struct {
  guint64 point;
  double score[ORR_SWEEP_MOST_OBJECTIVES];
  char **settings; /* of the axes, "workload.parallel.tp=8": strv */
  char **again;    /* what --set of `orrery run` takes: strv */
} OrrSweepBest;

typedef struct {
  char *reason;
  guint64 n;
} OrrSweepExclusion;

/* How far a sweep is, and in the end what it found. */
typedef struct {
  gint64 sweep; /* its run; 0: not stored */
  /* the database that has the later points, since the sweep's own stayed locked; NULL: none */
  char *aside;
  char *hash; /* of the document: what --resume goes by */
  guint64 n_combinations, n_points, n_done;
  guint64 n_before; /* of these, done before: --resume */
  guint64 by_status[ORR_N_POINT_STATUSES];
  GArray *excluded; /* of OrrSweepExclusion, most first */
  GArray *refused;  /* of OrrSweepExclusion: points that were not ok, by reason */
  double seconds;   /* since the first point was given out */
  guint n_objectives;
  char *objectives[ORR_SWEEP_MOST_OBJECTIVES];
  /* of OrrSweepBest, best first by the first objective; eligible points of the last rung */
  GArray *best;
  /* of OrrSweepBest: of several objectives those that no other beats in all; else empty */
  GArray *front;
  gboolean is_whole; /* no point is missing */
  guint64 *left; /* of an order that looks: points that can be simulated now, by shard; else NULL */
  guint64 n_left;
} OrrSweepReport;

void orr_sweep_report_free(OrrSweepReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepReport, orr_sweep_report_free)

typedef struct {
  const char *file;
  char **settings;  /* of --set; may be NULL */
  const char *db;   /* NULL: nothing is stored */
  guint jobs;       /* 0: one a core */
  double timeout_s; /* 0: the document's */
  gboolean resume, yes;
  /* replay every micro-batch: no fast-forward over the steady state (steady.h) */
  gboolean whole_steps;
  guint shard, n_shards; /* points p with p % n_shards == shard; n_shards 0: all */
  /* the sweep's number: gone on with where the database has it, else begun as that; 0: any */
  gint64 run;
  const char *hash;  /* what the document is to have; may be NULL */
  const char *known; /* a file of answers that others have (sweep_known.c); may be NULL */
  gboolean look;     /* simulate nothing, say what is left of all shards */
  const volatile gint
      *interrupted; /* not 0: end what runs and keep it; above 1: stop. May be NULL */
  void (*progress)(const OrrSweepReport *report,
                   void *user); /* a few times a second; may be NULL */
  void (*before)(guint64 point,
                 void *user); /* in the worker, before each point: of tests; may be NULL */
  void *user;
} OrrSweepOrder;

/* ORR_FAULT_DOCUMENT, USAGE: nothing was simulated. ORR_FAULT_RESOURCE: the database could not
 * be written; what it holds stays, and --resume goes on. */
OrrSweepReport *orr_sweep(OrrLibrary *library, const OrrSweepOrder *order, GError **error);

/* Adds to @diags all that orr_sweep would refuse in the sweep: section of @file before it
 * simulates anything. */
void orr_sweep_check_document(OrrLibrary *library, const char *file, OrrDiags *diags);

G_END_DECLS

#endif
