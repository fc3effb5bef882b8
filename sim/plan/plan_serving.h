/*
 * plan_serving.h - which layout of an engine serves the most requests within objectives, and how
 * many replicas a rate needs.
 *
 * A layout is one replica: a machine, tp or attention data parallelism, the tokens of a step. The
 * highest rate that it serves within the objectives is found by orr_capacity_find(); replicas
 * multiply it, which a run of the whole fleet then verifies.
 */
#ifndef ORR_PLAN_SERVING_H
#define ORR_PLAN_SERVING_H

#include "sim/sweep/capacity.h"

G_BEGIN_DECLS

/* What `orrery plan serving` was asked. Texts are borrowed; NULL: the default. */
typedef struct {
  const char *model;
  const char *stack;             /* NULL: the newest vllm */
  const char *prices;            /* NULL: no money */
  char **clusters, **precisions; /* strv, at least one each */
  char **settings;               /* "workload.kv-dtype=fp8": strv; NULL: none */
  gint64 gpus;                   /* what there is; 0: as many as the rate needs */
  double rate;                   /* requests/s; 0: as many as the GPUs serve */
  gint64 input_tokens, output_tokens;
  double ttft_s, tpot_s, fraction; /* the objectives, and how many requests must meet them */
} OrrPlanServing;

typedef struct {
  const char *cluster, *precision; /* of the question */
  gint64 tp, dp_attention;         /* one of them is 1 */
  gint64 batched_tokens;
  gint64 gpus; /* of a replica */
  /* Requests/s of a replica within the objectives, by the simulation alone and with confidence. 0:
   * no rate is low enough; NAN: not known. */
  double rate, sure_rate;
  char *why; /* why it cannot run; NULL: it can */
  /* For the question: */
  gint64 replicas;
  double fleet_rate; /* replicas * rate */
} OrrPlanLayout;

/* The layouts to try, without rates: an array of OrrPlanLayout, which the caller frees with
 * orr_plan_serving_free(). NULL with ORR_FAULT_DOCUMENT: an unknown name. */
GArray *orr_plan_serving_layouts(OrrLibrary *library, const OrrPlanServing *asked, GError **error);
void orr_plan_serving_free(GArray *layouts);

/* The scenario of @replicas of @layout at @rate, as YAML text. Newly allocated. */
char *orr_plan_serving_text(OrrLibrary *library, const OrrPlanServing *asked,
                            const OrrPlanLayout *layout, gint64 replicas, double rate);

/* Sets the layout's rates, or why it cannot run; @start: a rate to begin with; @least: below it the
 * layout is of no interest. FALSE with another error. */
gboolean orr_plan_serving_measure(OrrLibrary *library, const OrrPlanServing *asked,
                                  OrrPlanLayout *layout, double start, double least,
                                  GError **error);

/* Replicas for the question, and the order: the fewest GPUs, or the highest rate of all GPUs;
 * layouts that serve nothing come last. */
void orr_plan_serving_rank(const OrrPlanServing *asked, GArray *layouts);

/* The engine's launch line of a replica; NULL: the stack's engine is not known. Newly allocated. */
char *orr_plan_serving_launch(OrrLibrary *library, const OrrPlanServing *asked,
                              const OrrPlanLayout *layout);

G_END_DECLS

#endif
