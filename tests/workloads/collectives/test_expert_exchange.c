/*
 * test_expert_exchange.c - all-to-alls of experts' tokens: closed form, what a node saves, rows,
 * and refusals.
 */
#include "tests/workloads/collectives/test_collective_fixture.h"

#include "calibration/profile/profile.h"

static const char *const names[] = {"deepep", "deepep-low-latency", "pplx-garden",
                                    "trtllm-one-sided", "trtllm-two-sided"};

static const OrrExpertExchange exchange_sample = {.tokens = 4096,
                                                  .hidden = 7168,
                                                  .topk = 8,
                                                  .experts = 256,
                                                  .bytes_per_element = 2,
                                                  .experts_dtype = ORR_BF16};

static const OrrCollectiveAlgorithm *algorithm_of(const char *name) {
  return (gconstpointer)orr_registry_find(&orr_collective_registry, name);
}

static OrrCollectiveCall call_of(const gint64 *gpus, guint n, const OrrExpertExchange *exchange) {
  return (OrrCollectiveCall){.op = ORR_ALL_TO_ALL,
                             .bytes = orr_expert_exchange_bytes(exchange),
                             .gpus = gpus,
                             .n = n,
                             .exchange = exchange};
}

static OrrCollectivePlan *plan_of(const Machine *machine, const OrrCostModel *cost,
                                  const OrrCollectiveCall *call, const char *name) {
  const OrrCollectiveContext context = {.fabric = machine->fabric, .cost = cost};
  g_autoptr(GError) error = NULL;
  OrrCollectivePlan *plan = orr_collective_plan(&context, call, algorithm_of(name), &error);
  g_assert_no_error(error);
  return plan;
}

/* 8 GPUs of a domain, and 8 of as many nodes: every pair alike. */
static void test_closed_form(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 8, 8, 8, 1);
  g_autofree gint64 *inside = group_new(8, 0, 1), *across = group_new(8, 3, 8);
  const OrrCollectiveCall near = call_of(inside, 8, &exchange_sample),
                          far = call_of(across, 8, &exchange_sample);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    const OrrCollectiveAlgorithm *algorithm = algorithm_of(names[i]);
    g_autoptr(OrrCollectivePlan) plan = plan_of(&machine, NULL, &near, names[i]);
    assert_close(plan->predicted_s, algorithm->oracle(&near, SCALE_UP_HOP, SCALE_UP), 1e-12);
    if (i > 2) continue; /* over NVLink alone */
    g_autoptr(OrrCollectivePlan) wide = plan_of(&machine, NULL, &far, names[i]);
    assert_close(wide->predicted_s, algorithm->oracle(&far, NIC_HOP, NIC), 1e-12);
  }
}

/* 8 nodes of one member each, and NICs of one and two million messages per second. Low-latency:
 * 4,096 tokens go to 8 experts, 7/8 of them elsewhere: 28,672 messages take 28.7 and 14.3 ms more.
 * DeepEP's normal kernels put 20 tokens for a node into one, and a node holds an expert of a token
 * with 1 - C(224, 8) / C(256, 8). pplx-garden sends counts and tokens to each of 7 others, and in a
 * combine tokens alone. Inside a domain no NIC counts. */
static void test_messages(void) {
  OrrExpertExchange back = exchange_sample;
  back.is_combine = TRUE;
  g_autofree gint64 *inside = group_new(8, 0, 1), *across = group_new(8, 3, 8);
  const OrrCollectiveCall near = call_of(inside, 8, &exchange_sample),
                          far = call_of(across, 8, &exchange_sample),
                          far_back = call_of(across, 8, &back);
  const double met = orr_cost_library_copies("deepep", 8, 8, 256);
  const struct {
    const char *library;
    const OrrCollectiveCall *call;
    double messages;
  } cases[] = {{"deepep-low-latency", &far, 4096 * 8 * 7 / 8.},
               {"deepep", &far, 4096 * met / 8 * 7 / 20},
               {"deepep", &far_back, 4096 * met / 8 * 7 / 28},
               {"pplx-garden", &far, 14},
               {"pplx-garden", &far_back, 7},
               {"deepep-low-latency", &near, 0},
               {"pplx-garden", &near, 0}};
  for (double rate = 1e6; rate <= 2e6; rate += 1e6)
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
      g_auto(Machine) machine;
      machine_init(&machine, 8, 8, 8, 1);
      OrrTransport *transport = machine.cluster.transport.params;
      transport->message_rate_per_s = 0;
      g_autoptr(OrrCollectivePlan) free = plan_of(&machine, NULL, cases[i].call, cases[i].library);
      transport->message_rate_per_s = rate;
      g_autoptr(OrrCollectivePlan) counted =
          plan_of(&machine, NULL, cases[i].call, cases[i].library);
      const double hop_s = cases[i].call == &near ? 0 : 1 / rate; /* the hop has one, too */
      assert_close(counted->predicted_s, free->predicted_s + cases[i].messages / rate + hop_s,
                   1e-9);
    }
}

