/*
 * residuals.h - the measured rows that speak for answers: what each row was, what was measured and
 * what Orrery computes.
 *
 * Files: calibration/residuals/KIND.csv, one per kind of workload, written by `make residuals` from
 * all validation sets of scenarios that somebody measured (sets of kernels, and rows that look
 * computed, are left out). A line is one row of a set: `set`, `row` (its line in the set's table),
 * `part`, `label`, the columns of the table likeness, and `answers`, a list of
 * METRIC:MEASURED:SIMULATED with blanks between. `# model-revision: N` names the revision of the
 * model (ORR_MODEL_REVISION) that computed it.
 */
#pragma once

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

/* likeness.c: what an answer is like: the facts that decide which measured rows speak for it.
 *
 * One row (rows_bands.inc describes its columns) is filled from a scenario and its outcome, for
 * validation rows and for questions alike, so that both can be compared member by member.
 */

/* Texts are interned; absent numbers are NAN. */
OrrLikenessRow orr_likeness_of(OrrLibrary *library, const OrrScenario *scenario,
                               const OrrOutcome *outcome);

/* The likeness of NCCL's all-reduce of @bytes over the first @gpus GPUs of @scenario's machine;
 * @outcome is of another workload there. */
OrrLikenessRow orr_likeness_of_all_reduce(const OrrScenario *scenario, const OrrOutcome *outcome,
                                          gint64 gpus, double bytes);

/* The likeness of one size of a run of collectives whose last size has @whole. */
OrrLikenessRow orr_likeness_of_size(const OrrLikenessRow *whole, const OrrOutcome *outcome,
                                    const OrrNcclTestRow *test);

/* Counts the changes that moved answers. Raise it with a change that moves the numbers of a shipped
 * validation set, and run `make residuals`; tests/bands/test_residuals.c says when. */
#define ORR_MODEL_REVISION 34

typedef struct {
  const char *metric; /* interned: "iteration_time_s" */
  double measured, simulated;
} OrrResidualAnswer;

enum { ORR_RESIDUAL_ANSWERS = 4 };

typedef struct {
  const char *set, *part; /* interned; part "": none */
  gint64 row;             /* line of the set's table */
  char *label;
  OrrLikenessRow likeness;
  guint n_answers;
  OrrResidualAnswer answers[ORR_RESIDUAL_ANSWERS];
} OrrResidual;

typedef struct {
  GArray *rows; /* of OrrResidual, by set, then by row */
  gint64 revision;
} OrrResiduals;

OrrResiduals *orr_residuals_new(void);
void orr_residuals_free(OrrResiduals *residuals);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrResiduals, orr_residuals_free)

/* The file of @kind in the library's first folder that has one; newly allocated, NULL: none. */
char *orr_residuals_path(OrrLibrary *library, const char *kind);

/* Reads a file. NULL with the place of its first error. */
OrrResiduals *orr_residuals_read(const char *path, GError **error);

/* The rows that speak for answers of @kind: of its own file, and where GPUs' power is among its
 * measurements the rows of other kinds that measured it: what a GPU draws is the device's. NULL
 * with the place of the first error; without files there are no rows. */
OrrResiduals *orr_residuals_for(OrrLibrary *library, const char *kind, GError **error);

/* Writes the rows whose likeness is of @kind, with this program's revision. */
gboolean orr_residuals_write(const OrrResiduals *residuals, const char *kind, const char *path,
                             GError **error);

/* A likeness as one line of text, and back; FALSE: @text is not one. */
char *orr_residuals_likeness_text(const OrrLikenessRow *row);
gboolean orr_residuals_likeness_parse(const char *text, OrrLikenessRow *ret_row);

/* The answer of @residual for @metric; NULL: it has none. */
const OrrResidualAnswer *orr_residual_answer(const OrrResidual *residual, const char *metric);
