/*
 * validate_private.h - what the files of sim/validate share: sets, cases, and the pool for them.
 */
#pragma once

#include "sim/base/csv.h"
#include "sim/run/scenario.h"
#include "sim/run/simulate.h"
#include "sim/validate/validate.h"
#include "sim/validate/validate_costs.h"

/* validate_set.c: a validation set, read: its scenario, its table, and what the columns mean. */

typedef enum {
  ORR_VALIDATE_LABEL,
  ORR_VALIDATE_SOURCE,
  ORR_VALIDATE_NOTE,
  ORR_VALIDATE_N_TEXTS,
  ORR_VALIDATE_MEASURED = ORR_VALIDATE_N_TEXTS,
  ORR_VALIDATE_GPUS,
  ORR_VALIDATE_PATH
} OrrValidateTargetKind;

/* What the cells of a column set. */
typedef struct {
  OrrValidateTargetKind kind;
  char *name; /* PATH: of the scenario; MEASURED: the result's column, with '_' */
} OrrValidateTarget;

typedef struct {
  GArray *targets;       /* of OrrValidateTarget; empty: the column is ignored */
  const OrrNode *values; /* text in the table -> text for the scenario; NULL: any, unchanged */
  double scale;
} OrrValidateColumn;

typedef struct {
  char *name, *path; /* path of the scenario's file */
  OrrNode *tree;     /* the scenario without its `validation` section */
  OrrNode *meaning;  /* the `validation` section; NULL: none */
  OrrCsv *csv;
  GArray *columns;             /* of OrrValidateColumn, one per column of the table */
  const OrrFieldTable *result; /* the result table of the scenario's kind of workload */
} OrrValidateSet;

/* Reads the set @name with its own table, or with @rows_csv. NULL with all errors of its files. */
OrrValidateSet *orr_validate_set_read(OrrLibrary *library, const char *name, const char *rows_csv,
                                      GError **error);
/* The rows of @rows_csv, changes of the unread scenario @tree, whose file is @path. A column is
 * `label`, a path, `measured.METRIC` or METRIC, or one that `import bench` writes. */
OrrValidateSet *orr_validate_set_of_tree(const OrrNode *tree, const char *path,
                                         const char *rows_csv, GError **error);
void orr_validate_set_free(OrrValidateSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrValidateSet, orr_validate_set_free)

/* The first "<column>" in @text, or NULL. */
const char *orr_validate_set_reference(const char *text);

/* The numeric column @name of the set's result table; '-' and '_' are the same. NULL: none. */
const OrrField *orr_validate_set_metric(const OrrValidateSet *set, const char *name);

/* validate_stored.c: whether @metric of the results of @table can have an error band, so that its
 * measured rows are residuals. */
gboolean orr_validate_has_band(const char *table, const char *metric);

/* validate_case.c: one row of a set's table, as a scenario to simulate and the values measured. */

typedef struct {
  gint64 line;
  OrrNode *tree, *over; /* over: the metrics are ratios over this scenario's; NULL: they are not */
  char *texts[ORR_VALIDATE_N_TEXTS]; /* may be NULL, except the label */
  GArray *metrics;                   /* of const OrrField *, in the set's result table */
  GArray *measured;                  /* of double: the value of each metric */
  char *refused;                     /* why the row cannot be simulated; NULL: it can */
  char *part;                        /* of the set; may be NULL */
  gint64 n_gpus;                     /* that the row was measured on; 0: not given */
} OrrValidateCase;

OrrValidateCase *orr_validate_case_new(const OrrValidateSet *set, const OrrCsvLine *line);
void orr_validate_case_free(OrrValidateCase *one);

/* validate_pool.c: simulates cases in processes of their own, several at once. */

typedef struct {
  gboolean ok;
  gboolean failed; /* the simulation crashed, was killed, or could not finish */
  char *reason;    /* why not ok */
  OrrResult result;
  char *time_parts, *memory_parts; /* explanations */
  char *engine, *fidelity;
  char *stack; /* of the row's scenario: orr_scenario_stack_name */
  OrrLikenessRow likeness;
} OrrValidateAnswer;

/* Simulates @cases (OrrValidateCase *), @jobs at once (0: one per core). Returns an
 * OrrValidateAnswer * for each, in the order of @cases. */
GPtrArray *orr_validate_pool_run(OrrLibrary *library, GPtrArray *cases, guint jobs,
                                 OrrValidationProgress progress, void *user);

/* validate_residuals.c: the errors of a set of costs: predicted times of kernels against measured
 * ones, by cross-validation of profiles, or for the rows of a table. */

/* Collects the errors. */
typedef struct {
  const OrrCostValidation *set;
  OrrValidation *validation; /* gets costs and rows */
  GArray *errors;            /* of double: of all shapes */
} OrrValidateResiduals;

/* Cross-validates @profile, or the profile of every device when it is NULL. Keeps only the worst
 * shapes as rows. */
gboolean orr_validate_residuals_add_shapes(OrrValidateResiduals *residuals, OrrLibrary *library,
                                           const char *profile, OrrDiags *diags, GError **error);

/* Predicts the rows of @rows_csv from @profile, as `orrery calibrate cost PROFILE OPERATOR --rows`
 * does, and compares them with their latency_us. */
gboolean orr_validate_residuals_add_rows(OrrValidateResiduals *residuals, OrrLibrary *library,
                                         const char *profile, const char *rows_csv, OrrDiags *diags,
                                         GError **error);
