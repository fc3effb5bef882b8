/*
 * test_collective_flow.c - the weights that edges add up to, against a hash table of GLib's; and
 * that naming the algorithm which the planner would choose changes nothing; meshes; tapes.
 */
#include "sim/base/library.h"
#include "tests/workloads/collectives/test_collective_fixture.h"
#include "workloads/collectives/collective_private.h"
#include "tests/run/shared_library.h"

#define S 1e9

typedef struct {
  GArray *uses;        /* of OrrLinkUse, in the order of first use */
  GHashTable *numbers; /* link + 1 -> its index + 1 */
} Reference;

static void reference_load(Reference *reference, guint32 link, guint32 parts) {
  const gpointer key = GUINT_TO_POINTER(link + 1);
  guint at = GPOINTER_TO_UINT(g_hash_table_lookup(reference->numbers, key));
  if (at == 0) {
    const OrrLinkUse use = {link, 0};
    g_array_append_val(reference->uses, use);
    at = reference->uses->len;
    g_hash_table_insert(reference->numbers, key, GUINT_TO_POINTER(at));
  }
  g_array_index(reference->uses, OrrLinkUse, at - 1).weight += parts;
}

/* Links as groups use them: scattered, or runs at a stride from some first link, each twice. */
static void check_loads(guint32 seed) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  const OrrCollectiveContext context = {.fabric = machine.fabric};
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, &context);
  g_autoptr(GRand) random = g_rand_new_with_seed(seed);
  Reference reference = {g_array_new(FALSE, FALSE, sizeof(OrrLinkUse)),
                         g_hash_table_new(g_direct_hash, g_direct_equal)};
  const guint stride = 1u << g_rand_int_range(random, 0, 9),
              n = 1u << g_rand_int_range(random, 3, 14);
  const guint32 first = (guint32)g_rand_int_range(random, 0, 1000000);
  const gboolean scattered = g_rand_int_range(random, 0, 4) == 0;
  for (guint i = 0; i < 2 * n; i++) {
    const guint32 link =
        scattered ? (guint32)g_rand_int_range(random, 0, 1 << 24) : first + i % n * stride;
    const guint32 parts = 1 + i % 3;
    orr_collective_flow_load(&flow, link, parts);
    reference_load(&reference, link, parts);
  }
  if (flow.uses->len != reference.uses->len ||
      memcmp(flow.uses->data, reference.uses->data, flow.uses->len * sizeof(OrrLinkUse)) != 0)
    g_error("seed %u: other weights than by the reference", seed);
  g_array_unref(reference.uses);
  g_hash_table_unref(reference.numbers);
}

static void test_loads(void) {
  for (guint32 seed = 1; seed <= 60; seed++) check_loads(seed);
}

static void assert_same(const OrrCollectivePlan *chosen, const OrrCollectivePlan *named,
                        guint32 seed) {
  gboolean same = chosen->phases->len == named->phases->len && chosen->how == named->how &&
                  chosen->predicted_s == named->predicted_s && chosen->protocol == named->protocol;
  for (guint k = 0; same && k < chosen->phases->len; k++) {
    const OrrCollectivePhase *a = phase_of(chosen, k), *b = phase_of(named, k);
    same = a->latency_s == b->latency_s && a->bytes == b->bytes && a->n_uses == b->n_uses &&
           memcmp(a->uses, b->uses, a->n_uses * sizeof *a->uses) == 0;
  }
  if (!same) g_error("seed %u: '%s' by name is another plan", seed, chosen->algorithm->entry.name);
}

/* On one node, where measured times apply, and on several, where they do not; with and without a
 * protocol of the user's. */
static void test_named_is_chosen(void) {
  static const OrrProtocol protocols[] = {ORR_PROTOCOL_AUTO, ORR_PROTOCOL_LL, ORR_PROTOCOL_LL128};
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  const OrrNode *tree = orr_library_borrow(library, "profile", "h100-sxm", (OrrPlace){0}, diags);
  g_autoptr(OrrProfile) profile = orr_profile_read(tree, library, diags);
  g_auto(Machine) machine;
  machine_init(&machine, 16, 8, 4, 1);
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &machine.cluster.device, &error);
  g_assert_no_error(error);
  for (guint32 seed = 1; seed <= 80; seed++) {
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    const guint n = 1u << g_rand_int_range(random, 1, 8);
    const gint64 stride = n <= 16 && g_rand_boolean(random) ? 8 : 1;
    g_autofree gint64 *gpus = group_new(n, 0, stride);
    const OrrCollectiveContext context = {.fabric = machine.fabric, .cost = seed % 4 ? cost : NULL};
    const OrrCollectiveCall call = {.op = (OrrCollectiveOp)g_rand_int_range(random, 0, 4),
                                    .bytes = (double)(1u << g_rand_int_range(random, 8, 31)),
                                    .gpus = gpus,
                                    .n = n,
                                    .protocol = protocols[g_rand_int_range(random, 0, 3)]};
    g_autoptr(OrrCollectivePlan) chosen = orr_collective_plan(&context, &call, NULL, NULL);
    g_autoptr(OrrCollectivePlan) named =
        orr_collective_plan(&context, &call, chosen->algorithm, NULL);
    assert_same(chosen, named, seed);
  }
}

