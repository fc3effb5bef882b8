/*
 * sweep_private.h - the parts of a sweep, one file each:
 *
 *   sweep_section.c   the sweep: section's field table
 *   sweep_axis.c      axes: names, paths, lists of values
 *   sweep_plan.c      section -> axes, names, constraints, objectives
 *   sweep_needs.c     objectives and constraints that need a price or a power
 *   sweep_variant.c   combination -> scenario, reading documents once a variant
 *   sweep_stream.c    combinations -> points, excluded ones counted by reason
 *   sweep_point.c     point -> answer, in this process
 *   sweep_pool.c      many points on worker processes
 *   sweep_rows.c      answers -> rows of the database
 *   sweep_known.c     answers that another process has, as a file
 *   sweep_run.c       puts them together
 */
#ifndef ORR_SWEEP_PRIVATE_H
#define ORR_SWEEP_PRIVATE_H

#include "sim/run/answer/kinds.h"
#include "sim/sweep/sweep.h"

G_BEGIN_DECLS

/* --- sweep_axis.c --- */

typedef struct {
  char *name; /* short where there is one, else the path */
  char *path;
  OrrPlace place;
  GPtrArray *values; /* of OrrNode *: scalars, owned */
  GArray *numbers;   /* of double, parallel */
  gboolean is_number;
  gboolean is_plain; /* may be assigned in place: a plain field of the workload */
} OrrSweepAxis;

void orr_sweep_axis_free(OrrSweepAxis *axis);

/* A path's short name, or NULL; and back: @name itself where it is no short name. */
const char *orr_sweep_short_name(const char *path);
const char *orr_sweep_path(const char *name);

/* A number that an axis' values may be computed from ("divisors-of: n-gpus"). */
typedef struct {
  const OrrExpressionName *names;
  const OrrValue *values;
  guint n;
  const OrrScenario *base;
} OrrSweepFacts;

/* @spec: a list, a map of a range, or "all". NULL: see @diags. */
OrrSweepAxis *orr_sweep_axis_new(const char *name, OrrPlace place, const OrrNode *spec,
                                 const OrrSweepFacts *facts, OrrDiags *diags);

/* --- sweep_plan.c --- */

/* Facts that expressions may name; the axes come after them, then results. */
typedef enum {
  ORR_FACT_TP,
  ORR_FACT_PP,
  ORR_FACT_DP,
  ORR_FACT_CP,
  ORR_FACT_EP,
  ORR_FACT_CHUNKS,
  ORR_FACT_SCHEDULE,
  ORR_FACT_MICRO_BATCH,
  ORR_FACT_MICRO_BATCHES,
  ORR_FACT_GLOBAL_BATCH,
  ORR_FACT_SEQUENCE,
  ORR_FACT_RECOMPUTE,
  ORR_FACT_SHARDING,
  ORR_FACT_N_GPUS,
  ORR_FACT_NODES,
  ORR_FACT_GPUS_PER_NODE,
  ORR_FACT_SCALE_UP_DOMAIN,
  ORR_FACT_LAYERS,
  ORR_FACT_HEADS,
  ORR_FACT_KV_HEADS,
  ORR_FACT_HIDDEN,
  ORR_FACT_CAPACITY, /* device memory */
  ORR_FACT_TDP,
  ORR_FACT_PRICE, /* of a GPU's hour */
  ORR_N_FACTS
} OrrSweepFact;

typedef struct {
  const char *name;
  OrrValueType type;
  const char *sentence;
} OrrSweepFactName;

extern const OrrSweepFactName orr_sweep_facts[ORR_N_FACTS];

/* Computed from the result. */
typedef enum {
  ORR_DERIVED_COST_PER_TOKEN,
  ORR_DERIVED_HEADROOM,
  ORR_DERIVED_ENERGY,
  ORR_N_DERIVED
} OrrSweepDerived;
extern const OrrSweepFactName orr_sweep_derived[ORR_N_DERIVED];

typedef struct {
  OrrExpression *expression;
  gboolean after;    /* uses results: judged after the simulation */
  gboolean maximize; /* of an objective */
  char *text;        /* as it was written: "maximize tokens_per_s" */
} OrrSweepRule;

typedef struct {
  char *file;
  OrrLibrary *library;
  OrrNode *tree;     /* the scenario without its sweep, as a tree */
  OrrScenario *base; /* the same, read */
  OrrSweepSection section;
  char *hash;      /* of base and section: what --resume goes by */
  char *resolved;  /* the same as text */
  GPtrArray *axes; /* of OrrSweepAxis */
  GArray *names;   /* of OrrExpressionName: facts, axes by name, axes by path, results, derived */
  guint n_axes, first_axis, first_result, first_derived; /* facts are from 0 */
  const OrrRunKind *kind;
  GPtrArray *wheres;     /* of OrrSweepRule */
  GPtrArray *objectives; /* of OrrSweepRule; at least one */
  guint64 n_combinations;
  int schedule_axis, chunks_axis; /* -1: none */
  gboolean whole_steps;           /* no step is shortened */
  gboolean dp_is_open;            /* the document's dp gives way to tp, pp and cp */
} OrrSweepPlan;

