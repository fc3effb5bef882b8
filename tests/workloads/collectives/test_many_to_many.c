/*
 * test_many_to_many.c - M senders and N receivers: the busiest link, by hand.
 */
#include "tests/workloads/collectives/test_collective_fixture.h"
#include "workloads/collectives/many_to_many.h"

static OrrManyToManyTime ask(const Machine *machine, gint64 from, gint64 n_from, gint64 to,
                             gint64 n_to) {
  const OrrCollectiveContext context = {.fabric = machine->fabric};
  return orr_many_to_many(&context, &(OrrManyToMany){from, n_from, to, n_to});
}

static void assert_is(OrrManyToManyTime time, double latency_s, double per_byte_s) {
  g_assert_cmpfloat_with_epsilon(time.latency_s, latency_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(time.per_byte_s, per_byte_s, 1e-9 * per_byte_s);
}

/* Nodes of 8 GPUs with a NIC each, all under one leaf. A sender's NIC carries a byte of each of N
 * pairs, a receiver's one of each of M: the larger number counts. */
static void test_across(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  assert_is(ask(&machine, 0, 8, 8, 16), NIC_HOP, 16 / NIC);
  assert_is(ask(&machine, 8, 16, 0, 8), NIC_HOP, 16 / NIC);
  assert_is(ask(&machine, 0, 8, 8, 4), NIC_HOP, 8 / NIC);
  assert_is(ask(&machine, 0, 1, 8, 1), NIC_HOP, 1 / NIC);
}

/* In one domain of 8, four send to four over the scale-up links. */
static void test_inside(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 1, 8, 1, 1);
  assert_is(ask(&machine, 0, 4, 4, 4), SCALE_UP_HOP, 4 / SCALE_UP);
  assert_is(ask(&machine, 0, 2, 2, 6), SCALE_UP_HOP, 6 / SCALE_UP);
}

/* A NIC carries one pair; eight pairs from leaf to leaf share what oversubscription leaves of four
 * NICs. */
static void test_in_pairs(void) {
  static const OrrManyToMany pairs = {0, 8, 8, 8, .in_pairs = TRUE};
  g_auto(Machine) wide, narrow;
  machine_init(&wide, 2, 8, 2, 1);
  machine_init_on(&narrow, 2, 8,
                  "{kind: fat-tree, radix: 65536, nodes-per-leaf: 1, oversubscription: 2}", 1);
  assert_is(orr_many_to_many(&(OrrCollectiveContext){.fabric = wide.fabric}, &pairs), NIC_HOP,
            1 / NIC);
  const double slow =
      orr_many_to_many(&(OrrCollectiveContext){.fabric = narrow.fabric}, &pairs).per_byte_s;
  g_assert_cmpfloat_with_epsilon(slow, 2 / NIC, 1e-9 * slow);
}

/* A leaf of two nodes with half of their bandwidth upwards: 16 senders have 8 NICs' worth between
 * them, which 16 * 16 pairs share, so 32 / NIC; with twice that, a NIC's 16 / NIC decide. */
static void test_oversubscribed(void) {
  static const char fabric[] =
      "{kind: fat-tree, radix: 65536, nodes-per-leaf: 2, switch-latency: 0.5 us, "
      "oversubscription: %d}";
  g_autofree char *half = g_strdup_printf(fabric, 2), *full = g_strdup_printf(fabric, 1);
  g_auto(Machine) narrow, wide;
  machine_init_on(&narrow, 4, 8, half, 1);
  machine_init_on(&wide, 4, 8, full, 1);
  const double slow = ask(&narrow, 0, 16, 16, 16).per_byte_s,
               fast = ask(&wide, 0, 16, 16, 16).per_byte_s;
  g_assert_cmpfloat_with_epsilon(fast, 16 / NIC, 1e-9 * fast);
  g_assert_cmpfloat_with_epsilon(slow, 32 / NIC, 1e-9 * slow);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/many-to-many/across", test_across);
  g_test_add_func("/workloads/many-to-many/inside", test_inside);
  g_test_add_func("/workloads/many-to-many/in-pairs", test_in_pairs);
  g_test_add_func("/workloads/many-to-many/oversubscribed", test_oversubscribed);
  return g_test_run();
}
