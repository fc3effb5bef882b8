/*
 * test_nccl.c - NCCL's algorithms under its protocols: what the rows of a profile make of a plan.
 *
 * The fixture's rates: scale-up 240 GB/s, 1 us a hop; NIC 24 GB/s, 2.5 us a hop under one leaf.
 */
#include "sim/base/fault.h"
#include "tests/workloads/collectives/test_collective_fixture.h"

#define S 1e9

static const char profile_text[] =
    "name: p\n"
    "device: d\n"
    "nccl:\n"
    "- {algorithm: ring, protocol: ll, base: 5 us, scale-up-step: 1 us, scale-out-step: 2 us,\n"
    "   scale-up-efficiency: 10 %, scale-out-efficiency: 25 %}\n"
    "- {algorithm: ring, protocol: simple, base: 20 us, scale-up-step: 2 us, scale-out-step: 10 "
    "us,\n"
    "   network-step: 4 us, plateau: 1.5, scale-out-efficiency: 80 %}\n"
    "- {algorithm: tree, protocol: simple, base: 20 us, scale-up-step: 2 us, scale-out-step: 10 "
    "us,\n"
    "   scale-out-efficiency: 50 %, scale-out-chunk: 1 MB, chunk-ramp: 2}\n"
    "- {algorithm: nvls, protocol: simple, base: 30 us, scale-up-efficiency: 80 %}\n"
    "- {algorithm: nvls-tree, protocol: simple, base: 30 us, scale-out-step: 10 us}\n"
    "- {algorithm: pairwise, protocol: ll128, base: 1 us}\n"
    "- {algorithm: pairwise, protocol: simple, base: 30 us}\n";

typedef struct {
  Machine machine;
  OrrProfile *profile;
  OrrCostModel *cost;
} Tuned;

static void tuned_init_with(Tuned *tuned, guint nodes, const char *more) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = g_strconcat(profile_text, more, NULL);
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "profile", diags);
  g_autoptr(GError) error = NULL;
  machine_init(&tuned->machine, nodes, 8, nodes, 1);
  tuned->profile = orr_profile_read(node, NULL, diags);
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  tuned->cost = orr_cost_model_new(tuned->profile, &tuned->machine.cluster.device, &error);
  g_assert_no_error(error);
}

static void tuned_init(Tuned *tuned, guint nodes) { tuned_init_with(tuned, nodes, ""); }

static void tuned_clear(Tuned *tuned) {
  orr_cost_model_free(tuned->cost);
  orr_profile_free(tuned->profile);
  machine_clear(&tuned->machine);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Tuned, tuned_clear)

static OrrCollectivePlan *tuned_plan(const Tuned *tuned, OrrCollectiveOp op, double bytes, guint n,
                                     const char *algorithm, OrrProtocol protocol) {
  g_autofree gint64 *gpus = group_new(n, 0, 1);
  OrrCollectiveContext context = {.fabric = tuned->machine.fabric, .cost = tuned->cost};
  OrrCollectiveCall call = {.op = op, .bytes = bytes, .gpus = gpus, .n = n, .protocol = protocol};
  const OrrEntry *entry = algorithm ? orr_registry_find(&orr_collective_registry, algorithm) : NULL;
  g_autoptr(GError) error = NULL;
  OrrCollectivePlan *plan =
      orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)entry, &error);
  g_assert_no_error(error);
  return plan;
}

/* 8 ranks in a node, all-gather: 5 us + 7 (1 + 1) us, and 7/8 S at a tenth of 240 GB/s; the
 * links carry 7/8 S at their whole rate, the rest is delay. */
static void test_efficiency(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 1);
  g_autoptr(OrrCollectivePlan) plan =
      tuned_plan(&tuned, ORR_ALL_GATHER, S, 8, "ring", ORR_PROTOCOL_LL);
  assert_close(plan->predicted_s, 19e-6 + 0.875 * S / (0.1 * SCALE_UP), 1e-12);
  assert_close(phase_of(plan, 0)->latency_s, 19e-6 + 0.875 * S * 9 / SCALE_UP, 1e-12);
  g_assert_cmpint(plan->protocol, ==, ORR_PROTOCOL_LL);
}

