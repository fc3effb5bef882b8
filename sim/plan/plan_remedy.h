/*
 * plan_remedy.h - what would make a training job or an engine fit that does not, each with the time
 * that it would take.
 */
#ifndef ORR_PLAN_REMEDY_H
#define ORR_PLAN_REMEDY_H

#include "sim/plan/plan.h"

G_BEGIN_DECLS

typedef struct {
  char **settings; /* "workload.recompute=full": strv, for --set */
  double memory_bytes;
  double iteration_s;    /* training; 0: not replayed */
  double ttft_s, tpot_s; /* serving: means over a brief load */
  gint64 gpus;           /* serving: in use */
  gboolean is_slow;      /* serving: it does not keep up with the load */
} OrrPlanRemedy;

void orr_plan_remedy_free(OrrPlanRemedy *remedy);

enum { ORR_PLAN_REMEDY_MOST_GPUS = 16384 };

/* Tries recomputation, smaller micro-batches, sharding, offload of the optimizer, fewer
 * chunks, fp8, more expert, tensor, pipeline and context parallelism, and some of them
 * together. Each that passes the checks and whose memory fits is replayed as a sweep replays its
 * points: folded, on the engine `fair`, of a step shortened as far as it is steady. On more than
 * ORR_PLAN_REMEDY_MOST_GPUS none is replayed, since routes of a million GPUs take ten seconds each:
 * what fits is then in the order above, with iteration_s 0, and so are replays that @watch stops.
 * @tree: the scenario's document, @scenario: what was read from it. Returns those that fit, fastest
 * first, of OrrPlanRemedy *; @ret_n_tried: how many passed the checks. The caller owns it. */
GPtrArray *orr_plan_remedy_list(OrrLibrary *library, const OrrNode *tree,
                                const OrrScenario *scenario, const OrrPlanPatience *watch,
                                guint *ret_n_tried);

/* Whether the findings of a serving scenario that was refused say that it does not fit. */
gboolean orr_plan_remedy_is_serving(const char *findings);

/* The same of an engine whose weights, or whose longest request, do not fit: narrower weights and
 * caches, and more tensor, pipeline and expert parallelism, on more GPUs where there are too few.
 * @scenario: its fields, which its checks refuse. Those on the fewest GPUs first. */
GPtrArray *orr_plan_remedy_serving_list(OrrLibrary *library, const OrrNode *tree,
                                        const OrrScenario *scenario, guint *ret_n_tried);

/* For both: the documents with one of @tries (strvs of settings) that pass the checks, on the
 * engine `fair`; their settings are copied to @ret_settings. The caller owns them. */
GPtrArray *orr_plan_remedy_points(OrrLibrary *library, const OrrNode *tree, const GPtrArray *tries,
                                  GPtrArray *ret_settings);

/* "tp 8, recompute full": the settings without their paths. Newly allocated. */
char *orr_plan_remedy_text(const OrrPlanRemedy *remedy);

G_END_DECLS

#endif