/* 4 nodes of 8. To other nodes go 3/4 of a token's copies: deepep sends one to each node that it
 * meets, d(4) = 4 (1 - C(192,8) / C(256,8)) = 3.614 of them, low-latency one to each of 8
 * experts. */
static void test_node_saves(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  const OrrCollectiveCall call = call_of(gpus, 32, &exchange_sample);
  const double token = 4096 * 7168 * 2.0, met = orr_cost_library_copies("deepep", 4, 8, 256);
  assert_close(met, 3.61421, 1e-5);
  g_autoptr(OrrCollectivePlan) once = plan_of(&machine, NULL, &call, "deepep");
  g_autoptr(OrrCollectivePlan) each = plan_of(&machine, NULL, &call, "deepep-low-latency");
  assert_close(once->predicted_s, SCALE_UP_HOP + NIC_HOP + token * met * 3 / 4 / NIC, 1e-3);
  assert_close(each->predicted_s, SCALE_UP_HOP + NIC_HOP + token * 8 * 3 / 4 / NIC, 1e-3);
}

/* Experts in turn. The 8 experts of 256 that one token has are all on one rank of 32 (8 on each):
 * it goes to one node of 4. With 6, runs begin at every even expert: of a rank's 8 experts the runs
 * from 0 and 2 stay, those from 4 and 6 touch the next rank (1.5 ranks on average), and of a node's
 * 64 the runs from 60 and 62 leave it, 2 of 32 (1.0625 nodes). Of 8 ranks in one domain, with 32
 * experts each, 2 of 16 runs touch two (1.125). */
static void test_in_turn(void) {
  static const struct {
    gint64 topk;
    double nodes, ranks_of_8;
  } cases[] = {{8, 1, 1}, {6, 1.0625, 1.125}};
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  const double token = 4096 * 7168 * 2.0;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    OrrExpertExchange exchange = exchange_sample;
    exchange.topk = cases[i].topk;
    exchange.in_turn = TRUE;
    const OrrCollectiveCall call = call_of(gpus, 32, &exchange), near = call_of(gpus, 8, &exchange);
    g_autoptr(OrrCollectivePlan) across = plan_of(&machine, NULL, &call, "deepep");
    assert_close(across->predicted_s, SCALE_UP_HOP + NIC_HOP + token * cases[i].nodes * 3 / 4 / NIC,
                 1e-3);
    g_autoptr(OrrCollectivePlan) inside = plan_of(&machine, NULL, &near, "deepep");
    assert_close(inside->predicted_s, SCALE_UP_HOP + token * cases[i].ranks_of_8 * 7 / 8 / SCALE_UP,
                 1e-9);
    exchange.in_turn = FALSE;
    g_autoptr(OrrCollectivePlan) drawn = plan_of(&machine, NULL, &near, "deepep-low-latency");
    exchange.in_turn = TRUE;
    g_autoptr(OrrCollectivePlan) direct = plan_of(&machine, NULL, &near, "deepep-low-latency");
    assert_close(direct->predicted_s, drawn->predicted_s, 1e-12); /* one copy for each expert */
  }
}

static const char rows[] =
    "schema: profile/1\nname: p\ndevice: d\nlibraries:\n"
    "- {library: deepep, op: dispatch, ranks: 8, hidden: 7168, topk: 8, experts: 256, size: \"1 "
    "4096\", us: \"20 700\"}\n"
    "- {library: deepep, op: dispatch, ranks: 16, hidden: 7168, topk: 8, experts: 256, size: "
    "\"1 4096\", us: \"40 9000\"}\n"
    "- {library: trtllm-two-sided, op: prepare, ranks: 8, hidden: 7168, topk: 8, experts: 256, "
    "size: \"1 4096\", us: \"9 "
    "30\"}\n"
    "- {library: trtllm-two-sided, op: dispatch, ranks: 8, hidden: 7168, topk: 8, experts: 256, "
    "size: \"1 4096\", us: \"9 "
    "300\"}\n";

