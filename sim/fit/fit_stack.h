/*
 * fit_stack.h - a stack's constants from measured rows of one installation.
 *
 *   rows --one replay for each--> simulated values --least squares--> constants --> stack document
 *
 * At most seven constants are fitted. For serving: engine.host.step, engine.host.sequence,
 * engine.front-end.prompt-token, engine.front-end.request, engine.cache-fraction (the cache's
 * tokens), under SGLang's scheduler engine.recv-interval, and for a model with experts
 * engine.expert-kernels.efficiency; for training: host-operators. The sum over all measured values
 * of log(simulated / measured)^2 is minimised by Levenberg's and Marquardt's method with finite
 * differences, within bounds. A point that the scenario's checks refuse (a cache that holds no
 * request) counts as infinitely far.
 *
 * With asynchronous scheduling most of the host's time is hidden and no row can tell how much there
 * is. So engine.host.exposed becomes 100 %, and the host's times are what GPUs wait for.
 *
 * A constant is left as the stack has it where the rows cannot determine it: where changing it by a
 * typical amount moves no value by 1 %, or where another constant moves all values alike (after
 * projecting the others out, less than a third of its effect is left), or where there are fewer
 * values than constants. The rate of experts and the cache take three rows: one row's first token
 * is explained as well by slower experts as by the host, and of ten published campaigns that were
 * fitted at one concurrency so, three had tokens at the others 10 to 27 % off, for 4 to 10 without.
 * What no host can explain is said: a system that is measured faster than
 * its GPUs alone are simulated, and an error of more than 10 % that is left in tokens or steps.
 */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/library.h"

/* fit_rows.c: measured rows of one installation, for `orrery calibrate stack`: a CSV as `import
 * bench` writes it, or typed by hand. */

/* What was asked of the system (a setting of the scenario), and what was measured. */
typedef enum {
  ORR_FIT_CONCURRENCY, /* requests in flight */
  ORR_FIT_RATE,        /* per second; infinity: all at once */
  ORR_FIT_REQUESTS,
  ORR_FIT_INPUT_TOKENS, /* mean per request */
  ORR_FIT_OUTPUT_TOKENS,
  ORR_FIT_GLOBAL_BATCH,
  ORR_FIT_TTFT, /* means, seconds */
  ORR_FIT_TPOT,
  ORR_FIT_E2E,
  ORR_FIT_ITERATION,
  ORR_FIT_N_COLUMNS
} OrrFitColumn;

enum { ORR_FIT_FIRST_MEASURED = ORR_FIT_TTFT };

typedef struct {
  OrrPlace place;
  double cells[ORR_FIT_N_COLUMNS]; /* NaN: empty, or no such column */
} OrrFitRow;

extern const char *const orr_fit_columns[ORR_FIT_N_COLUMNS + 1]; /* NULL-terminated */

/* Of OrrFitRow *, owned by the caller. Columns that resemble none of the ten are left out, as are
 * those that only `import bench` writes. NULL with ORR_FAULT_DOCUMENT (a column that resembles an
 * absent one, a cell that is not a number, a row that measured nothing, no row) or _RESOURCE. */
GPtrArray *orr_fit_rows_read(const char *path, GError **error);

enum { ORR_FIT_MOST = 7, ORR_FIT_N_HOST = 2 }; /* the first of serving are times of the host */

typedef struct {
  const char *path;   /* below workload */
  const char *unit;   /* "s", or "" for a pure number */
  double least, most; /* bounds */
  double typical;     /* a change of this size is felt where the constant matters */
  gboolean is_whole;  /* a whole number: replays and the document round it */
  const char *engine; /* the scheduler whose engine has it; NULL: all */
  gboolean is_of_experts, is_of_cache; /* only models with experts, or with a cache, have it */
  guint rows;                          /* fewer cannot tell it from the host's times */
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

/* fit_replay.c: replays of a scenario at measured rows, with constants of its stack set. */

/* One replay: a row, and a value for each constant (NaN: as the stack has it). */
typedef struct {
  guint row;
  double values[ORR_FIT_MOST];
} OrrFitTask;

typedef struct {
  OrrLibrary *library;
  const OrrNode *tree;
  const GPtrArray *rows;
  const OrrFitConstant *constants;
  guint n_constants, jobs;
  gboolean is_exposed; /* with the constants, engine.host.exposed becomes 100 % */
  gboolean is_lenient; /* values of a replay that is refused are infinite */
  GHashTable *known;   /* the bytes of each task replayed so far -> its values */
} OrrFitReplays;

/* A table for OrrFitReplays.known. */
GHashTable *orr_fit_known_new(void);

/* The simulated values of @n tasks, whose padding is zero: @ret_values[task * ORR_FIT_N_COLUMNS +
 * column], NaN where the workload has no such result. A task is replayed once. FALSE with the first
 * replay's error, unless it is lenient. */
gboolean orr_fit_replay(const OrrFitReplays *replays, const OrrFitTask *tasks, guint n,
                        double *ret_values, GError **error);
