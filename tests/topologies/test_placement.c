/*
 * test_placement.c - which GPU holds which rank, in the orders of Megatron and of others.
 */
#include "topologies/placement.h"

#include "sim/base/fault.h"

static void test_megatron_order(void) {
  /* tp 2, cp 2, dp 3, pp 2; rank = tp + 2 cp + 4 dp + 12 pp. (1, 1, 2, 1): 1 + 2 + 8 + 12 = 23,
   * the last of 24. */
  const gint64 size[ORR_N_AXES] = {2, 2, 3, 2};
  const gint64 at[ORR_N_AXES] = {1, 1, 2, 1}, other[ORR_N_AXES] = {1, 0, 2, 0};
  OrrPlacement placement;
  g_assert_true(orr_placement_init(&placement, "tp-cp-dp-pp", size, NULL));
  g_assert_cmpint(orr_placement_gpu(&placement, at), ==, 23);
  g_assert_cmpint(orr_placement_gpu(&placement, other), ==, 9);
}

static void test_groups(void) {
  const gint64 size[ORR_N_AXES] = {2, 2, 3, 2};
  const gint64 at[ORR_N_AXES] = {1, 0, 2,
                                 0}; /* rank 9; the dp group: 1, 5, 9; the pp group: 9, 21 */
  OrrPlacement placement;
  gint64 gpus[3];
  g_assert_true(orr_placement_init(&placement, "tp-cp-dp-pp", size, NULL));
  orr_placement_group(&placement, ORR_AXIS_DP, at, gpus);
  g_assert_cmpint(gpus[0], ==, 1);
  g_assert_cmpint(gpus[1], ==, 5);
  g_assert_cmpint(gpus[2], ==, 9);
  orr_placement_group(&placement, ORR_AXIS_PP, at, gpus);
  g_assert_cmpint(gpus[0], ==, 9);
  g_assert_cmpint(gpus[1], ==, 21);
}

static void test_other_order(void) {
  /* pp fastest, then tp: (tp 1, pp 1) of tp 2, pp 3 is 1 + 3 * 1 = 4. */
  const gint64 size[ORR_N_AXES] = {2, 1, 4, 3};
  const gint64 at[ORR_N_AXES] = {1, 0, 0, 1};
  OrrPlacement placement;
  g_assert_true(orr_placement_init(&placement, "pp-tp-dp-cp", size, NULL));
  g_assert_cmpint(orr_placement_gpu(&placement, at), ==, 4);
}

/* ep is not an axis: before dp, or after it. */
static void test_experts(void) {
  const gint64 size[ORR_N_AXES] = {2, 2, 3, 2};
  const gint64 at[ORR_N_AXES] = {1, 1, 2, 1};
  OrrPlacement placement;
  g_assert_true(orr_placement_init(&placement, "tp-cp-ep-dp-pp", size, NULL));
  g_assert_false(placement.ep_after_dp);
  g_assert_cmpint(orr_placement_gpu(&placement, at), ==, 23);
  g_assert_true(orr_placement_init(&placement, "tp-cp-dp-pp-ep", size, NULL));
  g_assert_true(placement.ep_after_dp);
  g_assert_cmpint(orr_placement_gpu(&placement, at), ==, 23);
}

/* Each of 4 * 3 * 5 * 2 ranks has a GPU of its own. */
static void test_round_trip(void) {
  const char *const orders[] = {"tp-cp-dp-pp", "dp-tp-pp-cp", "pp-dp-cp-tp"};
  const gint64 size[ORR_N_AXES] = {4, 3, 5, 2};
  for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
    OrrPlacement placement;
    gboolean is_taken[120] = {FALSE};
    g_assert_true(orr_placement_init(&placement, orders[i], size, NULL));
    for (gint64 rank = 0; rank < 120; rank++) {
      const gint64 at[ORR_N_AXES] = {rank % 4, rank / 4 % 3, rank / 12 % 5, rank / 60};
      const gint64 gpu = orr_placement_gpu(&placement, at);
      g_assert_true(gpu >= 0 && gpu < 120 && !is_taken[gpu]);
      is_taken[gpu] = TRUE;
    }
  }
}

static void assert_refused(const char *order, const gint64 size[ORR_N_AXES], const char *part) {
  g_autoptr(GError) error = NULL;
  OrrPlacement placement = {{7, 7, 7, 7}, {0}, FALSE};
  g_assert_false(orr_placement_init(&placement, order, size, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_nonnull(g_strstr_len(error->message, -1, part));
  g_assert_cmpint(placement.size[0], ==, 7); /* untouched on failure */
}

static void test_refusals(void) {
  const gint64 good[ORR_N_AXES] = {1, 1, 1, 1}, zero[ORR_N_AXES] = {1, 1, 0, 1};
  const gint64 huge[ORR_N_AXES] = {G_MAXINT32, 1, 2, 1};
  assert_refused("tp-cp-dp", good, "tp-cp-dp");
  assert_refused("tp-tp-dp-pp", good, "once");
  assert_refused("tp-cp-dp-ep", good, "tp, cp, dp, pp");
  assert_refused("ep-tp-cp-dp-pp", good, "may name ep once, after tp");
  assert_refused("tp-ep-cp-ep-dp-pp", good, "may name ep once, after tp");
  assert_refused("", good, "''");
  assert_refused("tp-cp-dp-pp", zero, "dp is 0");
  assert_refused("tp-cp-dp-pp", huge, "dp is 2");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/placement/megatron-order", test_megatron_order);
  g_test_add_func("/placement/groups", test_groups);
  g_test_add_func("/placement/other-order", test_other_order);
  g_test_add_func("/placement/experts", test_experts);
  g_test_add_func("/placement/round-trip", test_round_trip);
  g_test_add_func("/placement/refusals", test_refusals);
  return g_test_run();
}