/* LL is first where steps count, Simple where bytes do: 19 us + 7/8 S/24e9 against 20 us + 7 (2
 * + 1) us + 7/8 S/240e9 are equal where 7/8 S (1/24 - 1/240) ns = 22 us, at 670 kB. */
static void test_protocol(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 1);
  g_autoptr(OrrCollectivePlan) small =
      tuned_plan(&tuned, ORR_ALL_GATHER, 660e3, 8, NULL, ORR_PROTOCOL_AUTO);
  g_autoptr(OrrCollectivePlan) large =
      tuned_plan(&tuned, ORR_ALL_GATHER, 680e3, 8, NULL, ORR_PROTOCOL_AUTO);
  g_assert_cmpint(small->protocol, ==, ORR_PROTOCOL_LL);
  g_assert_cmpint(large->protocol, ==, ORR_PROTOCOL_SIMPLE);
}

/* 2 nodes of 8, Simple ring: a pass has 14 steps inside of max(2, 4) + 1 us, and 2 across of 10 +
 * 2.5 us less the cheapest hop, 5 us: 70 + 25 - 5 = 90. All-reduce: (20 + 2 * 90) * 1.5 = 300 us;
 * reduce-scatter has no plateau: 110.
 */
static void test_network(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 2);
  double nic_s = 15.0 / 16 * S / 8 / (0.8 * NIC);
  g_autoptr(OrrCollectivePlan) all_reduce =
      tuned_plan(&tuned, ORR_ALL_REDUCE, S, 16, "ring", ORR_PROTOCOL_SIMPLE);
  g_autoptr(OrrCollectivePlan) scatter =
      tuned_plan(&tuned, ORR_REDUCE_SCATTER, S, 16, "ring", ORR_PROTOCOL_SIMPLE);
  assert_close(all_reduce->predicted_s, 300e-6 + 2 * nic_s, 1e-12);
  assert_close(scatter->predicted_s, 110e-6 + nic_s, 1e-12);
}

/* 4 nodes of 8, tree: a NIC's share is s = S/8 = 8 MB, so a level is filled with 1 MB * 8 / (8 +
 * 2) = 0.8 MB, 33.3 us at 24 GB/s. D = 2: 20 + 2 (2 (12.5 + 33.3) + 7 * 3) us, and 2 S/8 at half
 * the NIC's rate. */
static void test_chunks(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 4);
  g_autoptr(OrrCollectivePlan) plan =
      tuned_plan(&tuned, ORR_ALL_REDUCE, 64e6, 32, "tree", ORR_PROTOCOL_AUTO);
  double fill_s = 0.8e6 / NIC;
  assert_close(plan->predicted_s,
               20e-6 + 2 * (2 * (12.5e-6 + fill_s) + 21e-6) + 2 * 8e6 / (0.5 * NIC), 1e-12);
}

/* The switch: a link carries 9/8 S each way, a hop of 1 us once. Over 4 nodes 2 S/8 on the NICs
 * and 4 levels. */
static void test_switch(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 4);
  g_autoptr(OrrCollectivePlan) inside =
      tuned_plan(&tuned, ORR_ALL_REDUCE, S, 8, "nvls", ORR_PROTOCOL_AUTO);
  g_autoptr(OrrCollectivePlan) across =
      tuned_plan(&tuned, ORR_ALL_REDUCE, S, 32, "nvls-tree", ORR_PROTOCOL_AUTO);
  assert_close(inside->predicted_s, 31e-6 + 1.125 * S / (0.8 * SCALE_UP), 1e-12);
  assert_close(across->predicted_s, 30e-6 + 1e-6 + 4 * 12.5e-6 + 2 * S / 8 / NIC, 1e-12);
  g_assert_cmpuint(phase_of(across, 0)->n_uses, ==,
                   4 * 8 * 4); /* tx and rx of each NVLink and each NIC */
}

