/*
 * fit_stack.h - a stack's constants from measured rows of one installation.
 *
 *   rows --one replay for each--> simulated values --least squares--> constants --> stack document
 *
 * At most five constants are fitted. For serving: engine.host.step, engine.host.sequence,
 * engine.front-end.prompt-token, engine.front-end.request and, under SGLang's scheduler,
 * engine.recv-interval; for training: host-operators. The
 * sum over all measured values of log(simulated / measured)^2 is minimised by Levenberg's and
 * Marquardt's method with finite differences, within bounds.
 *
 * With asynchronous scheduling most of the host's time is hidden and no row can tell how much there
 * is. So engine.host.exposed becomes 100 %, and the host's times are what GPUs wait for.
 *
 * A constant is left as the stack has it where the rows cannot determine it: where changing it by a
 * typical amount moves no value by 1 %, or where another constant moves all values alike (after
 * projecting the others out, less than a third of its effect is left), or where there are fewer
 * values than constants. What no host can explain is said: a system that is measured faster than
 * its GPUs alone are simulated, and an error of more than 10 % that is left in tokens or steps.
 */
#ifndef ORR_FIT_STACK_H
#define ORR_FIT_STACK_H

#include "sim/base/library.h"
#include "sim/fit/fit_rows.h"

G_BEGIN_DECLS

enum { ORR_FIT_MOST = 5 };

typedef struct {
  const char *path;   /* below workload */
  const char *unit;   /* "s", or "" for a pure number */
  double least, most; /* bounds */
  double typical;     /* a change of this size is felt where the constant matters */
  gboolean is_whole;  /* a whole number: replays and the document round it */
  const char *engine; /* the scheduler whose engine has it; NULL: all */
  double before, after;
  gboolean is_fitted;
  char *why; /* it is not: a sentence; else NULL */
} OrrFitConstant;

/* Root mean square and largest of log(simulated / measured), by column; NaN: no row measured it. */
typedef struct {
  double before, after, left_out; /* left_out: each row predicted from the others; NaN: one row */
} OrrFitError;

typedef struct {
  OrrFitConstant constants[ORR_FIT_MOST];
  guint n_constants;
  OrrFitError errors[ORR_FIT_N_COLUMNS]; /* of measured columns */
  GPtrArray *remarks;                    /* of char *: what host time does not explain */
  /* serving with asynchronous scheduling: the fitted host times are those that GPUs wait for */
  gboolean is_exposed;
  char *stack; /* the stack that was changed: "vllm-0.11" */
  guint n_rows;
  /* [row][column]: simulated before and after */
  double *simulated_before, *simulated_after;
} OrrFit;

typedef struct {
  guint jobs; /* replays at once; 0: one per core */
} OrrFitHow;

/* Fits the stack of the scenario @tree (unread, with its bases) to @rows (of OrrFitRow *). NULL
 * with the reason: the scenario does not pass its checks, a replay fails, nothing can be fitted. */
OrrFit *orr_fit_stack(OrrLibrary *library, const OrrNode *tree, const GPtrArray *rows,
                      const OrrFitHow *how, GError **error);
void orr_fit_stack_free(OrrFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrFit, orr_fit_stack_free)

/* The overlay as a stack document: base, settings with their source and confidence. @rows: the
 * file of the rows; @date: "2026-11-23". Newly allocated. */
char *orr_fit_stack_document(const OrrFit *fit, const char *rows, const char *date);
/* Tables of constants and errors, and the remarks. Newly allocated. */
char *orr_fit_stack_text(const OrrFit *fit, const GPtrArray *rows);

G_END_DECLS

#endif
