/*
 * test_sharding.c - what each way of data parallelism holds and sends, against the papers' closed
 * forms.
 *
 * Memory is ZeRO's table 1 (Rajbhandari et al., SC20): bytes of model states a device for weights
 * and gradients of 2 bytes and an optimizer of K = 12, over N_d devices. Traffic is its section 7:
 * 2 Psi elements for plain data parallelism and for stages 1 and 2, 3 Psi for stage 3, of a large
 * N_d with one micro-batch.
 */
#include <math.h>
#include <string.h>

#include "workloads/training/sharding/sharding.h"

static const OrrShardingKind *kind_named(const char *name) {
  const OrrEntry *entry = orr_registry_find(&orr_sharding_registry, name);
  g_assert_nonnull(entry);
  return (const OrrShardingKind *)entry;
}

static OrrShardingShape shape_of(gint64 ranks, gint64 micro_batches) {
  return (OrrShardingShape){.ranks = ranks,
                            .ranks_a_node = MIN(ranks, 8),
                            .stages = 1,
                            .micro_batches = micro_batches,
                            .weight_bytes = 2,
                            .gradient_bytes = 2,
                            .overlap = TRUE,
                            .bucket_bytes = 25 << 20};
}

/* With the defaults of its parameters. */
static OrrShardingPlan plan_of(const char *name, const OrrShardingShape *shape) {
  const OrrShardingKind *kind = kind_named(name);
  OrrShardingPlan plan = {0};
  g_autofree void *params = kind->entry.params ? g_malloc0(kind->entry.params->size) : NULL;
  if (params) orr_field_defaults(kind->entry.params, params);
  kind->plan(params, shape, &plan);
  return plan;
}

static double model_states_GB(const char *name, gint64 ranks, double parameters) {
  const OrrShardingShape shape = shape_of(ranks, 1);
  const OrrShardingPlan plan = plan_of(name, &shape);
  return parameters *
         (2 * orr_sharding_weights_fraction(&plan) + 2 * orr_sharding_gradients_fraction(&plan) +
          12 * orr_sharding_optimizer_fraction(&plan)) /
         1e9;
}

/* The paper's table 1, to the digits that it prints. */
static void test_zero_table(void) {
  static const struct {
    double billions;
    gint64 devices;
    double baseline, os, os_g, os_g_p;
  } rows[] = {
      {7.5, 1, 120, 120, 120, 120},
      {7.5, 4, 120, 52.5, 41.25, 30},
      {7.5, 16, 120, 35.62, 21.56, 7.5},
      {7.5, 64, 120, 31.41, 16.64, 1.875},
      {7.5, 256, 120, 30.35, 15.41, 0.469},
      {7.5, 1024, 120, 30.09, 15.1, 0.117},
      {128, 4, 2048, 896, 704, 512},
      {128, 64, 2048, 536, 284, 32},
      {128, 1024, 2048, 513.5, 257.75, 2},
      {1000, 16, 16000, 4750, 2875, 1000},
      {1000, 1024, 16000, 4011.72, 2013.67, 15.625},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    const double parameters = rows[i].billions * 1e9;
    g_assert_cmpfloat_with_epsilon(model_states_GB("ddp", rows[i].devices, parameters),
                                   rows[i].baseline, 1e-9);
    g_assert_cmpfloat_with_epsilon(model_states_GB("zero-1", rows[i].devices, parameters),
                                   rows[i].os, 0.006);
    g_assert_cmpfloat_with_epsilon(model_states_GB("zero-2", rows[i].devices, parameters),
                                   rows[i].os_g, 0.006);
    g_assert_cmpfloat_with_epsilon(model_states_GB("zero-3", rows[i].devices, parameters),
                                   rows[i].os_g_p, 0.0006);
    g_assert_cmpfloat(model_states_GB("fsdp", rows[i].devices, parameters), ==,
                      model_states_GB("zero-3", rows[i].devices, parameters));
    g_assert_cmpfloat(model_states_GB("distributed-optimizer", rows[i].devices, parameters), ==,
                      model_states_GB("zero-1", rows[i].devices, parameters));
  }
}

static double sent(const char *name, gint64 ranks, gint64 micro_batches) {
  const OrrShardingShape shape = shape_of(ranks, micro_batches);
  const OrrShardingPlan plan = plan_of(name, &shape);
  return orr_sharding_sent_bytes(&plan, &shape, 1000) /
         2; /* elements of 2 bytes, of 1000 parameters */
}