/* By itself NVLS is taken for 5 ranks and more, and never where the profile has no row of it. */
static void test_choice(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 2);
  const struct {
    guint n;
    const char *name;
  } rows[] = {{4, "ring"}, {5, "nvls"}, {8, "nvls"}, {16, "nvls-tree"}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrCollectivePlan) plan =
        tuned_plan(&tuned, ORR_ALL_REDUCE, S, rows[i].n, NULL, ORR_PROTOCOL_AUTO);
    g_assert_cmpstr(plan->algorithm->entry.name, ==, rows[i].name);
  }
  g_autoptr(OrrCollectivePlan) bare =
      plan_on(&tuned.machine, ORR_ALL_REDUCE, S, (gint64[]){0, 1, 2, 3, 4, 5}, 6, NULL);
  g_assert_cmpstr(bare->algorithm->entry.name, ==, "ring");
  /* LL is forced: of the rows only the ring's is of it. */
  g_autoptr(OrrCollectivePlan) forced =
      tuned_plan(&tuned, ORR_ALL_REDUCE, S, 8, NULL, ORR_PROTOCOL_LL);
  g_assert_cmpstr(forced->algorithm->entry.name, ==, "ring");
}

static void assert_choice(const Tuned *tuned, OrrCollectiveOp op, double bytes, guint n,
                          gboolean mscclpp, const char *name, OrrProtocol protocol) {
  const OrrNccl nccl = {.pxn = TRUE, .mscclpp = mscclpp};
  g_autofree gint64 *gpus = group_new(n, 0, 1);
  OrrCollectiveContext context = {
      .fabric = tuned->machine.fabric, .cost = tuned->cost, .nccl = &nccl};
  OrrCollectiveCall call = {.op = op, .bytes = bytes, .gpus = gpus, .n = n};
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(plan->algorithm->entry.name, ==, name);
  g_assert_cmpint(plan->protocol, ==, protocol);
}

/* Rows of `choices` decide in order, whatever the times are: here LL for up to 1 GB over nodes,
 * where Simple is faster. Sizes of all-gathers count a rank's part; a row whose algorithm cannot do
 * the call is passed over; an optional one counts on request. */
static void test_choices(void) {
  g_auto(Tuned) tuned;
  tuned_init_with(
      &tuned, 2,
      "choices:\n"
      "- {op: all_reduce, algorithm: mesh, to: 1 MB, nodes-to: 1, ranks: 8, "
      "optional: true}\n"
      "- {op: all_reduce, algorithm: ring, protocol: ll, to: 1 GB, nodes-from: 2}\n"
      "- {op: all_gather, algorithm: ring, protocol: simple, above: 1 MB, nodes-from: 2}\n"
      "- {algorithm: nhr, nodes-from: 2}\n");
  assert_choice(&tuned, ORR_ALL_REDUCE, S, 16, FALSE, "ring", ORR_PROTOCOL_LL);
  assert_choice(&tuned, ORR_ALL_REDUCE, S + 1, 16, FALSE, "nhr", ORR_PROTOCOL_AUTO);
  assert_choice(&tuned, ORR_ALL_GATHER, 16e6, 16, FALSE, "nhr", ORR_PROTOCOL_AUTO);
  assert_choice(&tuned, ORR_ALL_GATHER, 17e6, 16, FALSE, "ring", ORR_PROTOCOL_SIMPLE);
  assert_choice(&tuned, ORR_ALL_TO_ALL, S, 16, FALSE, "pairwise", ORR_PROTOCOL_LL128);
  assert_choice(&tuned, ORR_ALL_REDUCE, 1e6, 8, TRUE, "mesh", ORR_PROTOCOL_AUTO);
  assert_choice(&tuned, ORR_ALL_REDUCE, 1e6 + 1, 8, TRUE, "ring", ORR_PROTOCOL_SIMPLE);
  assert_choice(&tuned, ORR_ALL_REDUCE, 1e6, 8, FALSE, "ring", ORR_PROTOCOL_SIMPLE);
  assert_choice(&tuned, ORR_ALL_REDUCE, 1e6, 4, TRUE, "ring", ORR_PROTOCOL_SIMPLE);
}

/* Rows of a domain have the time of NCCL's own choice, NVLS from 5 ranks: without NVLS they say
 * nothing about 8 ranks, and everything about 4, where the ring is the choice with it, too. */
