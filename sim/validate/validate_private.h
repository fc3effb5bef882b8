/*
 * validate_private.h - what the validate*.c files share. Nobody else includes it.
 */
#ifndef ORR_VALIDATE_PRIVATE_H
#define ORR_VALIDATE_PRIVATE_H

#include <string.h>

#include "calibration/crossval/crossval.h"
#include "sim/base/csv.h"
#include "sim/validate/validate.h"

G_BEGIN_DECLS

typedef enum {
  ORR_VALIDATE_LABEL,
  ORR_VALIDATE_SOURCE,
  ORR_VALIDATE_NOTE,
  ORR_VALIDATE_N_TEXTS,
  ORR_VALIDATE_MEASURED = ORR_VALIDATE_N_TEXTS,
  ORR_VALIDATE_PATH
} OrrValidateTargetKind;

typedef struct {
  OrrValidateTargetKind kind;
  char *name; /* PATH: of the scenario; MEASURED: the result's column, with '_' */
} OrrValidateTarget;

/* What one column of the table means: nothing, or several things. */
typedef struct {
  GArray *targets;       /* OrrValidateTarget */
  const OrrNode *values; /* text in the table -> text for the scenario; NULL: as it is */
  double scale;
} OrrValidateColumn;

typedef struct {
  char *name, *path; /* path of the scenario's file */
  OrrNode *tree;     /* the scenario without its `validation` section */
  OrrNode *meaning;  /* that section; NULL */
  OrrCsv *csv;
  GArray *columns;             /* OrrValidateColumn, one a column of the table */
  const OrrFieldTable *result; /* what the scenario's kind of workload answers with */
} OrrValidateSet;

/* The set with its table and what the columns mean. NULL with all findings. */
OrrValidateSet *orr_validate_set_read(OrrLibrary *library, const char *name, const char *rows_csv,
                                      GError **error);
void orr_validate_set_free(OrrValidateSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrValidateSet, orr_validate_set_free)

/* Where the first <column> of @text begins, or NULL. */
static inline const char *orr_validate_reference(const char *text) {
  const char *open = strchr(text, '<');
  return open && strchr(open, '>') ? open : NULL;
}

/* The column of that name ('-' and '_' alike) of the result that the set's kind of workload has,
 * or NULL. */
const OrrField *orr_validate_metric(const OrrValidateSet *set, const char *name);

/* One row of the table, ready to run. */
typedef struct {
  gint64 line;
  OrrNode *tree;
  char *texts[ORR_VALIDATE_N_TEXTS]; /* NULL: none; the label is never NULL */
  GArray *metrics;                   /* of const OrrField *, of the kind's result table */
  GArray *measured;                  /* of double, parallel */
  char *refused;                     /* why it cannot run; NULL */
  char *part;                        /* of the set; NULL */
} OrrValidateCase;

OrrValidateCase *orr_validate_case_new(const OrrValidateSet *set, const OrrCsvLine *line);
void orr_validate_case_free(OrrValidateCase *one);

OrrValidation *orr_validate_new(const char *set_name);
void orr_validate_set_errors(OrrValidation *validation, OrrErrors errors);

/* What came of one row. */
typedef struct {
  gboolean ok, failed;
  char *reason; /* where not ok */
  OrrResult result;
  char *time_parts, *memory_parts; /* explanations */
  char *engine, *fidelity;
} OrrValidateAnswer;

void orr_validate_answer_free(OrrValidateAnswer *answer);

/* Runs all cases (of OrrValidateCase *), each in a process of its own; of OrrValidateAnswer *, in
 * the order of @cases.
 */
GPtrArray *orr_validate_pool_run(OrrLibrary *library, GPtrArray *cases, guint jobs,
                                 OrrValidationProgress progress, void *user);

G_END_DECLS

#endif