/* Over 10 ranks (n-1)/n = 0.9: 2 Psi is 1800 elements, 3 Psi 2700. With 4 micro-batches stage 2
 * scatters 4 times and gathers once, 5 Psi; stage 3 and FSDP 4 x 3 Psi; plain and stage 1 reduce
 * once. */
static void test_traffic(void) {
  static const struct {
    const char *name;
    double one, four;
  } rows[] = {{"none", 1800, 1800},   {"ddp", 1800, 1800},    {"distributed-optimizer", 1800, 1800},
              {"zero-1", 1800, 1800}, {"zero-2", 1800, 4500}, {"zero-3", 2700, 10800},
              {"fsdp", 2700, 10800}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_assert_cmpfloat_with_epsilon(sent(rows[i].name, 10, 1), rows[i].one, 1e-9);
    g_assert_cmpfloat_with_epsilon(sent(rows[i].name, 10, 4), rows[i].four, 1e-9);
    g_assert_cmpfloat(sent(rows[i].name, 1, 4), ==, 0); /* alone, nobody to send to */
  }
}

/* 32 ranks in groups of 8: inside, 3 Psi (7/8) = 2625; across 4 groups, an all-reduce of 1000/8
 * elements, 2 (3/4) 125 = 187.5. One group of all is FSDP. */
static void test_hybrid(void) {
  g_assert_cmpfloat_with_epsilon(sent("hsdp", 32, 1), 2625 + 187.5, 1e-9);
  g_assert_cmpfloat(sent("hsdp", 8, 3), ==, sent("fsdp", 8, 3));
  g_assert_cmpfloat_with_epsilon(model_states_GB("hsdp", 32, 7.5e9), 15, 1e-12); /* 16 * 7.5 / 8 */
}

static int index_of(const char *const *words, const char *word) {
  int i = 0;
  while (!g_str_equal(words[i], word)) i++;
  return i;
}

static OrrShardingPlan plan_with(const char *yaml_name, const char *field, const char *value,
                                 const OrrShardingShape *shape) {
  const OrrShardingKind *kind = kind_named(yaml_name);
  g_autofree void *params = g_malloc0(kind->entry.params->size);
  orr_field_defaults(kind->entry.params, params);
  for (size_t i = 0; i < kind->entry.params->n_fields; i++) {
    const OrrField *known = &kind->entry.params->fields[i];
    if (strcmp(known->name, field) != 0) continue;
    if (known->kind == ORR_FIELD_BOOL)
      *(gboolean *)((char *)params + known->offset) = strcmp(value, "true") == 0;
    else if (known->kind == ORR_FIELD_WORD)
      *(int *)((char *)params + known->offset) = index_of(known->words, value);
    else
      *(gint64 *)((char *)params + known->offset) = g_ascii_strtoll(value, NULL, 10);
  }
  OrrShardingPlan plan = {0};
  kind->plan(params, shape, &plan);
  return plan;
}

/* Kept after the forward, weights travel once: 2 Psi. Not reduced each micro-batch, gradients
 * travel once and are whole. */
static void test_fsdp_options(void) {
  const OrrShardingShape shape = shape_of(10, 4);
  const OrrShardingPlan kept = plan_with("fsdp", "reshard-after-forward", "false", &shape);
  g_assert_cmpfloat_with_epsilon(orr_sharding_sent_bytes(&kept, &shape, 1000), 2 * 4 * 2 * 900.0,
                                 1e-9);
  const OrrShardingPlan no_sync = plan_with("fsdp", "reduce-each-micro-batch", "false", &shape);
  g_assert_cmpfloat_with_epsilon(orr_sharding_sent_bytes(&no_sync, &shape, 1000),
                                 2 * (4 * 2 + 1) * 900.0, 1e-9);
  g_assert_cmpfloat(orr_sharding_gradients_fraction(&no_sync), ==, 1);
}

/* FSDP at its defaults has two blocks gathered, one block's gradients as they were made and in
 * the buffer that is scattered: (2 + 1) 2 + 2 bytes of 100 parameters; reduced in fp32 2 2 + 2 +
 * 4. Nothing is gathered where all is whole; stage 2 holds one bucket, here all of the unit. */
