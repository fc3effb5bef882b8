/*
 * sharding.c - closed forms of shardings: bytes sent and bytes held.
 */
#include "workloads/training/sharding/sharding.h"

static double ring_fraction(gint64 ranks) { return (double)(ranks - 1) / (double)ranks; }

double orr_sharding_sent_bytes(const OrrShardingPlan *plan, const OrrShardingShape *shape,
                               double parameters) {
  const double gradients = parameters * shape->gradient_bytes,
               weights = parameters * shape->weight_bytes;
  const double passes = (double)shape->micro_batches,
               reductions = plan->reduces_each_pass ? passes : 1;
  if (!plan->optimizer) return 2 * ring_fraction(shape->ranks) * gradients * reductions;
  const double gathers = plan->weights ? passes * (plan->gathers_again ? 2 : 1) : 1;
  const double inside = ring_fraction(plan->ranks) * (reductions * gradients + gathers * weights);
  const gint64 copies = shape->ranks / plan->ranks;
  return inside + 2 * ring_fraction(copies) * reductions * gradients / (double)plan->ranks;
}

static double fraction(const OrrShardingPlan *plan, gboolean sharded) {
  return sharded ? 1.0 / (double)plan->ranks : 1;
}

double orr_sharding_weights_fraction(const OrrShardingPlan *plan) {
  return fraction(plan, plan->weights);
}
double orr_sharding_gradients_fraction(const OrrShardingPlan *plan) {
  return fraction(plan, plan->gradients);
}
double orr_sharding_optimizer_fraction(const OrrShardingPlan *plan) {
  return fraction(plan, plan->optimizer);
}

double orr_sharding_gathered_bytes(const OrrShardingPlan *plan, const OrrShardingShape *shape,
                                   double layer_parameters) {
  if (plan->ranks == 1) return 0;
  double layers = 0, gradients = 0;
  if (plan->weights) layers = 1 + (double)plan->ahead;
  if (plan->gradients || plan->weights) gradients = layer_parameters * shape->gradient_bytes;
  if (plan->bucket_bytes > 0) gradients = fmin(gradients, plan->bucket_bytes);
  if (plan->copies_gradients) gradients += layer_parameters * shape->autograd_bytes;
  return layers * layer_parameters * shape->weight_bytes + gradients;
}

char *orr_sharding_refuse_pipeline(const char *name, const OrrShardingShape *shape,
                                   const char *why) {
  if (shape->stages == 1) return NULL;
  return g_strdup_printf("optimizer.sharding %s does not work with a pipeline (pp is %ld): %s",
                         name, shape->stages, why);
}
