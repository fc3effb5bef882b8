/*
 * test_expert_exchange.c - all-to-alls of experts' tokens: closed form, what a node saves, rows,
 * and refusals.
 */
#include "tests/workloads/collectives/test_collective_fixture.h"

#include "calibration/profile/profile.h"

static const char *const names[] = {"deepep", "deepep-low-latency", "trtllm-one-sided",
                                    "trtllm-two-sided"};

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
    if (i > 1) continue; /* over NVLink alone */
    g_autoptr(OrrCollectivePlan) wide = plan_of(&machine, NULL, &far, names[i]);
    assert_close(wide->predicted_s, algorithm->oracle(&far, NIC_HOP, NIC), 1e-12);
  }
}

/* 8 nodes of one member each, and NICs of one and two million messages per second: 4,096 tokens
 * go to 8 experts, 7/8 of them elsewhere: 28,672 messages take 28.7 and 14.3 ms more. The normal
 * kernels batch tokens, and inside a domain no NIC counts. */
static void test_messages(void) {
  static const char *const libraries[] = {"deepep-low-latency", "deepep", "deepep-low-latency"};
  g_autofree gint64 *inside = group_new(8, 0, 1), *across = group_new(8, 3, 8);
  const OrrCollectiveCall near = call_of(inside, 8, &exchange_sample),
                          far = call_of(across, 8, &exchange_sample);
  const OrrCollectiveCall *const calls[] = {&far, &far, &near};
  for (double rate = 1e6; rate <= 2e6; rate += 1e6) {
    const double more_s[] = {4096 * 8 * 7 / 8.0 / rate, 0, 0};
    g_auto(Machine) machine;
    machine_init(&machine, 8, 8, 8, 1);
    OrrTransport *transport = machine.cluster.transport.params;
    for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
      transport->message_rate_per_s = 0;
      g_autoptr(OrrCollectivePlan) free = plan_of(&machine, NULL, calls[i], libraries[i]);
      transport->message_rate_per_s = rate;
      g_autoptr(OrrCollectivePlan) counted = plan_of(&machine, NULL, calls[i], libraries[i]);
      const double hop_s = calls[i] == &far ? 1 / rate : 0; /* the hop itself has one, too */
      assert_close(counted->predicted_s, free->predicted_s + more_s[i] + hop_s, 1e-9);
    }
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
  g_test_add_func("/expert-exchange/rows", test_rows);
  g_test_add_func("/expert-exchange/limited-rows", test_limited_rows);
  g_test_add_func("/expert-exchange/slower-links", test_slower_links);
  g_test_add_func("/expert-exchange/slower-network", test_slower_network);
  g_test_add_func("/expert-exchange/refusals", test_refusals);
  return g_test_run();
}
