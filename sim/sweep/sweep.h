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
 *   combination   a number that selects one value of each axis (the first axis varies slowest)
 *   point         a combination that passes the constraints and the workload's own checks; points
 *                 are numbered from 0 in the sampler's order, whatever process simulates them
 *
 * Combinations that a constraint or a check excludes are counted by reason; they are not points. A
 * point whose memory does not fit is a point, but is not simulated.
 */
#pragma once

#include "sim/bands/band.h"
#include "sim/base/expression.h"
#include "sim/run/simulate.h"

/* The slurm: section, for --executor slurm. */
typedef struct {
  char *partition, *account, *time, *memory, *extra;
  gint64 tasks;
  gint64 cpus;
} OrrSlurm;

/* Which points need no simulation (sweep_prune.h). */
typedef enum { ORR_PRUNE_NONE, ORR_PRUNE_BEST, ORR_PRUNE_FRONT } OrrPruneKind;

/* The sweep: section, as it was read. */
typedef struct {
  OrrNode *axes, *where, *objective;
  OrrNode *space;
  OrrChoice sampler;
  int prune; /* OrrPruneKind */
  gint64 seed;
  double timeout_s;
  gint64 most;
  OrrSlurm slurm;
} OrrSweepSection;

extern const OrrFieldTable orr_sweep_section_table;
extern const OrrFieldTable orr_sweep_table, orr_sweep_excluded_table, orr_sweep_point_table,
    orr_sweep_band_table, orr_sweep_command_table; /* rows */

/* Name @i that expressions can use besides axes and results, with its sentence; NULL beyond the
 * last name. */
const char *orr_sweep_name(guint i, const char **ret_sentence);

/* How a point ended. */
typedef enum {
  ORR_POINT_OK,
  ORR_POINT_UNFIT,   /* its memory does not fit: not simulated */
  ORR_POINT_REFUSED, /* the workload refused it, though its checks passed */
  ORR_POINT_FAILED,  /* the simulation could not finish */
  ORR_POINT_CRASHED, /* its process ended by a signal */
  ORR_POINT_TIMEOUT, /* it exceeded the time limit of a point */
  ORR_POINT_PRUNED,  /* a bound rules it out: not simulated (sweep_prune.h) */
  ORR_N_POINT_STATUSES
} OrrPointStatus;
extern const char *const orr_point_words[]; /* "ok", "unfit", ... NULL */

#define ORR_SWEEP_MOST_BEST 10
#define ORR_SWEEP_MOST_OBJECTIVES 4

/* Whether a point is statistically tied with the best one (NOT_TOLD; sweep_bands.c). */
typedef enum { ORR_APART_UNKNOWN, ORR_APART_NOT_TOLD, ORR_APART_TOLD } OrrSweepApart;

typedef struct {
  OrrBand of[ORR_SWEEP_MOST_OBJECTIVES]; /* by objective: factors of its value */
  /* A best point but the first, by the first objective: the bounds of a measured ratio to the best
   * point, and how sure their order is. */
  OrrSweepApart apart;
  double ratio_low, ratio_high, sure;
} OrrSweepBands;

/* A point that the report shows. */
typedef struct {
  guint64 point, combination; /* the combination: known with the settings */
  OrrLikenessRow *likeness;   /* NULL: not known */
  OrrSweepBands *bands;       /* NULL before the sweep ends */
  double score[ORR_SWEEP_MOST_OBJECTIVES];
  char **settings; /* values of the axes, "workload.parallel.tp=8": strv */
  char **again;    /* texts for --set of `orrery run`: strv */
} OrrSweepBest;

typedef struct {
  char *reason;
  guint64 n;
} OrrSweepExclusion;

