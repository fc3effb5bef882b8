/*
 * test_collective_oracle.c - every algorithm against its own closed form on an idle fabric, and
 * what must hold for all.
 */
#include "tests/workloads/collectives/test_collective_fixture.h"

static const double sizes[] = {0, 1, 4096, 1e6, 1e9, 7e10};

typedef void (*EntryCheck)(const Machine *machine, const OrrCollectiveAlgorithm *algorithm,
                           const OrrCollectiveCall *call);

/* @check for every entry of the registry, every operation that it supports, and every size. */
static void for_all(const Machine *machine, const gint64 *gpus, guint n, EntryCheck check) {
  OrrCollectiveContext context = {.fabric = machine->fabric};
  for (guint e = 0; orr_collective_registry.entries[e]; e++)
    for (guint op = 0; op < ORR_N_COLLECTIVES; op++)
      for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
        const OrrCollectiveAlgorithm *algorithm = (gconstpointer)orr_collective_registry.entries[e];
        OrrCollectiveCall call = {.op = op, .bytes = sizes[s], .gpus = gpus, .n = n};
        if (algorithm->supports(&context, &call) && (op != ORR_SEND_RECV || n == 2))
          check(machine, algorithm, &call);
      }
}

static double predicted(const Machine *machine, const OrrCollectiveAlgorithm *algorithm,
                        const OrrCollectiveCall *call) {
  g_autoptr(OrrCollectivePlan) plan =
      plan_on(machine, call->op, call->bytes, call->gpus, call->n, algorithm->entry.name);
  g_assert_true(plan->algorithm == algorithm);
  g_assert_cmpint(plan->how, ==, ORR_HOW_MODELLED);
  return plan->predicted_s;
}

static void check_across(const Machine *machine, const OrrCollectiveAlgorithm *algorithm,
                         const OrrCollectiveCall *call) {
  assert_close(predicted(machine, algorithm, call), algorithm->oracle(call, NIC_HOP, NIC), 1e-12);
}

/* The tree's oracle is for one member a domain: inside one it is a chain, see
 * test_collective_plan.c. */
static void check_inside(const Machine *machine, const OrrCollectiveAlgorithm *algorithm,
                         const OrrCollectiveCall *call) {
  if (!g_str_equal(algorithm->entry.name, "tree"))
    assert_close(predicted(machine, algorithm, call),
                 algorithm->oracle(call, SCALE_UP_HOP, SCALE_UP), 1e-12);
}

/* One rank a node, all nodes under one leaf: every pair is 2 us + 0.5 us apart, at the NIC's
 * rate. */
static void test_one_member_a_domain(void) {
  static const guint counts[] = {2, 3, 4, 5, 6, 7, 8, 12, 13, 31, 32, 33, 64};
  g_auto(Machine) machine;
  machine_init(&machine, 64, 8, 64, 1);
  for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
    g_autofree gint64 *gpus = group_new(counts[i], 3, 8);
    for_all(&machine, gpus, counts[i], check_across);
  }
}

static void test_inside_one_domain(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  for (guint n = 2; n <= 8; n++) {
    g_autofree gint64 *gpus = group_new(n, 8, 1);
    for_all(&machine, gpus, n, check_inside);
  }
}

/* The ring to the letter, as issue and manual give it: 2(n-1) hops and 2(n-1)/n S/B, up to a
 * thousand ranks. */
static void test_ring_formula(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 1024, 8, 1024, 1);
  for (guint n = 2; n <= 1024; n *= 2) {
    g_autofree gint64 *gpus = group_new(n, 0, 8);
    g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, ORR_ALL_REDUCE, 1e9, gpus, n, "ring");
    assert_close(plan->predicted_s, 2 * (n - 1.0) * 2.5e-6 + 2 * (n - 1.0) / n * 1e9 / 24e9, 1e-12);
  }
}

static const Machine *twice_as_fast;

static void check_halves(const Machine *machine, const OrrCollectiveAlgorithm *algorithm,
                         const OrrCollectiveCall *call) {
  g_autoptr(OrrCollectivePlan) slow =
      plan_on(machine, call->op, call->bytes, call->gpus, call->n, algorithm->entry.name);
  g_autoptr(OrrCollectivePlan) fast =
      plan_on(twice_as_fast, call->op, call->bytes, call->gpus, call->n, algorithm->entry.name);
  double slow_s = slow->predicted_s - latency_of(slow),
         fast_s = fast->predicted_s - latency_of(fast);
  g_assert_cmpfloat(latency_of(slow), ==, latency_of(fast));
  /* The subtraction leaves an absolute error of some bits of the whole. */
  g_assert_cmpfloat_with_epsilon(fast_s, slow_s / 2, 1e-9 * slow_s + 1e-15 * slow->predicted_s);
}

static void test_double_bandwidth(void) {
  g_auto(Machine) machine;
  g_auto(Machine) fast;
  machine_init(&machine, 6, 8, 2, 1);
  machine_init(&fast, 6, 8, 2, 2);
  twice_as_fast = &fast;
  g_autofree gint64 *inside = group_new(8, 0, 1), *across = group_new(6, 1, 8),
                    *mixed = group_new(48, 0, 1);
  g_autofree gint64 *pair = group_new(2, 0, 40), *odd = group_new(13, 2, 3);
  for_all(&machine, inside, 8, check_halves);
  for_all(&machine, across, 6, check_halves);
  for_all(&machine, mixed, 48, check_halves);
  for_all(&machine, pair, 2, check_halves);
  for_all(&machine, odd, 13, check_halves);
}

