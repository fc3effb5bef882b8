/*
 * validate.h - compares simulations with measurements.
 *
 * A validation set is a scenario (scenarios/validation/NAME.yaml) and a table next to it
 * (NAME.csv). For each row of the table, a column whose name is a path (`model.layers`,
 * `workload.parallel.tp`) sets that path of the scenario; `measured.METRIC` is compared with the
 * result of that name; `label` names the row; `source` and `note` are copied to the output. Lines
 * that begin with '#' give the source, the units and how reliable the measurement is.
 *
 * The scenario's `validation:` section can define other columns, so that a published table needs no
 * changes:
 *
 *   validation:
 *     group: training                `orrery validate training` runs all sets of the group
 *     columns:                       a column -> a scenario path, a list of paths, or `ignore`
 *       layers: model.layers
 *       n_gpus: [cluster.gpus, gpus] `gpus`: the GPUs that the row was measured on; the row is
 *                                    refused if the simulation uses another number
 *       model: label
 *       iter_time_s_derived: measured.iteration_time_s
 *     values:                        a column -> {text in the table: text for the scenario, or a
 *                                    map of paths}
 *       ddp_impl: {torch: true, local: false}
 *       variant: {full recompute: {workload.recompute: full}}
 *       chip: {TPU v5p: {refuse: TPUs are not simulated}}      the row is refused, with this reason
 *       mem: {GB: ""}                                          the same as an empty cell
 *       mode: {split: {workload.groups: "[{replicas: <workers>}]"}}
 *                                                              <workers>: the row's cell in that
 *                                                              column; a row without it is refused
 *       model: {moe-1t: {model: moe-1t, part: experts}}        the errors are also listed by part
 *       tp: {"64": {workload.parallel.tp: 8, gpus: 8}}         corrects the row's number of GPUs
 *       note: {"*": <note>}                                    "*": every other cell; here it
 *                                                              stands for itself
 *       tag: {v25.02*: {workload.stack: megatron-core-25.02}}  every other cell that begins so
 *     together: {isl osl: {128 2048: {workload.requests: 3000}, "*": {}}}
 *                                    settings by several columns, applied last; "*": every other
 *                                    row; a row without a line is refused
 *     together: {ways: {"*": {refuse if <n> == 8 * <ways>: why}}}
 *                                    the row is refused where the condition holds
 *     values: {against: {CPU: {over: {workload.tier: host}}}}
 *                                    the row's measurements are ratios: of its result over the
 *                                    result of its scenario with these settings as well
 *     scale: {forward_ms: 0.001}     a column -> a factor for its numbers
 *
 * A set of costs (`schema: cost-validation/1`, validate_costs.h) compares kernels instead, shape by
 * shape.
 *
 * An unknown column is an error, unless `columns` ignores it. An empty cell keeps the scenario's
 * value. A column with `values` has no other cells: a row with one is refused, unless "*" or the
 * cell's beginning gives it a meaning, or it is a number in a column that sets a path, or a
 * measurement. Columns are applied in the order of the table; the texts of several columns that
 * mean `label` (or `source`, or `note`) are joined by a blank.
 */
#pragma once

#include "calibration/crossval/crossval.h"
#include "results/store.h"
#include "sim/bands/residuals.h"
#include "sim/base/library.h"
#include "sim/validate/validate_bands.h"

/* A measured value and its simulation. */
typedef struct {
  char *set_name;
  gint64 row; /* line of the CSV */
  char *label, *metric;
  double measured, simulated;
  double error;      /* simulated / measured - 1; in the database NAN for a refused row */
  char *explanation; /* the largest parts of the result: "gemm 61 %, tp-comm 17 %, bubble 9 %" */
  char *source, *note;
  /* What was simulated, and fractions of its time, as OrrLikenessRow has them; NULL and NAN: not
   * simulated, or a kernel. */
  char *device, *architecture, *family, *stack;
  double gemm, attention, experts, memory, comm, host, bubble;
  /* Not stored: the part of the set, to group errors by (NULL: none); the stack again where the
   * row's scenario names none (orr_scenario_stack_assumed; NULL: it is named) */
  char *part, *assumed;
  gboolean is_ratio; /* over another scenario's answer: its error is not an answer's */
} OrrValidationRow;

/* A row that was not compared. */
typedef struct {
  char *set_name;
  gint64 row;
  char *label;
  char *reason;
  gboolean failed; /* the simulation crashed, was killed, or could not finish */
} OrrValidationRefusal;

/* The errors of one table of one profile, in one region. */
typedef struct {
  char *set_name, *profile, *kernels, *region;
  gint64 n;
  double mape, bias, median, p90, worst;
  gboolean met; /* whether the errors are within the set's targets */
} OrrCostError;

typedef struct {
  char *set_name;
  const char *table;       /* of the results, "campaign_result"; NULL: a set of costs */
  GArray *rows;            /* of OrrValidationRow; for a set of costs, its worst shapes */
  GArray *refusals;        /* of OrrValidationRefusal: with the diagnostics as the reason */
  GArray *costs;           /* of OrrCostError; only for a set of costs */
  OrrResiduals *residuals; /* one for each row that was simulated */
  guint n_compared;        /* rows, or shapes for a set of costs */
  /* Of |error|, except bias, the mean of error; fractions; NAN when nothing was compared. */
  double mape, bias, median, p90, worst;
} OrrValidation;

