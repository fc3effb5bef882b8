/*
 * scheduler.h - who computes what in an engine's next step.
 *
 * A scheduler fills a core's batch through orr_core_give, orr_core_admit and orr_core_preempt
 * (serving_core.h), within the core's limits and the cache's blocks. To add one: write
 * workloads/serving/schedulers/NAME.c with one `const OrrScheduler`, add it to the array in
 * scheduler.c and to meson.build.
 */
#ifndef ORR_SCHEDULER_H
#define ORR_SCHEDULER_H

#include "sim/base/field.h"
#include "workloads/serving/serving_core.h"

G_BEGIN_DECLS

struct OrrScheduler {
  OrrEntry entry;
  void (*plan)(OrrCore *core, const void *params);
  double (*key)(const OrrRequest *request,
                const void *params); /* order of waiting, least first; NULL: of arrival */
  OrrRequest *(*pick)(OrrCore *core, GPtrArray *heap); /* NULL: the first by key */
  gboolean is_fair;  /* a queue for each client, the least served first */
  gboolean reserves; /* an admission takes room for the whole output */
  /* prompts are computed whole, and may be longer than the budget of a step */
  gboolean without_chunks;
};

extern const OrrRegistry orr_scheduler_registry;

/* What several schedulers do alike. */

/* vLLM v1, scheduler.py: running requests in order of admission, each as much as it lacks within
 * the budget and @longest_chunk (0: none), preempting the last where there is no room. */
void orr_scheduler_running(OrrCore *core, gint64 longest_chunk);
/* What an admission takes room for: the prompt alone, or prompt and output, so that nobody is
 * ever preempted. */
typedef enum { ORR_RESERVE_PROMPT, ORR_RESERVE_ALL } OrrReserve;
/* Then waiting ones, in chunks or whole, until a limit is met. */
void orr_scheduler_waiting(OrrCore *core, gint64 longest_chunk, gboolean whole, OrrReserve reserve);
/* One token of each running request that decodes. */
void orr_scheduler_decodes(OrrCore *core);
/* Whole prompts beyond any budget. */
void orr_scheduler_whole_prompts(OrrCore *core, OrrReserve reserve);

G_END_DECLS

#endif