static void test_without_nvls(void) {
  g_auto(Tuned) tuned;
  tuned_init_with(&tuned, 1,
                  "collectives:\n"
                  "- {op: all_reduce, ranks: 4, bytes: \"1000 1000000000\", us: \"30 9000\"}\n"
                  "- {op: all_reduce, ranks: 8, bytes: \"1000 1000000000\", us: \"30 5000\"}\n");
  const OrrNccl old = {.pxn = TRUE}, new = {.pxn = TRUE, .nvls = TRUE};
  const struct {
    guint n;
    const OrrNccl *nccl;
    double time_s; /* the rows'; the ring's: 20 us + 14 (2 + 1) us and 14/8 S at 240 GB/s */
    OrrHow how;
  } rows[] = {{4, &new, 9e-3, ORR_HOW_MEASURED},
              {4, &old, 9e-3, ORR_HOW_MEASURED},
              {8, &new, 5e-3, ORR_HOW_MEASURED},
              {8, &old, 62e-6 + 1.75 * S / SCALE_UP, ORR_HOW_MODELLED}};
  g_autofree gint64 *gpus = group_new(8, 0, 1);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrCollectiveContext context = {
        .fabric = tuned.machine.fabric, .cost = tuned.cost, .nccl = rows[i].nccl};
    OrrCollectiveCall call = {.op = ORR_ALL_REDUCE,
                              .bytes = S,
                              .gpus = gpus,
                              .n = rows[i].n,
                              .protocol = ORR_PROTOCOL_AUTO};
    g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, NULL);
    g_assert_cmpint(plan->how, ==, rows[i].how);
    assert_close(plan->predicted_s, rows[i].time_s, 1e-12);
  }
}

/* SHARP: a NIC carries S/8 once, whatever the number of nodes; PAT: ceil(log2 4) hops and a
 * ring's bytes. */
/* Without GPUDirect RDMA, or where the transport forbids it, LL128 crosses no network unless it is
 * forced; inside a domain it stays. */
static void test_gpudirect(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 2);
  OrrTransport *transport = tuned.machine.cluster.transport.params;
  for (int i = 0; i < 4; i++) {
    const gboolean direct = i == 3;
    tuned.machine.cluster.node.gpudirect_rdma = i > 0;
    transport->protocols = i == 1   ? ORR_TRANSPORT_NO_LL128
                           : i == 2 ? ORR_TRANSPORT_SIMPLE_ONLY
                                    : ORR_TRANSPORT_ALL_PROTOCOLS;
    g_autoptr(OrrCollectivePlan) far =
        tuned_plan(&tuned, ORR_ALL_TO_ALL, 1e3, 16, NULL, ORR_PROTOCOL_AUTO);
    g_autoptr(OrrCollectivePlan) near =
        tuned_plan(&tuned, ORR_ALL_TO_ALL, 1e3, 8, NULL, ORR_PROTOCOL_AUTO);
    g_autoptr(OrrCollectivePlan) forced =
        tuned_plan(&tuned, ORR_ALL_TO_ALL, 1e3, 16, NULL, ORR_PROTOCOL_LL128);
    g_assert_cmpint(far->protocol, ==, direct ? ORR_PROTOCOL_LL128 : ORR_PROTOCOL_SIMPLE);
    g_assert_cmpint(near->protocol, ==, ORR_PROTOCOL_LL128);
    g_assert_cmpint(forced->protocol, ==, ORR_PROTOCOL_LL128);
    g_autoptr(OrrCollectivePlan) small =
        tuned_plan(&tuned, ORR_ALL_REDUCE, 8, 16, "ring", ORR_PROTOCOL_AUTO);
    g_assert_cmpint(small->protocol, ==, i == 2 ? ORR_PROTOCOL_SIMPLE : ORR_PROTOCOL_LL);
  }
}

/* on-missing: error: nothing is planned by constants alone. */
static void test_gaps(void) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 2);
  g_autofree gint64 *gpus = group_new(2, 0, 1);
  const OrrCollectiveContext context = {.fabric = tuned.machine.fabric, .cost = tuned.cost};
  const OrrCollectiveCall call = {.op = ORR_SEND_RECV, .bytes = 1e6, .gpus = gpus, .n = 2};
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCollectivePlan) filled = orr_collective_plan(&context, &call, NULL, &error);
  g_assert_no_error(error);
  orr_cost_refuse_gaps(tuned.cost);
  g_autoptr(OrrCollectivePlan) refused = orr_collective_plan(&context, &call, NULL, &error);
  g_assert_null(refused);
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_cmpstr(error->message, ==,
                  "the device's profile holds no rows of 'direct' for send-recv over 2 GPUs "
                  "(on-missing: error)");
  g_autoptr(OrrCollectivePlan) ring =
      tuned_plan(&tuned, ORR_ALL_REDUCE, 1e6, 8, NULL, ORR_PROTOCOL_AUTO);
  g_assert_cmpint(ring->protocol, !=, ORR_PROTOCOL_AUTO);
}

