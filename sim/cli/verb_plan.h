/*
 * verb_plan.h - what the parts of `orrery plan` share.
 */
#pragma once

#include "sim/bands/caveats.h"
#include "sim/cli/cli.h"
#include "sim/plan/plan.h"
#include "sim/plan/plan_serving.h"
#include "sim/sweep/sweep.h"

/* The options that all parts on training take, and where they go. */
typedef struct {
  char *model, *cluster, *stack, *precision, *prices, *batch_tokens;
  gint sequence;
} OrrPlanOptions;
extern OrrPlanOptions orr_verb_plan_asked;

#define ORR_VERB_PLAN_ENTRIES(at_)                                                                 \
  ORR_OPTION_TEXT("model", (at_).model, "NAME", "The model"),                                      \
      ORR_OPTION_TEXT("cluster", (at_).cluster, "NAME", "The machine"),                            \
      ORR_OPTION_TEXT("stack", (at_).stack, "NAME",                                                \
                      "The software (default: the newest megatron-core)"),                         \
      ORR_OPTION_TEXT("precision", (at_).precision, "WORD", "The number format (default: bf16)"),  \
      ORR_OPTION_INT("sequence", (at_).sequence,                                                   \
                     "Tokens of a sequence (default: the model's context, at most 8192)"),         \
      ORR_OPTION_TEXT("batch-tokens", (at_).batch_tokens, "N",                                     \
                      "Tokens of a step, such as 4M (default: 4194304)"),                          \
      ORR_OPTION_SETS("PATH=VALUE",                                                                \
                      "Change the scenario or its sweep, e.g. workload.dropout=true; "             \
                      "may be repeated"),                                                          \
      ORR_OPTION_DATABASE(                                                                         \
          "Store the points in FILE (default: orrery.db), where the same question "                \
          "goes on; 'none' stores nothing"),                                                       \
      ORR_OPTION_JOBS("Worker processes (default: one per core)")

/* Checks the options, and fills @ret_asked from them. */
gboolean orr_verb_plan_read(OrrPlanTraining *ret_asked, GError **error);

/* The stack @taken by a plan, where neither --stack nor --set workload.stack of @settings named
 * one; else NULL. */
const char *orr_verb_plan_assumed(const char *stack, char *const *settings, const char *taken);

/* The same for a plan of training on @cluster; newly allocated. */
char *orr_verb_plan_assumed_training(OrrLibrary *library, const char *cluster);

/* Of char *: what @line, a launch line made of @scenario, does not say of it: each key with its
 * value, "workload.loss torch". verb_plan_readback.c. */
GPtrArray *orr_verb_plan_readback(OrrLibrary *library, const OrrScenario *scenario,
                                  const char *line);

/* The currency of a document of prices, for a text; newly allocated. "": unknown. */
char *orr_verb_plan_currency(OrrLibrary *library, const char *prices);
/* What they ask for a kWh of the machine, pue included; 0: nothing. */
double orr_verb_plan_kwh(OrrLibrary *library, const char *prices);

/* Before the search: FALSE where nothing can be written to @path, with ORR_FAULT_USAGE where it is
 * a file that `plan` did not make. */
gboolean orr_verb_plan_check(const char *path, GError **error);

/* Makes the scenario *@text, whose first line stays, ready to be written to @file: applies
 * @settings (--set; NULL: none), and rewrites the paths of the command line (paths.h). */
gboolean orr_verb_plan_set(char **text, char *const *settings, const char *file, GError **error);

/* A sweep of @file that shows its progress; a sweep of the same document in @db goes on.
 * *@ret_none: see sweep.h. */
OrrSweepReport *orr_verb_plan_sweep(OrrLibrary *library, const char *file, const char *db,
                                    char **ret_none, GError **error);

/* --- The fastest layout, for plans that try several sizes (verb_plan_fastest.c) --- */

/* Of the options asked, those that another question about the same training needs: " --stack NAME
 * --set KEY=VALUE". Newly allocated. */
char *orr_verb_plan_again(void);

typedef struct {
  OrrLibrary *library;
  char *folder, *file; /* a temporary one, where each sweep is written */
  OrrCaveats *caveats; /* of all sweeps */
} OrrPlanSweeps;

typedef struct {
  double tokens_per_s;      /* 0: no layout works */
  double low, high, middle; /* its band, as factors; 0: none */
  gboolean is_weak;         /* the band is */
  char *why;                /* why no layout works, where none does */
  OrrNode *point;           /* the scenario of the best layout; NULL: none works */
} OrrPlanFastest;

gboolean orr_verb_plan_sweeps_begin(OrrPlanSweeps *sweeps, OrrLibrary *library, GError **error);
void orr_verb_plan_sweeps_end(OrrPlanSweeps *sweeps);
/* Answers `orrery plan training` for @asked, with the points in the command's database. FALSE with
 * @error: not even a search was possible. */
gboolean orr_verb_plan_fastest(const OrrPlanSweeps *sweeps, const OrrPlanTraining *asked,
                               OrrPlanFastest *ret_fastest, GError **error);
void orr_plan_fastest_clear(OrrPlanFastest *fastest);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrPlanFastest, orr_plan_fastest_clear)

/* --- Slurm (plan_slurm.c) ---
 *
 * A plan of training is a sweep, which goes to a job array (sim/sweep/sweep_slurm.h). The search of
 * plan serving depends on its own answers, round after round, so it is one job on the cores of one
 * node: the same command, which stores its layouts in the database. In both cases the same
 * question, asked again without Slurm, finds what is stored and prints the answer. */

/* Whether @executor (--executor) is slurm. FALSE with @error: another word than local and slurm, or
 * slurm without a database. */
gboolean orr_plan_slurm_asked(const char *executor, const char *db, gboolean *ret_is,
                              GError **error);

/* Submits this process's own command line, without --executor, as one job of @cores cores; prints
 * what to do next. The script and the job's output are in DB.slurm. */
gboolean orr_plan_slurm_submit(const char *db, guint cores, GError **error);

/* --- The answer of plan serving (summary_plan_serving.c) --- */

/* What was found. */
typedef struct {
  const OrrPlanServing *asked;
  const GArray *layouts; /* of OrrPlanLayout */
  const GArray *ranked;  /* of guint: orr_plan_serving_rank */
  const OrrServingResult *fleet;
  const GPtrArray *warnings; /* of char *: what the answer says of itself */
  const char *noun;          /* of a device: "GPU", "chip" */
  const char *assumed;       /* the stack that was taken where none was named; NULL: one was */
  const char *currency;      /* NULL: no prices */
  const char *launch;        /* NULL: none is known */
  const char *file;          /* the best layout's scenario */
  const char *db;            /* NULL: nothing is stored */
  gint64 run, fleet_run;
  guint n_known; /* layouts that an earlier search had answered */
  double seconds;
} OrrPlanServingAnswer;

/* The answer; then, when it is stored, where it is and what to run next. */
void orr_summary_plan_serving_print(const OrrPlanServingAnswer *answer);
void orr_summary_plan_serving_stored(const OrrPlanServingAnswer *answer);
void orr_summary_plan_serving_json(const OrrPlanServingAnswer *answer);

/* Why no layout serves it: the most frequent reasons. Newly allocated. */
char *orr_summary_plan_serving_reasons(const GArray *layouts);
