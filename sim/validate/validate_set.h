/*
 * validate_set.h - a validation set, read: its scenario, its table, and what the columns mean.
 */
#ifndef ORR_VALIDATE_SET_H
#define ORR_VALIDATE_SET_H

#include "sim/base/csv.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

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

/* Whether error bands rest on the set's rows: not where its answers come from campaigns or
 * post-training, or are pictures. */
gboolean orr_validate_set_has_bands(const OrrValidateSet *set);

G_END_DECLS

#endif
