/*
 * serving_module.h - the attention core of layers whose queries see a choice of keys or a
 * compressed cache: what the whole module takes beyond its products.
 *
 * Rows were measured of whole modules (calibration/cost/cost_module.h). A step prices their
 * products over all its tokens, prompts and decodes together, so the core is the module's time less
 * the time of the products of its own tokens, and at least the roofline of indexer and attention.
 */
#ifndef ORR_SERVING_MODULE_H
#define ORR_SERVING_MODULE_H

#include "workloads/serving/cost/serving_cost.h"

G_BEGIN_DECLS

typedef struct OrrServingModules OrrServingModules;

/* Of the model's layers of @kind; NULL: they have no such module. Borrows both. */
OrrServingModules *orr_serving_modules_new(const OrrServingCostParams *params, guint kind,
                                           const OrrInferenceShard *shard);
void orr_serving_modules_free(OrrServingModules *modules);

/* The chunks of prompts in a step, as chunks of their mean size at the nearest of 64 steps in each
 * doubling of keys; and decodes with @queries tokens each, over @keys. */
OrrCost orr_serving_modules_prompts(OrrServingModules *modules, const OrrStepShape *shape);
OrrCost orr_serving_modules_decodes(OrrServingModules *modules, guint decodes, guint queries,
                                    double keys);
/* Joules of a step's cores. The entries that a query sees count; entries of several tokens count as
 * tokens. */
OrrJoules orr_serving_modules_joules(const OrrServingModules *modules, const OrrStepShape *shape,
                                     double core_s);

G_END_DECLS

#endif
