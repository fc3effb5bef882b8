/*
 * test_fabric_host.c - ports of a GPU, NICs that GPUs share, PCIe switches and host bridges: what
 * flows that run at once leave each other, on an engine that shares links.
 *
 * The machine (cluster_fixture.h): 4 nodes of 4 GPUs, NVLink 50 GB/s, PCIe 10 GB/s, a NIC of 8 GB/s
 * for each GPU.
 */
#include "sim/engine/engine.h"
#include "tests/topologies/cluster_fixture.h"

enum { TO_HOST = -1, FROM_HOST = -2, MOST_FLOWS = 8 };

typedef struct {
  gint64 gpu, to; /* another GPU, or TO_HOST, FROM_HOST */
  guint64 number; /* of the connection, which hashes distinguish */
} Flow;

typedef struct {
  OrrEngine *engine;
  double end_s[MOST_FLOWS];
} Run;

typedef struct {
  Run *run;
  guint flow;
} Ending;

static void note_end(void *user) {
  const Ending *ending = user;
  double *end_s = &ending->run->end_s[ending->flow];
  *end_s = MAX(*end_s, orr_engine_now(ending->run->engine));
}

static void start(Run *run, const GArray *links, double bytes, Ending *ending) {
  g_autofree OrrLinkUse *uses = g_new(OrrLinkUse, links->len);
  for (guint i = 0; i < links->len; i++)
    uses[i] = (OrrLinkUse){g_array_index(links, guint32, i), 1};
  orr_engine_transfer(run->engine, bytes, uses, links->len, note_end, ending);
}

/* 120 GB each, in equal parts over the paths of a flow. */
static void start_flow(Run *run, const OrrFabric *fabric, const Flow *flow, Ending *ending) {
  const guint n_paths = flow->to < 0 || !orr_fabric_leaves_node(fabric, flow->gpu, flow->to)
                            ? 1
                            : orr_fabric_n_paths(fabric);
  for (guint path = 0; path < n_paths; path++) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    if (flow->to < 0)
      orr_fabric_host_route(fabric, flow->gpu, flow->to == FROM_HOST, links);
    else
      orr_fabric_path(fabric, flow->gpu, flow->to, flow->number, path, links);
    start(run, links, 120e9 / n_paths, ending);
  }
}

/* When each of @n flows that begin together has moved 120 GB. */
static Run run_flows(const OrrFabric *fabric, const Flow *flows, guint n) {
  Run run = {.engine = orr_engine_new(ORR_ENGINE_FAIR, NULL)};
  Ending endings[MOST_FLOWS];
  for (guint32 link = 0; link < orr_fabric_n_links(fabric); link++) {
    g_autofree char *name = orr_fabric_link_name(fabric, link);
    OrrLink number;
    g_assert_true(orr_engine_add_link(run.engine, name, orr_fabric_link_bandwidth(fabric, link),
                                      &number, NULL));
    g_assert_cmpuint(number, ==, link);
  }
  for (guint i = 0; i < n; i++) {
    endings[i] = (Ending){&run, i};
    start_flow(&run, fabric, &flows[i], &endings[i]);
  }
  g_assert_true(orr_engine_run(run.engine, NULL));
  g_clear_pointer(&run.engine, orr_engine_free);
  return run;
}