static void test_gathered(void) {
  OrrShardingShape shape = shape_of(10, 1);
  shape.autograd_bytes = 2;
  OrrShardingPlan plan = plan_of("fsdp", &shape);
  g_assert_cmpfloat(orr_sharding_gathered_bytes(&plan, &shape, 100), ==, 800);
  shape.gradient_bytes = 4;
  g_assert_cmpfloat(orr_sharding_gathered_bytes(&plan, &shape, 100), ==, 1000);
  shape.gradient_bytes = 2;
  plan = plan_of("none", &shape);
  g_assert_cmpfloat(orr_sharding_gathered_bytes(&plan, &shape, 100), ==, 0);
  plan = plan_of("zero-2", &shape);
  g_assert_cmpfloat(orr_sharding_gathered_bytes(&plan, &shape, 100), ==, 200);
}

/* PyTorch's 25 MiB and 1 MiB; Megatron's max(40e6, 1e6 n) parameters of 2 bytes; one buffer
 * without overlap. */
static void test_buckets(void) {
  OrrShardingShape shape = shape_of(16, 1);
  OrrShardingPlan plan = plan_of("ddp", &shape);
  g_assert_cmpfloat(plan.bucket_bytes, ==, 25 * 1048576.0);
  g_assert_cmpfloat(plan.first_bucket_bytes, ==, 1048576);
  plan = plan_of("distributed-optimizer", &shape);
  g_assert_cmpfloat(plan.bucket_bytes, ==, 80e6);
  shape.ranks = 64;
  plan = plan_of("distributed-optimizer", &shape);
  g_assert_cmpfloat(plan.bucket_bytes, ==, 128e6);
  shape.overlap = FALSE;
  plan = plan_of("distributed-optimizer", &shape);
  g_assert_true(isinf(plan.bucket_bytes));
  plan = plan_of("zero-3", &shape);
  g_assert_cmpfloat(plan.bucket_bytes, ==, 1e9);
  g_assert_cmpfloat(plan.whole_below, ==, 1e5);
}

static void assert_refusal(const char *name, const OrrShardingShape *shape, const char *wanted) {
  const OrrShardingKind *kind = kind_named(name);
  g_autofree void *params = kind->entry.params ? g_malloc0(kind->entry.params->size) : NULL;
  if (params) orr_field_defaults(kind->entry.params, params);
  g_autofree char *refusal = kind->refuse ? kind->refuse(params, shape) : NULL;
  if (!wanted) {
    g_assert_null(refusal);
    return;
  }
  g_assert_nonnull(refusal);
  g_assert_nonnull(strstr(refusal, wanted));
}

static void test_refusals(void) {
  OrrShardingShape shape = shape_of(12, 1);
  assert_refusal("hsdp", &shape, "the data-parallel ranks (12) cannot be divided by its group (8)");
  assert_refusal("zero-3", &shape, NULL);
  shape.stages = 4;
  assert_refusal("zero-2", &shape, "zero-2 does not work with a pipeline (pp is 4)");
  assert_refusal("zero-3", &shape, "use zero-1");
  assert_refusal("ddp", &shape, "ddp does not work with a pipeline (pp is 4)");
  assert_refusal("zero-1", &shape, NULL);
  assert_refusal("fsdp", &shape, NULL);
  assert_refusal("distributed-optimizer", &shape, NULL);
}

/* Sending is never less than what sharding needs, and all entries agree when there is nobody
 * else. */
static void test_every_entry(void) {
  for (guint i = 0; orr_sharding_registry.entries[i]; i++) {
    const char *name = orr_sharding_registry.entries[i]->name;
    g_assert_true(sent(name, 64, 2) >= sent("none", 64, 1) * (1 - 1e-12) ||
                  g_str_equal(name, "hsdp"));
    g_assert_cmpfloat_with_epsilon(model_states_GB(name, 1, 1e9), 16, 1e-12);
    g_assert_true(model_states_GB(name, 16, 1e9) <= 16);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sharding/zero-table", test_zero_table);
  g_test_add_func("/sharding/traffic", test_traffic);
  g_test_add_func("/sharding/hybrid", test_hybrid);
  g_test_add_func("/sharding/fsdp-options", test_fsdp_options);
  g_test_add_func("/sharding/gathered", test_gathered);
  g_test_add_func("/sharding/buckets", test_buckets);
  g_test_add_func("/sharding/refusals", test_refusals);
  g_test_add_func("/sharding/every-entry", test_every_entry);
  return g_test_run();
}
