/*
 * validate.h - measured rows against simulated ones.
 *
 * A validation set is a scenario (scenarios/validation/NAME.yaml) and a CSV beside it (NAME.csv). A
 * column whose name is a scenario path is set for each row (`model.layers`,
 * `workload.parallel.tp`); `measured.METRIC` is compared with the result of that name; `source` and
 * `note` pass through; `label` names the row. Lines that begin with '#' carry source, units and
 * trust.
 *
 * The scenario's `validation:` section may say what other columns mean, so that a published table
 * replays as it is:
 *
 *   validation:
 *     group: training                sets of a group run together: `orrery validate training`
 *     columns:                       a column -> a scenario path, a list of paths, or `ignore`
 *       layers: model.layers
 *       n_gpus: cluster.gpus
 *       model: label
 *       iter_time_s_derived: measured.iteration_time_s
 *     values:                        a column -> {text in the table: text for the scenario, or a map of paths}
 *       ddp_impl: {torch: true, local: false}
 *       variant: {full recompute: {workload.recompute: full}}
 *       chip: {TPU v5p: {refuse: TPUs are not simulated}}      the row is refused, for that reason
 *       mem: {GB: ""}                                          as good as an empty cell
 *       mode: {split: {workload.groups: "[{replicas: <workers>}]"}}   <workers> is the row's cell of that column; a row
 *                                                              where that is empty is refused
 *       model: {moe-1t: {model: moe-1t, part: experts}}        the row's errors are also told with those of its part
 *     together: {isl osl: {128 2048: {workload.requests: 3000}}}   what hangs on several columns, set last
 *     scale: {forward_ms: 0.001}     a column -> factor on its number
 *
 * A set of costs (`schema: cost-validation/1`, validate_costs.h) compares kernels instead, shape by
 * shape.
 *
 * An unknown column is an error that names it, unless `columns` ignores it. An empty cell leaves
 * the scenario's value. Columns are set in the order of the table; two that mean `label` (`source`,
 * `note`) are joined by a blank.
 */
#ifndef ORR_VALIDATE_H
#define ORR_VALIDATE_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

typedef struct {
  char *set_name;
  gint64 row; /* line of the CSV */
  char *label, *metric;
  double measured, simulated,
      error;         /* error = simulated / measured - 1; NAN in the database for a refused row */
  char *explanation; /* the largest parts of the answer: "gemm 61 %, tp-comm 17 %, bubble 9 %" */
  char *source, *note;
  char *part; /* of the set, whose errors are told apart; NULL; not stored */
} OrrValidationRow;

typedef struct {
  char *set_name;
  gint64 row;
  char *label;
  char *reason;
  /* not the row's fault: the simulation crashed, was killed, or could not finish */
  gboolean failed;
} OrrValidationRefusal;

/* Errors of one table of one profile, in one region. */
typedef struct {
  char *set_name, *profile, *kernels, *region;
  gint64 n;
  double mape, bias, median, p90, worst;
  gboolean met; /* the set's target, by all regions together */
} OrrCostError;

typedef struct {
  char *set_name;
  GArray *rows;     /* OrrValidationRow */
  GArray *refusals; /* OrrValidationRefusal: rows that the checks refuse, with the diagnostics */
  double mape, bias, median, p90,
      worst;        /* of |error|; bias: mean of error; shares, not per cent; NAN without rows */
  guint n_compared; /* as many as there are rows; of a set of costs, shapes */
  GArray *costs;    /* OrrCostError; of a set of costs, whose rows are its worst shapes */
} OrrValidation;

extern const OrrFieldTable orr_validation_row_table, orr_cost_error_table;

/* Names of the shipped sets (and of those in the library's folders), sorted; strv. */
char **orr_validation_sets(OrrLibrary *library);

/* The sets whose `validation: group:` says @group, sorted; strv, empty where there is none. */
char **orr_validation_group(OrrLibrary *library, const char *group);

/* The scenario's file of a set, or NULL; newly allocated. */
char *orr_validation_path(OrrLibrary *library, const char *set);

/* Called after each row that has ended, in the caller's process. */
typedef void (*OrrValidationProgress)(guint done, guint total, void *user);

/* Replays one set, each row in a process of its own, @jobs at once (0: as many as there are cores).
 * @rows_csv (may be NULL): other rows than the set's. @store (may be NULL): the comparison lands
 * there as one run whose resolved scenario is the set's, with a validation_row for each row,
 * refused ones (error NULL) too. Errors are the set's own (no such set, a bad CSV: file:line and
 * column); a row that cannot run is a refusal. Order and numbers do not depend on @jobs.
 */
OrrValidation *orr_validate(OrrLibrary *library, const char *set, const char *rows_csv, guint jobs,
                            OrrStore *store, OrrValidationProgress progress, void *user,
                            GError **error);
void orr_validation_free(OrrValidation *validation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrValidation, orr_validation_free)

/* Fills mape ... worst from the rows. p90 is the nearest rank; the median of an even number is
 * the mean of two. */
void orr_validation_summarise(OrrValidation *validation);

G_END_DECLS

#endif