/* Rows answer for groups that lie as theirs did, two-sided after its prepare; a rank a node is
 * modelled. */
static void test_rows(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 16, 8, 16, 1);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(rows, strlen(rows), "rows", diags);
  g_autoptr(OrrProfile) profile = orr_profile_read(tree, NULL, diags);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &machine.cluster.device, &error);
  g_assert_no_error(error);
  g_autofree gint64 *node = group_new(8, 0, 1), *two = group_new(16, 0, 1),
                    *rails = group_new(16, 0, 8);
  const OrrCollectiveCall one_node = call_of(node, 8, &exchange_sample),
                          two_nodes = call_of(two, 16, &exchange_sample),
                          one_rail = call_of(rails, 16, &exchange_sample);
  g_autoptr(OrrCollectivePlan) in_node = plan_of(&machine, cost, &one_node, "deepep");
  g_autoptr(OrrCollectivePlan) over_two = plan_of(&machine, cost, &two_nodes, "deepep");
  g_autoptr(OrrCollectivePlan) rail = plan_of(&machine, cost, &one_rail, "deepep");
  g_autoptr(OrrCollectivePlan) two_sided = plan_of(&machine, cost, &one_node, "trtllm-two-sided");
  assert_close(in_node->predicted_s, 700e-6, 1e-12);
  assert_close(over_two->predicted_s, 9000e-6, 1e-12);
  assert_close(two_sided->predicted_s, 330e-6, 1e-12);
  g_assert_cmpint(two_sided->how, ==, ORR_HOW_MEASURED);
  g_assert_cmpint(rail->how, ==, ORR_HOW_MODELLED);
}

/* Without rows of their number of ranks kernels take what the nearest rows leave beyond their own
 * transfers, and the transfers of the asked group. pplx-garden, 2,048 tokens to 8 experts each,
 * 1,000 us over 8 ranks of a domain: 7/8 of 8 copies crossed NVLink there; of 16 ranks on 2 nodes
 * half of them cross the NICs. DeepEP over 24 ranks takes what 16 took over NICs of 24 GB/s
 * beyond d(2) / 2 copies, not what 8 in a domain did: the tokens meet d(3) nodes. */
static void test_nearest_rows(void) {
  static const char text[] =
      "name: p\ndevice: d\nlibraries:\n"
      "- {library: pplx-garden, op: dispatch, ranks: 8, hidden: 7168, topk: 8, experts: 256, size: "
      "\"1 2048\", us: \"20 1000\"}\n"
      "- {library: deepep, op: dispatch, ranks: 8, hidden: 7168, topk: 8, experts: 264, size: "
      "\"1 2048\", us: \"20 700\"}\n"
      "- {library: deepep, op: dispatch, ranks: 16, gpus-per-node: 8, nic-rate: 24 GB/s, hidden: "
      "7168, "
      "topk: 8, experts: 264, size: \"1 2048\", us: \"40 4000\"}\n";
  g_auto(Machine) machine;
  machine_init(&machine, 16, 8, 16, 1);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "rows", diags);
  g_autoptr(OrrProfile) profile = orr_profile_read(tree, NULL, diags);
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &machine.cluster.device, NULL);
  OrrExpertExchange straight = exchange_sample, forwarded = exchange_sample;
  straight.tokens = forwarded.tokens = 2048;
  forwarded.experts = 264;
  const double token_bytes = 2048 * 7168 * 2.0;
  g_autofree gint64 *gpus = group_new(24, 0, 1);
  const OrrCollectiveCall two = call_of(gpus, 16, &straight), three = call_of(gpus, 24, &forwarded);
  g_autoptr(OrrCollectivePlan) direct = plan_of(&machine, cost, &two, "pplx-garden");
  g_autoptr(OrrCollectivePlan) by_nodes = plan_of(&machine, cost, &three, "deepep");
  assert_close(direct->predicted_s,
               1000e-6 - token_bytes * 7 / SCALE_UP + token_bytes * 4 / NIC + NIC_HOP, 2e-3);
  assert_close(by_nodes->predicted_s,
               4000e-6 - token_bytes * orr_cost_library_copies("deepep", 2, 8, 264) / 2 / NIC +
                   token_bytes * orr_cost_library_copies("deepep", 3, 8, 264) * 2 / 3 / NIC,
               2e-3);
}

/* 16 ranks on two nodes. A router that limits a token's experts to as many nodes, or more, limits
 * nothing: the row answers. Limited to one node, the row less the transfers that this spares. */