extern const OrrFieldTable orr_validation_row_table, orr_cost_error_table;

/* Fills the members of @row that describe what was simulated. @like NULL: nothing was. */
void orr_validation_row_times(OrrValidationRow *row, const OrrLikenessRow *like);

/* The names of the sets in the library, sorted; strv. */
char **orr_validation_sets(OrrLibrary *library);

/* The sets whose section has `group: @group`, sorted; strv, empty for an unknown group. */
char **orr_validation_group(OrrLibrary *library, const char *group);

/* The path of a set's scenario, newly allocated; NULL for an unknown set. */
char *orr_validation_path(OrrLibrary *library, const char *set);

/* Called after each row, in the caller's process. */
typedef void (*OrrValidationProgress)(guint done, guint total, void *user);

typedef struct {
  const char *set;
  const OrrNode *tree;            /* this unread scenario instead of a set's, and its @set is the
                                   * path for errors; needs @rows_csv; NULL: the set's */
  const char *rows_csv;           /* these rows instead of the set's; may be NULL */
  const char *profile;            /* sets of costs: query only this profile; NULL: all */
  guint jobs;                     /* rows to simulate at once; 0: one per core */
  OrrStore *store;                /* NULL: nothing is stored */
  GError **lost;                  /* why the comparison, which is returned, is not stored */
  OrrValidationProgress progress; /* may be NULL */
  void *user;
} OrrValidateOrder;

/* Simulates every row of a set, each in its own process. Stores the comparison as one run, whose
 * resolved scenario is the set's, with a validation_row per value; refused rows have error NULL. A
 * row that cannot run is a refusal; errors are about the set itself (unknown set, bad CSV:
 * file:line and column). Order and numbers do not depend on the number of jobs. */
OrrValidation *orr_validate(OrrLibrary *library, const OrrValidateOrder *order, GError **error);

OrrValidation *orr_validation_new(const char *set_name);
void orr_validation_free(OrrValidation *validation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrValidation, orr_validation_free)

/* Sets mape ... worst from the errors of the rows; p90 is the nearest rank, and the median of an
 * even number of errors is the mean of two. */
void orr_validation_summarise(OrrValidation *validation);

/* Sets mape ... worst. */
void orr_validation_set_errors(OrrValidation *validation, OrrErrors errors);

/* validate_stored.c: writes calibration/residuals, and compares a validation with what it holds:
 * bands rest on those numbers, and are wrong by as much as the model has moved since. */

/* The row of the same set and line in @stored; NULL: none. */
const OrrResidual *orr_validate_stored_find(const OrrResiduals *stored, const OrrResidual *row);

/* Whether both have the same likeness and answers, up to a relative 1e-4: files hold six digits. */
gboolean orr_validate_stored_same(const OrrResidual *stored, const OrrResidual *row);

/* What to tell the user: "3 of 10 rows of megatron-sc21 differ from FILE: ...". NULL: nothing, as
 * all rows are the same or FILE holds no row of the set. Newly allocated. */
char *orr_validate_stored_difference(OrrLibrary *library, const OrrValidation *validation);

/* What to tell the user before @folder's files are replaced: "2 rows of FOLDER are gone, the first
 * ...": their sets refuse them now, or are gone. NULL: nothing. Newly allocated. */
char *orr_validate_stored_lost(const GPtrArray *validations, const char *folder);

/* Writes @folder/KIND.csv for each kind of workload, from @validations (OrrValidation *). All files
 * are replaced together, when the last one is complete; on an error none is. errors.csv, of the
 * results without a band, follows. */
gboolean orr_validate_stored_write(const GPtrArray *validations, const char *folder,
                                   GError **error);

/* validate_choices.c: what choosing by the upper end of a band is worth: several measured rows
 * answer one question, and a planner takes the best of them that meets a bound.
 *
 *   serving   rows of one set, model, device, software and lengths, in closed loops; the most
 *             output per GPU with a time to the first token, or between tokens, of at most the
 *             bound. The output is clients x tokens / (ttft + (tokens - 1) tpot), measured or
 *             simulated
 *   training  rows of one set, model, device, software and sequence; the fewest GPUs that reach a
 *             part of the rate of the fastest measured row
 *
 * The point takes a row that meets the bound as simulated; the upper end one whose 80 % band meets
 * it. Either choice breaks the bound where the row it takes was measured to miss it. Questions
 * whose rows all meet the bound, or that have one row, choose nothing and do not count. */

typedef struct {
  const char *name;       /* "tpot 15 ms" */
  guint n_point, n_upper; /* choices; fewer by the upper end: no row's band may meet the bound */
  guint broken_point, broken_upper;
  double kept; /* the worth, measured, of choices by the upper end over the point's; NAN: none */
} OrrChoices;

/* Of OrrChoices: a line for each bound, then one for each kind of bound. */
GArray *orr_validate_choices_new(const OrrValidateBands *bands);

/* Without a bound: how much less than the best measured row the row gives that is best as
 * simulated, and the one whose band has the best lower end. Means over @n questions. */
typedef struct {
  guint n;
  double point, lower;
} OrrChoicesRegret;
OrrChoicesRegret orr_validate_choices_regret(const OrrValidateBands *bands);