static void test_forced(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *all = group_new(32, 0, 1), *rail = group_new(4, 0, 8);
  g_autoptr(OrrCollectivePlan) sharp = plan_on(&machine, ORR_ALL_REDUCE, S, all, 32, "collnet");
  g_autoptr(OrrCollectivePlan) pat = plan_on(&machine, ORR_ALL_GATHER, S, rail, 4, "pat");
  assert_close(sharp->predicted_s, 2e-6 + 2.5e-6 + S / 8 / NIC, 1e-12);
  assert_close(pat->predicted_s, 2 * 2.5e-6 + 0.75 * S / NIC, 1e-12);
}

/* Rings over two nodes of 8, Simple: 13 of the 15 hops of a pass are NVLink's, which a step of
 * the host (4 us) holds up; a DPU that needs no longer than NVLink's own step (2 us) does not,
 * half of the work at 2 us leaves 3 us. Twice round, plateau 1.5. */
static void test_offloaded(void) {
  static const double offloaded[] = {0, 1, 0.5}, dpu_work_s[] = {0, 1e-6, 2e-6},
                      held_s[] = {4e-6, 2e-6, 3e-6};
  double took_s[3];
  for (guint i = 0; i < 3; i++) {
    g_auto(Tuned) tuned;
    tuned_init(&tuned, 2);
    OrrTransport *transport = tuned.machine.cluster.transport.params;
    transport->offloaded = offloaded[i];
    transport->dpu_work_s = dpu_work_s[i];
    g_autoptr(OrrCollectivePlan) plan =
        tuned_plan(&tuned, ORR_ALL_REDUCE, 16, 16, "ring", ORR_PROTOCOL_SIMPLE);
    took_s[i] = plan->predicted_s;
  }
  for (guint i = 1; i < 3; i++)
    assert_close(took_s[0] - took_s[i], 1.5 * 2 * 13 * (held_s[0] - held_s[i]), 1e-9);
}

/* 4 nodes of 8, rings in Simple against trees whose links reach a tenth, but count as full links
 * when NCCL chooses: 8 NICs move S/8, a tree twice of it, 2 S/8 / NIC = 10.4 ms for 1 GB, a ring
 * 2 * 31/32 of it at 80 %, 12.6 ms, and some 0.5 ms more of latency. So the tree is chosen, in
 * spite of the 104 ms that it takes; where nobody expects more of it than it reaches, the ring. */
static void test_tuning(void) {
  static const char *const rows[] = {
      "- {algorithm: tree, protocol: ll128, scale-out-efficiency: 10 %, tuning-efficiency: 100 "
      "%}\n",
      "- {algorithm: tree, protocol: ll128, scale-out-efficiency: 10 %}\n"};
  static const char *const chosen[] = {"tree", "ring"};
  const OrrNccl nccl = {.pxn = TRUE};
  for (guint i = 0; i < 2; i++) {
    g_auto(Tuned) tuned;
    tuned_init_with(&tuned, 4, rows[i]);
    g_autofree gint64 *gpus = group_new(32, 0, 1);
    OrrCollectiveContext context = {
        .fabric = tuned.machine.fabric, .cost = tuned.cost, .nccl = &nccl};
    OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = S, .gpus = gpus, .n = 32};
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(plan->algorithm->entry.name, ==, chosen[i]);
    if (i == 0) assert_close(plan->predicted_s, 2 * S / 8 / (0.1 * NIC), 1e-3);
  }
}