/* The progress of a sweep, and at its end the result. */
typedef struct {
  gint64 sweep; /* the run of the sweep; 0: not stored */
  /* The database that has the later points, because the sweep's own stayed locked; NULL: none. */
  char *aside;
  char *hash; /* of the document; identifies the sweep for --resume */
  guint64 n_combinations, n_points, n_done;
  guint64 n_before; /* of n_done: by an earlier run (--resume) */
  guint64 by_status[ORR_N_POINT_STATUSES];
  char *wheres;        /* the constraints on results: "memory < 80, mfu > 0.4"; NULL: none */
  guint64 n_failing;   /* simulated points that do not satisfy them */
  guint64 n_valueless; /* of the others: an objective has no value, as 1 / 0; not ranked */
  guint64 looks[ORR_N_LEAP_LOOKS]; /* of the points simulated now: see OrrReplay */
  GArray *excluded; /* of OrrSweepExclusion: combinations, most frequent reason first */
  GArray *refused;  /* of OrrSweepExclusion: points that are not ok, by reason */
  double seconds;   /* since the first point was given out */
  guint n_objectives;
  char *objectives[ORR_SWEEP_MOST_OBJECTIVES];
  /* Of OrrSweepBest: eligible points, best first by the first objective. */
  GArray *best;
  /* Of OrrSweepBest: the Pareto front of several objectives; empty for one objective, and where
   * points of the front can be pruned. */
  GArray *front;
  const char *view;   /* of the database, which shows more of a point */
  GPtrArray *caveats; /* of char *: what the points shown say of themselves (caveats.h) */
  char *band_note;    /* why the bands cannot be trusted; NULL: they can */
  gboolean is_whole;  /* no point is missing */
  guint64 *left;      /* of an order that looks: points to simulate now, by shard; else NULL */
  guint64 n_left;
} OrrSweepReport;

void orr_sweep_report_free(OrrSweepReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepReport, orr_sweep_report_free)

typedef struct {
  const char *file;
  char **settings;  /* of --set; may be NULL */
  const char *db;   /* NULL: nothing is stored */
  guint jobs;       /* 0: one per core */
  double timeout_s; /* 0: the document's */
  gboolean resume, yes;
  gboolean begin;       /* with @resume: a document without a sweep in the database begins one */
  gboolean whole_steps; /* replay every micro-batch of a step (engine/executor_leap.c) */
  /* Simulate only the points p with p % n_shards == shard; n_shards 0: all points. */
  guint shard, n_shards;
  /* The number of the sweep's run: continued if the database has it, else begun. 0: any number. */
  gint64 run;
  const char *hash;  /* refuse the document if its hash differs; may be NULL */
  const char *known; /* file of points that other processes answered (sweep_known.h); may be NULL */
  gboolean look;     /* only count the points that are left, of all shards */
  /* 1: finish the running points and store them; above 1: stop. May be NULL. */
  const volatile gint *interrupted;
  /* Called a few times per second; may be NULL. */
  void (*progress)(const OrrSweepReport *report, void *user);
  /* For tests: called in the worker before each point; may be NULL. */
  void (*before)(guint64 point, void *user);
  void *user;
  /* Why points could no longer be stored (a full disk): the sweep stops, and its report has the
   * points so far. NULL: that is an error. */
  GError **stopped;
  /* Set, newly allocated, where the error is that no combination can run: the most frequent reason.
   * May be NULL. */
  char **none;
} OrrSweepOrder;

/* Runs a sweep. ORR_FAULT_DOCUMENT, USAGE: nothing was simulated. ORR_FAULT_RESOURCE: the database
 * could not be written; stored points stay, and --resume continues. */
OrrSweepReport *orr_sweep(OrrLibrary *library, const OrrSweepOrder *order, GError **error);

/* FALSE with ORR_FAULT_USAGE where one of @settings ("path=value"; may be NULL) gives a value that
 * each point of the sweep of @tree, an unread scenario, replaces by one of its axes. */
gboolean orr_sweep_check_settings(const OrrNode *tree, char *const *settings, GError **error);

/* Adds to @diags every error that orr_sweep would find in the sweep: section of @file. */
void orr_sweep_check_document(OrrLibrary *library, const char *file, OrrDiags *diags);