/* A mesh of 7 links: m GPUs of a domain have m - 1 of each other's. All 8 have a switch's rate, 4
 * three sevenths of it, 2 (a ring of two, or one sender) a seventh; NICs are as they were. A domain
 * of more GPUs than the links join is refused. */
static void test_mesh(void) {
  static const struct {
    OrrCollectiveOp op;
    const char *algorithm;
    guint n;
    double bytes, seconds; /* of the buffer; of the transfer with a switch */
  } cases[] = {{ORR_ALL_REDUCE, "ring", 8, S, 14.0 / 8 * S / SCALE_UP},
               {ORR_ALL_REDUCE, "ring", 4, S, 6.0 / 4 * S / SCALE_UP},
               {ORR_ALL_REDUCE, "ring", 2, S, S / SCALE_UP},
               {ORR_ALL_TO_ALL, "pairwise", 8, S, 7.0 / 8 * S / SCALE_UP},
               {ORR_ALL_TO_ALL, "pairwise", 4, S, 3.0 / 4 * S / SCALE_UP}};
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree gint64 *gpus = group_new(cases[i].n, 0, 1);
    machine.cluster.device.scale_up_links = 0;
    g_autoptr(OrrCollectivePlan) switched =
        plan_on(&machine, cases[i].op, S, gpus, cases[i].n, cases[i].algorithm);
    machine.cluster.device.scale_up_links = 7;
    g_autoptr(OrrCollectivePlan) mesh =
        plan_on(&machine, cases[i].op, S, gpus, cases[i].n, cases[i].algorithm);
    const double latency_s = latency_of(switched);
    assert_close(switched->predicted_s - latency_s, cases[i].seconds, 1e-9);
    assert_close(mesh->predicted_s - latency_s, cases[i].seconds * 7 / (cases[i].n - 1), 1e-9);
  }
  g_autofree gint64 *all = group_new(32, 0, 1);
  g_autoptr(OrrCollectivePlan) nodes = plan_on(&machine, ORR_ALL_REDUCE, S, all, 32, "ring");
  assert_close(nodes->predicted_s - latency_of(nodes), 2 * 31.0 / 32 * S / 8 / NIC, 1e-9);
  machine.cluster.device.scale_up_links = 3;
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_fabric_new(&machine.cluster, 1, &error));
  g_assert_nonnull(strstr(error->message, "a scale-up-domain of 8 GPUs: a mesh of 3 links"));
}

/* Sends between all pairs of @n GPUs, turned by @turn; returns the sum of the hops. */
static double exchange(OrrCollectiveFlow *flow, guint n, guint turn, guint64 channel) {
  double sum_s = 0;
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n; k++)
      sum_s += orr_collective_flow_edge(flow, (i + turn) % n, k, channel, 1);
  return sum_s;
}

/* A tape of routes changes nothing: not where the same plan asks again, nor where it asks for
 * others. 72 GPUs have 5,112 pairs, more than a tape keeps. */
static void test_tape(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 9, 8, 4, 1);
  static const guint turns[] = {0, 0, 5, 5, 0}, channels[] = {0, 0, 0, 3, 0};
  g_autoptr(OrrRouteTape) tape = orr_route_tape_new(TRUE);
  const OrrCollectiveContext plain = {.fabric = machine.fabric},
                             taped = {.fabric = machine.fabric, .tape = tape};
  for (guint i = 0; i < G_N_ELEMENTS(turns); i++) {
    g_auto(OrrCollectiveFlow) one, other;
    orr_collective_flow_init(&one, &plain);
    orr_collective_flow_init(&other, &taped);
    orr_route_tape_rewind(tape);
    orr_collective_flow_fill(&other, 1e6, 1e6);
    orr_collective_flow_fill(&one, 1e6, 1e6);
    g_assert_cmpfloat(exchange(&one, 72, turns[i], channels[i]), ==,
                      exchange(&other, 72, turns[i], channels[i]));
    g_assert_cmpmem(one.uses->data, one.uses->len * sizeof(OrrLinkUse), other.uses->data,
                    other.uses->len * sizeof(OrrLinkUse));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective-flow/loads", test_loads);
  g_test_add_func("/collective-flow/mesh", test_mesh);
  g_test_add_func("/collective-flow/named-is-chosen", test_named_is_chosen);
  g_test_add_func("/collective-flow/tape", test_tape);
  return g_test_run();
}
