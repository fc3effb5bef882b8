/*
 * sweep_facts.h - the names that expressions of a sweep can use besides axes and results: facts of
 * the scenario, and quantities derived from the result.
 */
#pragma once

#include "sim/run/answer/kinds.h"
#include "sim/sweep/sweep_plan.h"

typedef enum {
  ORR_FACT_TP,
  ORR_FACT_PP,
  ORR_FACT_DP,
  ORR_FACT_CP,
  ORR_FACT_EP,
  ORR_FACT_CHUNKS,
  ORR_FACT_SCHEDULE,
  ORR_FACT_MICRO_BATCH,
  ORR_FACT_MICRO_BATCHES,
  ORR_FACT_GLOBAL_BATCH,
  ORR_FACT_SEQUENCE,
  ORR_FACT_RECOMPUTE,
  ORR_FACT_SHARDING,
  ORR_FACT_N_GPUS,
  ORR_FACT_NODES,
  ORR_FACT_GPUS_PER_NODE,
  ORR_FACT_SCALE_UP_DOMAIN,
  ORR_FACT_LAYERS,
  ORR_FACT_HEADS,
  ORR_FACT_KV_HEADS,
  ORR_FACT_HIDDEN,
  ORR_FACT_CAPACITY, /* device memory */
  ORR_FACT_TDP,
  ORR_N_FACTS
} OrrSweepFact;

/* Computed from a result and the facts. */
typedef enum { ORR_DERIVED_HEADROOM, ORR_N_DERIVED } OrrSweepDerived;

typedef struct {
  const char *name;
  OrrValueType type;
  const char *sentence;
} OrrSweepFactName;

extern const OrrSweepFactName orr_sweep_facts[ORR_N_FACTS];
extern const OrrSweepFactName orr_sweep_derived[ORR_N_DERIVED];

/* Writes the facts of @scenario into values[0 .. ORR_N_FACTS). */
void orr_sweep_facts_fill(const OrrSweepPlan *plan, const OrrScenario *scenario, OrrValue *values);

/* Writes the results, and what is derived from them, behind the axes. The facts must be there. */
void orr_sweep_facts_fill_result(const OrrSweepPlan *plan, const OrrResult *result,
                                 OrrValue *values);