static void test_limited_rows(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 16, 8, 16, 1);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(rows, strlen(rows), "rows", diags);
  g_autoptr(OrrProfile) profile = orr_profile_read(tree, NULL, diags);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &machine.cluster.device, &error);
  g_assert_no_error(error);
  g_autofree gint64 *two = group_new(16, 0, 1);
  double modelled_s[2] = {0}, measured_s[2] = {0};
  for (gint64 most = 1; most <= 3; most++) {
    OrrExpertExchange exchange = exchange_sample;
    exchange.most_domains = most;
    const OrrCollectiveCall call = call_of(two, 16, &exchange);
    g_autoptr(OrrCollectivePlan) modelled = plan_of(&machine, NULL, &call, "deepep");
    g_autoptr(OrrCollectivePlan) measured = plan_of(&machine, cost, &call, "deepep");
    modelled_s[most > 1] = modelled->predicted_s;
    measured_s[most > 1] = measured->predicted_s;
    g_assert_cmpint(measured->how, ==, most > 1 ? ORR_HOW_MEASURED : ORR_HOW_CARRIED);
    if (most > 1) assert_close(measured->predicted_s, 9000e-6, 1e-12);
  }
  g_assert_cmpfloat(modelled_s[0], <, 0.9 * modelled_s[1]);
  assert_close(measured_s[1] - measured_s[0], modelled_s[1] - modelled_s[0], 1e-6);
  OrrExpertExchange in_turn = exchange_sample; /* 8 of 256 over 16 ranks: each token on one rank */
  in_turn.in_turn = TRUE;
  const OrrCollectiveCall call = call_of(two, 16, &in_turn);
  g_autoptr(OrrCollectivePlan) modelled = plan_of(&machine, NULL, &call, "deepep");
  g_autoptr(OrrCollectivePlan) measured = plan_of(&machine, cost, &call, "deepep");
  assert_close(measured_s[1] - measured->predicted_s, modelled_s[1] - modelled->predicted_s, 1e-6);
}

/* Rows of vLLM's all-reduce over links with a fiftieth of the bandwidth that they were measured at:
 * 49 / 50 of the time that each GPU's 2 (n - 1) / n S (two-shot) take over these links come on top,
 * and no call is quicker than its bytes. Over faster links, and over the measured ones, the rows
 * hold. */
static void test_slower_links(void) {
  static const char reduces[] = "name: p\ndevice: d\nlibraries:\n- {library: vllm, op: all_reduce, "
                                "ranks: 8, size: \"1000000 8000000\", us: \"20 60\"}\n";
  static const double speeds[] = {1, 4, 0.02};
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(reduces, strlen(reduces), "rows", diags);
  g_autoptr(OrrProfile) profile = orr_profile_read(tree, NULL, diags);
  g_autofree gint64 *gpus = group_new(8, 0, 1);
  g_auto(Machine) measured;
  machine_init(&measured, 1, 8, 1, 1);
  for (guint i = 0; i < 2 * G_N_ELEMENTS(speeds); i++) {
    const double speed = speeds[i / 2], bytes = i % 2 ? 8e6 : 1e6, row_s = i % 2 ? 60e-6 : 20e-6;
    const double wire_s = 2 * 7 / 8. * bytes / (SCALE_UP * speed);
    g_auto(Machine) machine;
    machine_init(&machine, 1, 8, 1, speed);
    g_autoptr(OrrCostModel) cost = orr_cost_model_new_scaled(profile, &measured.cluster.device,
                                                             NULL, &machine.cluster.device, NULL);
    const OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = bytes, .gpus = gpus, .n = 8};
    g_autoptr(OrrCollectivePlan) plan = plan_of(&machine, cost, &call, "custom-vllm");
    assert_close(plan->predicted_s, speed < 1 ? row_s + wire_s * 49 / 50 : row_s, 1e-9);
    if (speed < 1) g_assert_cmpfloat(plan->predicted_s, >=, wire_s);
  }
}

/* Rows over 2 nodes whose GPUs had 24 GB/s each. Each of 4,096 tokens goes once to the other node
 * where it has an expert there, d / 2 of the times (d = 2 (1 - C(128, 8) / C(256, 8))):
 *
 *   w = 4096 * 7168 * 2 B * d / 2 / (24 GB/s)
 *
 * Over NICs with a tenth of the rate the bytes take 10 w, 9 w more; where the switches have half of
 * the NICs' rate, w more; and a row that is too short for the bytes gives way to them. Tokens that
 * stay on one node save transfers over the rows' NICs: as much where the NICs are faster. */