static double over(OrrTransport transport, double bytes, OrrProtocol protocol) {
  g_auto(Tuned) tuned;
  tuned_init(&tuned, 2);
  OrrTransport *own = tuned.machine.cluster.transport.params;
  own->hop_latency_s = transport.hop_latency_s;
  own->flush_s = transport.flush_s;
  own->rendezvous_s = transport.rendezvous_s;
  own->rendezvous_per = transport.rendezvous_per;
  own->eager_limit_bytes = 8192;
  g_autoptr(OrrCollectivePlan) plan =
      tuned_plan(&tuned, ORR_ALL_REDUCE, bytes, 16, "ring", protocol);
  return plan->predicted_s;
}

/* The ring of test_network over a transport whose hop takes 20 us in LL: Simple's step is 8 us
 * longer than LL's, so 28, with a flush 31; with a rendezvous of 5 us at each hop 36. A pass has 14
 * hops of 5 us and 2 across less one of 5: 127 or 137 us; twice, with the base and the plateau. Of
 * 16 bytes no message is beyond the limit; once a call the rendezvous is not in the plateau. LL has
 * neither: 14 hops of 2 us, 2 of 20, less 2. A transport faster than NCCL's own step changes
 * nothing. Below 512 KiB a channel alone has data, so a step's message is a 16th of the buffer: one
 * of 8 KiB is not beyond the limit, one of 8.5 KiB waits at 2 hops of each pass. */
static void test_transport(void) {
  const OrrTransport slow = {.hop_latency_s = 20e-6},
                     hop = {.hop_latency_s = 20e-6, .flush_s = 3e-6, .rendezvous_s = 5e-6},
                     call = {.hop_latency_s = 20e-6,
                             .flush_s = 3e-6,
                             .rendezvous_s = 5e-6,
                             .rendezvous_per = ORR_RENDEZVOUS_PER_CALL};
  const double nic_s = 15.0 / 16 * S / 8 / (0.8 * NIC);
  assert_close(over(slow, S, ORR_PROTOCOL_SIMPLE), 1.5 * (20e-6 + 2 * 121e-6) + 2 * nic_s, 1e-9);
  assert_close(over(hop, S, ORR_PROTOCOL_SIMPLE), 1.5 * (20e-6 + 2 * 137e-6) + 2 * nic_s, 1e-9);
  assert_close(over(call, S, ORR_PROTOCOL_SIMPLE), 1.5 * (20e-6 + 2 * 127e-6) + 5e-6 + 2 * nic_s,
               1e-9);
  assert_close(over(hop, 16, ORR_PROTOCOL_SIMPLE), 1.5 * (20e-6 + 2 * 127e-6), 1e-4);
  assert_close(over(hop, 16, ORR_PROTOCOL_LL), 5e-6 + 2 * (28e-6 + 40e-6 - 2e-6), 1e-4);
  const OrrTransport none = {0}, fast = {.hop_latency_s = 1e-9},
                     eager = {.hop_latency_s = 20e-6, .flush_s = 3e-6};
  assert_close(over(fast, S, ORR_PROTOCOL_SIMPLE), over(none, S, ORR_PROTOCOL_SIMPLE), 1e-12);
  assert_close(over(hop, 16 * 8192, ORR_PROTOCOL_SIMPLE),
               over(eager, 16 * 8192, ORR_PROTOCOL_SIMPLE), 1e-12);
  assert_close(over(hop, 16 * 8704, ORR_PROTOCOL_SIMPLE) -
                   over(eager, 16 * 8704, ORR_PROTOCOL_SIMPLE),
               1.5 * 2 * 2 * 5e-6, 1e-9);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/nccl/gaps", test_gaps);
  g_test_add_func("/nccl/gpudirect", test_gpudirect);
  g_test_add_func("/nccl/efficiency", test_efficiency);
  g_test_add_func("/nccl/protocol", test_protocol);
  g_test_add_func("/nccl/network", test_network);
  g_test_add_func("/nccl/chunks", test_chunks);
  g_test_add_func("/nccl/switch", test_switch);
  g_test_add_func("/nccl/transport", test_transport);
  g_test_add_func("/nccl/choice", test_choice);
  g_test_add_func("/nccl/choices", test_choices);
  g_test_add_func("/nccl/tuning", test_tuning);
  g_test_add_func("/nccl/without-nvls", test_without_nvls);
  g_test_add_func("/nccl/forced", test_forced);
  g_test_add_func("/nccl/offloaded", test_offloaded);
  return g_test_run();
}