static void assert_rates(const OrrFabric *fabric, const Flow *flows, const double *rates, guint n) {
  const Run run = run_flows(fabric, flows, n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon(120e9 / run.end_s[i], rates[i], 1e-9 * rates[i]);
}

#define FLOWS(...) ((const Flow[]){__VA_ARGS__})
#define ASSERT_RATES(fixture_, flows_, ...)                                                        \
  assert_rates((fixture_).fabric, flows_, (const double[]){__VA_ARGS__},                           \
               G_N_ELEMENTS(((const double[]){__VA_ARGS__})))

/* --- NICs and ports --- */

/* GPUs 0 and 1 share NIC 0 of 8 GB/s: alone each has all of it, together half, and GPU 2 is
 * another NIC's. */
static void test_shared_nic(void) {
  FIXTURE(fixture, 1, "node.nics-per-gpu", "0.5");
  ASSERT_RATES(fixture, FLOWS({0, 4, 0}), 8e9);
  ASSERT_RATES(fixture, FLOWS({1, 8, 0}), 8e9);
  ASSERT_RATES(fixture, FLOWS({0, 4, 0}, {1, 8, 0}), 4e9, 4e9);
  ASSERT_RATES(fixture, FLOWS({0, 4, 0}, {2, 8, 0}), 8e9, 8e9);
}

/* Two NICs per GPU: one port of 16 GB/s, or two of 8 on planes of their own. Then a flow has 16
 * only if its queue pairs spread over both, or packets are sprayed; two connections of the same
 * number meet on one port. */
static void test_two_nics(void) {
  static const char planes[] = "{kind: clos, down: 16x1, planes: 2}";
  FIXTURE(bonded, 1, "node.nics-per-gpu", "2", "routing", "ecmp", "fabric", planes);
  FIXTURE(one, 1, "node.nics-per-gpu", "2", "node.ports", "separate", "routing", "ecmp", "fabric",
          planes);
  FIXTURE(two, 1, "node.nics-per-gpu", "2", "node.ports", "separate", "routing", "ecmp", "fabric",
          planes, "queue-pairs", "2");
  FIXTURE(sprayed, 1, "node.nics-per-gpu", "2", "node.ports", "separate", "fabric", planes);
  FIXTURE(numbered, 1, "node.nics-per-gpu", "2", "node.ports", "separate", "routing", "static",
          "queue-pairs", "2");
  ASSERT_RATES(bonded, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(one, FLOWS({0, 4, 0}), 8e9);
  ASSERT_RATES(two, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(sprayed, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(numbered, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(one, FLOWS({0, 4, 0}, {0, 8, 1}), 8e9, 8e9);
  ASSERT_RATES(one, FLOWS({0, 4, 0}, {0, 8, 2}), 4e9, 4e9);
}

/* A NIC's two ports have half of its 8 GB/s each; its slot of 12 GB/s at 50 % is less than both. */
static void test_slot(void) {
  FIXTURE(wide, 1, "node.ports-per-nic", "2", "node.ports", "separate");
  FIXTURE(narrow, 1, "node.ports-per-nic", "2", "node.ports", "separate",
          "node.host.slot-bandwidth", "12 GB/s");
  FIXTURE(bonded, 1, "node.ports-per-nic", "2", "node.host.slot-bandwidth", "12 GB/s");
  FIXTURE(cards, 1, "node.nics-per-gpu", "2", "node.host.slot-bandwidth", "12 GB/s");
  ASSERT_RATES(wide, FLOWS({0, 4, 0}), 8e9);
  ASSERT_RATES(narrow, FLOWS({0, 4, 0}), 6e9);
  ASSERT_RATES(bonded, FLOWS({0, 4, 0}), 6e9);
  ASSERT_RATES(cards, FLOWS({0, 4, 0}), 12e9); /* a slot each */
}

/* Of two ports one is dead at GPU 4: flows to it all take the other one, flows to others both. */
static void test_dead_port(void) {
  FIXTURE(fixture, 1, "node.nics-per-gpu", "2", "node.ports", "separate");
  g_autoptr(GArray) parts = orr_fabric_find_links(fixture.fabric, "gpu4.nic1", NULL);
  g_autoptr(GHashTable) dead = g_hash_table_new(NULL, NULL);
  for (guint i = 0; i < parts->len; i++) {
    g_hash_table_add(dead, GUINT_TO_POINTER(g_array_index(parts, OrrFabricPart, i).link));
    g_assert_true(
        orr_fabric_can_leave(fixture.fabric, g_array_index(parts, OrrFabricPart, i).link));
  }
  g_autoptr(OrrFabric) without = orr_fabric_avoiding(fixture.fabric, dead);
  g_assert_cmpuint(parts->len, ==, 2);
  assert_rates(without, FLOWS({0, 4, 0}), (const double[]){8e9}, 1);
  assert_rates(without, FLOWS({4, 0, 0}), (const double[]){8e9}, 1);
  assert_rates(without, FLOWS({0, 8, 0}), (const double[]){16e9}, 1);
}

/* Counted by hand: a leaf of 64 ports holds 16 GPUs of two ports, bonded or not, and 32 links
 * up; each port of a GPU is a rail of its own. */
static void test_counts(void) {
  FIXTURE(fixture, 1, "nodes", "8", "node.nics-per-gpu", "2", "node.ports", "separate");
  FIXTURE(rails, 1, "nodes", "8", "node.nics-per-gpu", "2", "node.ports", "separate", "fabric",
          "rail-optimized");
  OrrFabricLevel level = fixture_level(&fixture, "leaf-spine");
  g_assert_cmpint(level.switches, ==, 2);
  g_assert_cmpint(level.links, ==, 64);
  assert_near(level.link_bytes_per_s, 8e9);
  assert_near(orr_fabric_bisection(fixture.fabric), 32 * 16e9 / 2);
  g_assert_cmpint(fixture_level(&rails, "leaf-spine").switches, ==, 8);
  g_assert_cmpint(fixture_level(&rails, "nic-leaf").links, ==, 64);
}

/* --- PCIe --- */

#define PCIE(path_) "node.host.network-path", path_, "node.host.gpus-per-switch", "2"

/* A GPU's PCIe of 10 GB/s carries a copy to the host and what it sends: half each where both
 * cross it. */
static void test_offload_against_network(void) {
  FIXTURE(apart, 1, PCIE("apart"));
  FIXTURE(beside, 1, PCIE("switch"));
  ASSERT_RATES(apart, FLOWS({0, 4, 0}, {0, TO_HOST, 0}), 8e9, 10e9);
  ASSERT_RATES(beside, FLOWS({0, 4, 0}), 8e9);
  ASSERT_RATES(beside, FLOWS({0, TO_HOST, 0}), 10e9);
  ASSERT_RATES(beside, FLOWS({0, 4, 0}, {0, TO_HOST, 0}), 5e9, 5e9);
  ASSERT_RATES(beside, FLOWS({4, 0, 0}, {0, FROM_HOST, 0}), 5e9, 5e9);
  ASSERT_RATES(beside, FLOWS({4, 0, 0}, {0, TO_HOST, 0}), 8e9, 10e9); /* the other direction */
  ASSERT_RATES(beside, FLOWS({1, 4, 0}, {0, TO_HOST, 0}), 8e9,
               10e9); /* the NIC is below the switch */
}

/* Two NICs of 10 GB/s at 80 % reach 16 GB/s, four fifths of the nominal 20 GB/s of their GPU's
 * PCIe, which was measured with it on the path; four, or slightly faster ones, are bound to as much
 * and not to the 50 % of copies between GPUs. NICs on the device itself (apart) do not pass it. A
 * NIC that two GPUs share is one GPU's while the other is silent. */
static void test_nics_behind_pcie(void) {
  FIXTURE(four, 1, "node.nics-per-gpu", "4");
  FIXTURE(own, 1, "node.nics-per-gpu", "4", "node.host.network-path", "apart");
  FIXTURE(two, 1, "node.nics-per-gpu", "2");
  FIXTURE(more, 1, "node.nics-per-gpu", "2", "node.nic-bandwidth", "10.1 GB/s");
  FIXTURE(half, 1, "node.nics-per-gpu", "0.5", "node.nic-bandwidth", "20.2 GB/s");
  ASSERT_RATES(four, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(four, FLOWS({4, 0, 0}), 16e9);
  ASSERT_RATES(four, FLOWS({0, 4, 0}, {0, TO_HOST, 0}), 8e9, 8e9);
  ASSERT_RATES(own, FLOWS({0, 4, 0}), 32e9);
  ASSERT_RATES(two, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(more, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(half, FLOWS({0, 4, 0}), 16e9);
  ASSERT_RATES(half, FLOWS({0, 4, 0}, {1, 5, 0}), 8.08e9, 8.08e9);
}

/* The DGX A100's Gen4 x16: 31.5 GB/s at 76 %, 23.94, for offload and a 25 GB/s NIC at 96 %, 24,
 * together. */
static void test_gen4(void) {
  FIXTURE(fixture, 1, PCIE("switch"), "node.host-link-bandwidth", "31.5 GB/s",
          "node.host-link-efficiency", "0.76", "node.nic-bandwidth", "200 Gb/s",
          "node.nic-efficiency", "0.96");
  ASSERT_RATES(fixture, FLOWS({0, 4, 0}), 31.5e9 * 0.76);
  ASSERT_RATES(fixture, FLOWS({0, 4, 0}, {0, TO_HOST, 0}), 31.5e9 * 0.38, 31.5e9 * 0.38);
}

/* Two GPUs on a switch share its link up, 10 GB/s as a GPU's own or what it says at 50 %. */
static void test_switch(void) {
  FIXTURE(fixture, 1, PCIE("switch"));
  FIXTURE(wide, 1, PCIE("switch"), "node.host.switch-bandwidth", "30 GB/s");
  ASSERT_RATES(fixture, FLOWS({0, TO_HOST, 0}, {1, TO_HOST, 0}), 5e9, 5e9);
  ASSERT_RATES(fixture, FLOWS({0, TO_HOST, 0}, {2, TO_HOST, 0}), 10e9, 10e9);
  ASSERT_RATES(wide, FLOWS({0, TO_HOST, 0}, {1, TO_HOST, 0}), 7.5e9, 7.5e9);
}

/* Over the bridge network traffic takes the switch's link up too. */
static void test_network_over_the_bridge(void) {
  FIXTURE(fixture, 1, PCIE("bridge"));
  ASSERT_RATES(fixture, FLOWS({0, 4, 0}, {1, 8, 0}), 5e9, 5e9);
  ASSERT_RATES(fixture, FLOWS({0, 4, 0}, {1, TO_HOST, 0}), 5e9, 5e9);
}

/* A bridge of 30 GB/s at 50 % for four GPUs; of two bridges each has its own. What crosses from
 * device to device goes in and out. */
static void test_bridge(void) {
  FIXTURE(one, 1, "node.host.bridge-bandwidth", "30 GB/s");
  FIXTURE(two, 1, "node.host.bridge-bandwidth", "30 GB/s", "node.host.gpus-per-bridge", "2");
  const Flow all[] = {{0, TO_HOST, 0}, {1, TO_HOST, 0}, {2, TO_HOST, 0}, {3, TO_HOST, 0}};
  ASSERT_RATES(one, all, 3.75e9, 3.75e9, 3.75e9, 3.75e9);
  ASSERT_RATES(two, all, 7.5e9, 7.5e9, 7.5e9, 7.5e9);
}

/* GPUs without NVLink, two on a socket, 8 GB/s at 50 % between sockets. */
static void test_sockets(void) {
  FIXTURE(fixture, 1, "node.scale-up-domain", "1", "node.host.gpus-per-bridge", "2",
          "node.host.socket-bandwidth", "8 GB/s");
  ASSERT_RATES(fixture, FLOWS({0, 1, 0}), 10e9);
  ASSERT_RATES(fixture, FLOWS({0, 2, 0}), 4e9);
  ASSERT_RATES(fixture, FLOWS({0, 2, 0}, {1, 3, 0}), 2e9, 2e9);
  ASSERT_RATES(fixture, FLOWS({0, 2, 0}, {3, 1, 0}), 4e9, 4e9);
}

/* Every link of a node at once: each link once on every way, and names that tell all apart. */
static void test_all_at_once(void) {
  FIXTURE(fixture, 1, "node.scale-up-domain", "1", PCIE("bridge"), "node.host.gpus-per-bridge", "2",
          "node.host.bridge-bandwidth", "30 GB/s", "node.host.socket-bandwidth", "9 GB/s",
          "node.host.slot-bandwidth", "9 GB/s", "node.nics-per-gpu", "2", "node.ports", "separate",
          "node.ports-per-nic", "2");
  g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint32 link = 0; link < orr_fabric_n_links(fixture.fabric); link++)
    g_assert_true(g_hash_table_add(names, orr_fabric_link_name(fixture.fabric, link)));
  for (gint64 to = 1; to < 16; to++)
    for (guint path = 0; path < orr_fabric_n_paths(fixture.fabric); path++) {
      g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
      g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
      orr_fabric_path(fixture.fabric, 0, to, 0, path, links);
      for (guint i = 0; i < links->len; i++)
        g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(g_array_index(links, guint32, i))));
    }
  /* pcie.tx; switch up; bridge in, out; slot, nic; nic, slot; bridge in, out; switch down;
   * pcie.rx: one leaf for all */
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  orr_fabric_path(fixture.fabric, 1, 6, 0, 3, links);
  static const char *const wanted[] = {"gpu1.pcie.tx",     "switch0.pcie.up",   "bridge0.host.in",
                                       "bridge0.host.out", "nic3.slot.tx",      "gpu1.nic3.tx",
                                       "gpu6.nic3.rx",     "nic13.slot.rx",     "bridge3.host.in",
                                       "bridge3.host.out", "switch3.pcie.down", "gpu6.pcie.rx"};
  g_assert_cmpuint(links->len, ==, G_N_ELEMENTS(wanted));
  for (guint i = 0; i < links->len; i++) {
    g_autofree char *name = orr_fabric_link_name(fixture.fabric, g_array_index(links, guint32, i));
    g_assert_cmpstr(name, ==, wanted[i]);
  }
}

static void test_refused(void) {
  ASSERT_REFUSED("gpus-per-switch is 3: it must divide the 4 GPUs of a node",
                 "node.host.gpus-per-switch", "3");
  ASSERT_REFUSED("gpus-per-bridge is 8: it must divide", "node.host.gpus-per-bridge", "8");
  ASSERT_REFUSED("gpus-per-bridge is 2: it must be a multiple of the 4 GPUs of a switch",
                 "node.host.gpus-per-bridge", "2", "node.host.gpus-per-switch", "4");
  ASSERT_REFUSED("network-path is switch, but the node has no PCIe switches",
                 "node.host.network-path", "switch");
  ASSERT_REFUSED("switch-bandwidth has no meaning", "node.host.switch-bandwidth", "9 GB/s");
  ASSERT_REFUSED("socket-bandwidth has no meaning with one host bridge",
                 "node.host.socket-bandwidth", "9 GB/s");
  ASSERT_REFUSED("ports", "node.ports-per-nic", "0");
  ASSERT_REFUSED("planes is 3, but a GPU has 2 separate ports", "node.nics-per-gpu", "2",
                 "node.ports", "separate", "fabric", "{kind: clos, down: 16, planes: 3}");
  ASSERT_REFUSED("a chip of a torus routes between its ports", "node.nics-per-gpu", "2",
                 "node.ports", "separate", "fabric", "{kind: torus, shape: 4x4}");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fabric-host/shared-nic", test_shared_nic);
  g_test_add_func("/fabric-host/two-nics", test_two_nics);
  g_test_add_func("/fabric-host/slot", test_slot);
  g_test_add_func("/fabric-host/dead-port", test_dead_port);
  g_test_add_func("/fabric-host/counts", test_counts);
  g_test_add_func("/fabric-host/offload-against-network", test_offload_against_network);
  g_test_add_func("/fabric-host/nics-behind-pcie", test_nics_behind_pcie);
  g_test_add_func("/fabric-host/gen4", test_gen4);
  g_test_add_func("/fabric-host/switch", test_switch);
  g_test_add_func("/fabric-host/network-over-the-bridge", test_network_over_the_bridge);
  g_test_add_func("/fabric-host/bridge", test_bridge);
  g_test_add_func("/fabric-host/sockets", test_sockets);
  g_test_add_func("/fabric-host/all-at-once", test_all_at_once);
  g_test_add_func("/fabric-host/refused", test_refused);
  return g_test_run();
}