static void test_slower_network(void) {
  static const char text[] =
      "name: p\ndevice: d\nlibraries:\n- {library: deepep, op: dispatch, ranks: 8, hidden: 7168, "
      "topk: 8, experts: 256, size: \"1 4096\", us: \"20 700\"}\n"
      "- {library: deepep, op: dispatch, ranks: 16, "
      "gpus-per-node: 8, nic-rate: %s, hidden: 7168, topk: 8, experts: 256, size: \"1 4096\", "
      "us: \"40 %d\"}\n";
  static const struct {
    const char *rate;
    int row_us, oversubscription;
    double speed, row_part, parts; /* time = row_part * row + parts * w */
  } cases[] = {{"24 GB/s", 9000, 1, 1, 1, 0},  {"24 GB/s", 9000, 1, 4, 1, 0},
               {"24 GB/s", 9000, 1, .1, 1, 9}, {"24 GB/s", 9000, 2, 1, 1, 1},
               {"24 GB/s", 900, 1, 1, 0, 1},   {"0 GB/s", 9000, 1, .1, 0, 10}};
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  OrrExpertExchange routed = exchange_sample;
  routed.most_domains = 1;
  const OrrCollectiveCall call = call_of(gpus, 16, &exchange_sample),
                          limited = call_of(gpus, 16, &routed);
  double limited_s = 0;
  const double wire_s = 4096 * 7168 * 2.0 * orr_cost_library_copies("deepep", 2, 8, 256) / 2 / NIC;
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *rows_text = g_strdup_printf(text, cases[i].rate, cases[i].row_us);
    g_autofree char *fabric =
        g_strdup_printf("{kind: fat-tree, radix: 65536, nodes-per-leaf: 1, oversubscription: %d}",
                        cases[i].oversubscription);
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_yaml_parse(rows_text, strlen(rows_text), "rows", diags);
    g_autoptr(OrrProfile) profile = orr_profile_read(tree, NULL, diags);
    g_auto(Machine) machine;
    machine_init_on(&machine, 2, 8, fabric, cases[i].speed);
    g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &machine.cluster.device, NULL);
    g_autoptr(OrrCollectivePlan) plan = plan_of(&machine, cost, &call, "deepep");
    assert_close(plan->predicted_s,
                 cases[i].row_part * cases[i].row_us * 1e-6 + cases[i].parts * wire_s, 1e-3);
    g_assert_cmpint(plan->how, ==, cases[i].parts > 0 ? ORR_HOW_MODELLED : ORR_HOW_MEASURED);
    g_autoptr(OrrCollectivePlan) on_one_node = plan_of(&machine, cost, &limited, "deepep");
    if (i == 0) limited_s = on_one_node->predicted_s;
    if (i == 1) assert_close(on_one_node->predicted_s, limited_s, 1e-9);
    if (i == 0) g_assert_cmpfloat(limited_s, <, plan->predicted_s - 0.2 * wire_s);
  }
}

static void assert_refused(const Machine *machine, const OrrCollectiveCall *call,
                           const char *name) {
  const OrrCollectiveContext context = {.fabric = machine->fabric};
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_collective_plan(&context, call, algorithm_of(name), &error));
  g_assert_nonnull(strstr(error->message, "supports no collective over these 16 GPUs (it needs "));
}

/* Without tokens there is nothing to exchange; TensorRT-LLM's stay in an NVLink domain. */
static void test_refusals(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  OrrCollectiveCall call = call_of(gpus, 16, &exchange_sample);
  assert_refused(&machine, &call, "trtllm-one-sided");
  call.exchange = NULL;
  assert_refused(&machine, &call, "deepep");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/expert-exchange/closed-form", test_closed_form);
  g_test_add_func("/expert-exchange/messages", test_messages);
  g_test_add_func("/expert-exchange/node-saves", test_node_saves);
  g_test_add_func("/expert-exchange/in-turn", test_in_turn);
  g_test_add_func("/expert-exchange/rows", test_rows);
  g_test_add_func("/expert-exchange/limited-rows", test_limited_rows);
  g_test_add_func("/expert-exchange/nearest-rows", test_nearest_rows);
  g_test_add_func("/expert-exchange/slower-links", test_slower_links);
  g_test_add_func("/expert-exchange/slower-network", test_slower_network);
  g_test_add_func("/expert-exchange/refusals", test_refusals);
  return g_test_run();
}
