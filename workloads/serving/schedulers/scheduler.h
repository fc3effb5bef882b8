/*
 * scheduler.h - which requests an engine computes in its next step, and how many tokens of each.
 *
 * A scheduler fills a core's batch through orr_core_give, orr_core_admit and orr_core_preempt
 * (core.h), within the core's limits and the blocks of its cache. What a scheduler remembers from
 * step to step is in a state of its own: one for each core, from `open` to `close`.
 *
 * To add one: write workloads/serving/schedulers/NAME.c with one `const OrrScheduler` and its line
 * in meson.build.
 */
#pragma once

#include "sim/base/field.h"
#include "workloads/serving/core/core.h"

struct OrrScheduler {
  OrrEntry entry;
  gpointer (*open)(void); /* the state of one core; NULL: the scheduler has none */
  void (*close)(gpointer state);
  void (*plan)(OrrCore *core, const void *params, gpointer state); /* mandatory */
  /* Before the ranks of attention data parallelism plan a step; NULL: each plans by itself. */
  void (*balance)(OrrCore *cores, guint n_cores, const void *params);
  /* Orders the waiting requests, least first; NULL: by arrival. */
  double (*key)(const OrrRequest *request, const void *params);
  /* Picks the next request of a queue; NULL: the first by key. */
  OrrRequest *(*pick)(OrrCore *core, const void *params, GPtrArray *heap);
  /* Sequences that the planned step computes for nothing; NULL: none. */
  gint64 (*padding)(const OrrCore *core, gpointer state);
  /* Whether a prompt longer than a step's budget is an error; NULL: never. */
  gboolean (*refuses_long)(const void *params);
  gboolean is_fair;        /* each client has a queue; the one served least is first */
  gboolean by_priority;    /* the key is the priority of the request's class */
  gboolean reserves;       /* an admission takes room for the whole output */
  gboolean without_chunks; /* prompts are computed whole, even above a step's budget */
  gboolean needs_longest;  /* the engine starts only where its cache holds max-model-len tokens */
  /* Whether no prompt is cut, so that a step's budget must hold the longest; NULL: never. */
  gboolean (*keeps_whole)(const void *params);
};

extern const OrrRegistry orr_scheduler_registry;

/* --- what several schedulers share --- */

/* Gives each running request, in order of admission, the tokens that it lacks, within the budget
 * and @longest_chunk (0: no limit), and preempts the last one when the cache is full (vLLM v1,
 * scheduler.py). */
void orr_scheduler_running(OrrCore *core, gint64 longest_chunk);
/* What an admission takes room for: the prompt alone, or prompt and output, so that no request is
 * ever preempted. */
typedef enum { ORR_RESERVE_PROMPT, ORR_RESERVE_ALL } OrrReserve;
/* Admits waiting requests, in chunks or whole, until a limit is met. */
void orr_scheduler_waiting(OrrCore *core, gint64 longest_chunk, gboolean whole, OrrReserve reserve);
/* Gives one token to each running request that decodes. */
void orr_scheduler_decodes(OrrCore *core);
/* vllm.c's parameters and steps, for schedulers that differ in the order of requests alone. */
extern const OrrFieldTable orr_scheduler_vllm_table;
void orr_scheduler_vllm_plan(OrrCore *core, const void *params, gpointer state);
gboolean orr_scheduler_vllm_keeps_whole(const void *params);
/* Admits whole prompts. The first may be larger than the budget; together they may not. */
void orr_scheduler_whole_prompts(OrrCore *core, OrrReserve reserve);