/* In the limit of size, busbw = factor * bytes / time is the link's rate for the algorithms that
 * waste nothing. */
static void test_bus_bandwidth(void) {
  static const struct {
    OrrCollectiveOp op;
    const char *algorithm;
  } rows[] = {{ORR_ALL_REDUCE, "ring"}, {ORR_ALL_GATHER, "ring"}, {ORR_REDUCE_SCATTER, "ring"},
              {ORR_BROADCAST, "ring"},  {ORR_REDUCE, "ring"},     {ORR_ALL_TO_ALL, "pairwise"}};
  g_auto(Machine) machine;
  machine_init(&machine, 16, 8, 16, 1);
  g_autofree gint64 *gpus = group_new(16, 0, 8);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrCollectivePlan) plan =
        plan_on(&machine, rows[i].op, 1e15, gpus, 16, rows[i].algorithm);
    assert_close(orr_collective_bus_factor(rows[i].op, 16) * 1e15 / plan->predicted_s, NIC, 1e-6);
  }
}

/* nccl-tests, PERFORMANCE.md: 2(n-1)/n, (n-1)/n, 1. */
static void test_bus_factors(void) {
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_ALL_REDUCE, 8), ==, 1.75);
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_ALL_GATHER, 8), ==, 0.875);
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_REDUCE_SCATTER, 8), ==, 0.875);
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_ALL_TO_ALL, 8), ==, 0.875);
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_BROADCAST, 8), ==, 1);
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_REDUCE, 8), ==, 1);
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_SEND_RECV, 2), ==, 1);
  g_assert_cmpfloat(orr_collective_bus_factor(ORR_ALL_REDUCE, 1), ==, 0);
}

/* N nodes of 8, S = 1 GB: inside, a ring's pass of 7 hops and 7/8 S; between nodes one rank's S/8.
 * NHR over 3: 2 hops and 2/3 of it; halving-doubling over 3: a pair and a third, 1 + 1 hops, 1/2 +
 * 1. Over 4 both take 2 hops and 3/4. An all-reduce does all of it twice, other operations once. */
static void test_two_levels(void) {
  static const struct {
    guint nodes;
    const char *algorithm;
    double hops, part;
  } rows[] = {{3, "nhr", 2, 2.0 / 3},
              {3, "nb", 2, 2.0 / 3},
              {4, "nhr", 2, 0.75},
              {3, "halving-doubling", 2, 1.5},
              {4, "halving-doubling", 2, 0.75}};
  const double inside_s = 7 * SCALE_UP_HOP + 0.875 * 1e9 / SCALE_UP;
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_auto(Machine) machine;
    const guint n = rows[i].nodes * 8;
    machine_init(&machine, rows[i].nodes, 8, rows[i].nodes, 1);
    g_autofree gint64 *gpus = group_new(n, 0, 1);
    const double wanted_s = inside_s + rows[i].hops * NIC_HOP + rows[i].part * 1e9 / 8 / NIC;
    g_autoptr(OrrCollectivePlan) both =
        plan_on(&machine, ORR_ALL_REDUCE, 1e9, gpus, n, rows[i].algorithm);
    g_autoptr(OrrCollectivePlan) one =
        plan_on(&machine, ORR_REDUCE_SCATTER, 1e9, gpus, n, rows[i].algorithm);
    assert_close(both->predicted_s, 2 * wanted_s, 1e-12);
    assert_close(one->predicted_s, wanted_s, 1e-12);
  }
}

static void test_entries(void) {
  for (guint e = 0; orr_collective_registry.entries[e]; e++) {
    const OrrEntry *entry = orr_collective_registry.entries[e];
    g_assert_cmpuint(strlen(entry->sentence), >, 10);
    if (e > 0) g_assert_cmpstr(orr_collective_registry.entries[e - 1]->name, <, entry->name);
  }
  g_assert_cmpuint(g_strv_length((char **)(gpointer)orr_collective_words), ==, ORR_N_COLLECTIVES);
  g_assert_cmpuint(g_strv_length((char **)(gpointer)orr_collective_nccl_words), ==,
                   ORR_N_COLLECTIVES);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective/oracle/one-member-a-domain", test_one_member_a_domain);
  g_test_add_func("/collective/oracle/inside-one-domain", test_inside_one_domain);
  g_test_add_func("/collective/oracle/ring-formula", test_ring_formula);
  g_test_add_func("/collective/oracle/double-bandwidth", test_double_bandwidth);
  g_test_add_func("/collective/oracle/bus-bandwidth", test_bus_bandwidth);
  g_test_add_func("/collective/oracle/bus-factors", test_bus_factors);
  g_test_add_func("/collective/oracle/two-levels", test_two_levels);
  g_test_add_func("/collective/oracle/entries", test_entries);
  return g_test_run();
}