/* The sweep of @file with @settings ("path=value", may be NULL) laid on the scenario. NULL: see
 * @diags and @error. */
OrrSweepPlan *orr_sweep_plan_new(OrrLibrary *library, const char *file, char **settings,
                                 OrrDiags *diags, GError **error);
void orr_sweep_plan_free(OrrSweepPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepPlan, orr_sweep_plan_free)

guint orr_sweep_value_index(const OrrSweepPlan *plan, guint64 combination, guint axis);
const OrrNode *orr_sweep_value(const OrrSweepPlan *plan, guint64 combination, guint axis);

/* Facts of a scenario into the first ORR_N_FACTS values. */
void orr_sweep_fill_facts(const OrrSweepPlan *plan, const OrrScenario *scenario, OrrValue *values);
void orr_sweep_fill_result(const OrrSweepPlan *plan, const OrrResult *result, OrrValue *values);

/* --- sweep_needs.c --- */

/* Refuses @expression where it uses a result that is 0 at every point for want of a number that
 * the document can give. */
void orr_sweep_check_needs(const OrrSweepPlan *plan, const OrrExpression *expression,
                           OrrPlace place, OrrDiags *diags);

/* --- sweep_variant.c --- */

/* Scenarios by what cannot be assigned in place, with their machines. Not shared between
 * processes but by fork. */
typedef struct OrrSweepVariants OrrSweepVariants;

OrrSweepVariants *orr_sweep_variants_new(const OrrSweepPlan *plan);
void orr_sweep_variants_free(OrrSweepVariants *variants);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepVariants, orr_sweep_variants_free)

/* The scenario of @combination with the settings of @rung laid on it, and in @ret_values its
 * expression values but for the results (plan->names->len of them). Not checked yet. Owned by
 * @variants, until the next call. NULL: *@ret_reason (newly allocated) says why there is none. */
OrrScenario *orr_sweep_scenario(OrrSweepVariants *variants, guint64 combination, guint rung,
                                OrrValue *ret_values, char **ret_reason);

/* The workload's own checks of the scenario that was asked for last: NULL, or the first finding,
 * newly allocated. */
char *orr_sweep_check(OrrSweepVariants *variants);

/* The machine of the scenario that was asked for last. NULL with @error. */
const OrrRunWorld *orr_sweep_world(OrrSweepVariants *variants, GError **error);

/* The pipeline that schedule and chunks of @combination make; NULL where neither is an axis.
 * *@ret_refusal: why they do not go together. Both newly allocated. */
char *orr_sweep_pipeline(const OrrSweepPlan *plan, guint64 combination, char **ret_refusal);

/* A complaint as a kind of complaint: numbers become "#". Newly allocated. */
char *orr_sweep_reason(const char *message);

/* --- sweep_stream.c --- */

typedef struct OrrSweepStream OrrSweepStream;

/* The points of a rung 0 in order. Excluded combinations are counted by reason. */
OrrSweepStream *orr_sweep_stream_new(const OrrSweepPlan *plan, OrrSweepVariants *variants);
void orr_sweep_stream_free(OrrSweepStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepStream, orr_sweep_stream_free)
/* FALSE: no more */
gboolean orr_sweep_stream_next(OrrSweepStream *stream, guint64 *ret_combination);
/* counts it where not */
gboolean orr_sweep_stream_passes(OrrSweepStream *stream, guint64 combination);

/* of OrrSweepExclusion, most first; owns its reasons */
GArray *orr_sweep_stream_excluded(const OrrSweepStream *stream);

/* --- sweep_point.c --- */

#define ORR_REASON_BYTES 240

/* All that a point's rows need, in bytes that cross a pipe. */
typedef struct {
  guint64 point, combination;
  guint32 rung;
  gint32 status;   /* OrrPointStatus */
  gint32 eligible; /* OK, and what constraints on results hold */
  gint32 folded;
  double seconds[ORR_N_TIMES];             /* of the iteration by kind, mean over GPUs; training */
  double score[ORR_SWEEP_MOST_OBJECTIVES]; /* the objectives' values */
  double wall_time_s;
  OrrResult result;
  char engine[96];
  char reason[ORR_REASON_BYTES];
} OrrSweepAnswer;

typedef struct {
  guint64 point, combination;
  guint32 rung;
} OrrSweepTask;

/* Simulates @task. Where a SimGrid engine is needed a child is forked for it. @send writes the
 * answer: called once, in this process or in the child. */
typedef void (*OrrSweepSend)(const OrrSweepAnswer *answer, void *user);
void orr_sweep_point_run(OrrSweepVariants *variants, const OrrSweepPlan *plan,
                         const OrrSweepTask *task, OrrSweepSend send, void *user);

/* Texts of an answer and its settings: "workload.parallel.tp=8", ... strv. */
char **orr_sweep_settings(const OrrSweepPlan *plan, guint64 combination);
/* what makes the base scenario this one */
char **orr_sweep_again(const OrrSweepPlan *plan, guint64 combination);
const OrrNode *orr_sweep_rung(const OrrSweepPlan *plan, guint rung); /* its settings; NULL: none */

G_END_DECLS

#endif
