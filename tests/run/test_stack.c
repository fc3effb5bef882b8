/*
 * test_stack.c - software stacks: a release finds its document, settings are laid under what the
 * scenario says; conditions see the scenario. The shipped ones: test_stack_shipped.c.
 *
 * The stacks of the first tests are in a folder that is searched before the shipped library.
 */
#include "sim/run/scenario_stack.h"

#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/scenario.h"
#include "sim/run/simulate.h"
#include "workloads/serving/serving.h"

#define HEAD "schema: stack/1\nfamily: toy\nkind: serving\nsummary: A toy.\n"
#define KNOWN "source: a test, confidence: assumed"

static const char toy_1[] =
    HEAD "name: toy-1.0\nrelease: \"1.0\"\n"
         "settings:\n"
         "  - {set: engine.host.step, to: 1 ms, " KNOWN "}\n"
         "  - {set: engine.scheduler, to: {kind: trtllm, batch-wait-timeout-iters: 3}, " KNOWN "}\n"
         "  - {set: engine.max-num-seqs, to: 99, when: cluster.device.memory < 50 GB, " KNOWN "}\n"
         "  - {set: engine.max-num-seqs, to: 77, when: workload.parallel.tp == 2 and "
         "cluster.device.architecture == hopper, " KNOWN "}\n";
static const char toy_1_10[] = HEAD "name: toy-1.10\nrelease: \"1.10\"\nbase: toy-1.0\n"
                                    "settings: [{set: engine.host.step, to: 2 ms, " KNOWN "}]\n";

static const char free_1[] =
    "schema: stack/1\nfamily: free\nkind: serving\nsummary: One.\nname: free-1.0\n"
    "release: \"1.0\"\nsettings:\n"
    "  - {set: engine.scheduler, to: {kind: trtllm, batch-wait-timeout-iters: 3}, unless-named: "
    "true, " KNOWN "}\n";

static const char text[] =
    "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
    "model: llama-3.1-8b\nworkload: {kind: serving, load: {kind: poisson, rate: 1}, requests: 1,"
    " input: {tokens: 8}, output: {tokens: 8}}\n";

static OrrLibrary *library;
static char *folder;

static void put(const char *name, const char *content) {
  g_autofree char *file = g_strconcat(folder, "/stacks/", name, ".yaml", NULL);
  g_autofree char *parent = g_path_get_dirname(file);
  g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
  g_assert_true(g_file_set_contents(file, content, -1, NULL));
}

/* The scenario with "path=value;..." set; NULL with what was found in *@ret_findings. */
static OrrScenario *read(const char *sets, char **ret_findings) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "test.yaml", diags);
  g_auto(GStrv) parts = g_strsplit(sets, ";", -1);
  for (char **part = parts; *part && **part; part++) {
    g_autoptr(GError) error = NULL;
    char *value = strchr(*part, '=');
    *value++ = '\0';
    orr_field_set(&orr_scenario_table, tree, *part, value, &error);
    g_assert_no_error(error);
  }
  OrrScenario *scenario = orr_scenario_read(library, tree, diags);
  *ret_findings = orr_diags_text(diags);
  return scenario;
}

static OrrScenario *good(const char *sets) {
  g_autofree char *findings = NULL;
  OrrScenario *scenario = read(sets, &findings);
  if (!scenario) g_error("%s: %s", sets, findings);
  return scenario;
}

static void assert_refused(const char *sets, const char *words) {
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(sets, &findings);
  g_assert_null(scenario);
  if (!strstr(findings, words)) g_error("'%s' does not say '%s'", findings, words);
}

static const OrrServing *serving(const OrrScenario *scenario) { return scenario->workload.params; }

/* The newest stack that is not newer; 1.10 is above 1.9, and only leading numbers count. */
static void test_resolve(void) {
  static const struct {
    const char *asked, *found;
  } cases[] = {{"toy-1.0", "toy-1.0"},
               {"toy-1", "toy-1.0"},
               {"toy-1.9.3", "toy-1.0"},
               {"toy-1.10", "toy-1.10"},
               {"toy-2.0", "toy-1.10"},
               {"toy-1.0.0rc3", "toy-1.0"},
               {"toy-1.10.post1", "toy-1.10"},
               {"toy-0.9", NULL},
               {"toy", NULL},
               {"toys-1.0", NULL},
               {"toy-nightly-5b", NULL}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *found = orr_stack_resolve(library, cases[i].asked);
    if (g_strcmp0(found, cases[i].found) != 0)
      g_error("%s found %s, not %s", cases[i].asked, found, cases[i].found);
  }
}

static void test_laid_under(void) {
  g_autoptr(OrrScenario) plain = good("workload.stack=none");
  g_autoptr(OrrScenario) stacked = good("workload.stack=toy-1.3");
  g_autoptr(OrrScenario) own = good("workload.stack=toy-1.3;workload.engine.host.step=7 ms");
  g_assert_cmpfloat(serving(plain)->engine.host.step_s, ==, 0);
  g_assert_cmpstr(serving(plain)->stack, ==, "none");
  g_assert_cmpfloat(serving(stacked)->engine.host.step_s, ==, 1e-3);
  g_assert_cmpstr(serving(stacked)->stack, ==, "toy-1.0");
  g_assert_cmpstr(serving(stacked)->engine.scheduler.entry->name, ==, "trtllm");
  g_assert_cmpfloat(serving(own)->engine.host.step_s, ==, 7e-3);
}

/* The base's settings come first. A choice that the scenario makes itself keeps none of the stack's
 * parameters of another one, and all of its own. */
static void test_base_and_choices(void) {
  g_autoptr(OrrScenario) later = good("workload.stack=toy-1.10");
  g_autoptr(OrrScenario) other = good("workload.stack=toy-1.10;workload.engine.scheduler=vllm");
  g_autoptr(OrrScenario) same = good("workload.stack=toy-1.10;workload.engine.scheduler=trtllm");
  g_autoptr(OrrScenario) plain = good("workload.stack=none;workload.engine.scheduler=trtllm");
  g_assert_cmpfloat(serving(later)->engine.host.step_s, ==, 2e-3);
  g_assert_cmpstr(serving(other)->engine.scheduler.entry->name, ==, "vllm");
  g_autoptr(OrrNode) a = orr_field_dump(&orr_scenario_table, same);
  g_autoptr(OrrNode) b = orr_field_dump(&orr_scenario_table, plain);
  g_autofree char *with = orr_yaml_text(a), *without = orr_yaml_text(b);
  g_assert_nonnull(strstr(with, "batch-wait-timeout-iters: 3"));
  g_assert_null(strstr(without, "batch-wait-timeout-iters: 3"));
}

static void assert_waits(const char *sets, const char *steps) {
  g_autofree char *set = g_strconcat("workload.stack=free-1.0;", sets, NULL);
  g_autoptr(OrrScenario) scenario = good(set);
  g_autoptr(OrrNode) tree = orr_field_dump(&orr_scenario_table, scenario);
  g_autofree char *resolved = orr_yaml_text(tree),
                  *wanted = g_strconcat("batch-wait-timeout-iters: ", steps, NULL);
  if (!strstr(resolved, wanted)) g_error("'%s' is missing in %s", wanted, resolved);
}

/* Parameters for scenarios that do not name the kind: one that does has the kind's defaults, and
 * one that gives a parameter alone keeps the stack's kind. */
static void test_unless_named(void) {
  assert_waits("", "3");
  assert_waits("workload.engine.scheduler=trtllm", "0");
  assert_waits("workload.engine.scheduler={kind: trtllm, batch-wait-max-tokens-ratio: 0.5}", "0");
  assert_waits("workload.engine.scheduler.batch-wait-timeout-iters=5", "5");
}

/* vLLM 0.8 begins with the V1 engine, whose larger sizes are for H100 and H200 alone. */
static void test_first_v1(void) {
  static const struct {
    const char *sets;
    gint64 tokens, sequences;
  } rows[] = {{"", 8192, 1024},
              {";cluster={base: dgx-a100-superpod, nodes: 1}", 2048, 256},
              {";cluster={base: dgx-h100-superpod, nodes: 1, device: b200}", 2048, 256}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *sets = g_strconcat("workload.stack=vllm-0.8.5", rows[i].sets, NULL);
    g_autoptr(OrrScenario) scenario = good(sets);
    g_assert_cmpstr(serving(scenario)->stack, ==, "vllm-0.8");
    g_assert_cmpstr(serving(scenario)->engine.scheduler.entry->name, ==, "vllm");
    g_assert_cmpint(serving(scenario)->engine.prefix_caching, !=, ORR_PREFIX_NONE);
    g_assert_cmpint(serving(scenario)->engine.max_num_batched_tokens, ==, rows[i].tokens);
    g_assert_cmpint(serving(scenario)->engine.max_num_seqs, ==, rows[i].sequences);
  }
}

static void test_conditions(void) {
  g_autoptr(OrrScenario) hopper = good("workload.stack=toy-1.0");
  g_autoptr(OrrScenario) two = good("workload.stack=toy-1.0;workload.parallel.tp=2");
  g_autoptr(OrrScenario) small = good("workload.stack=toy-1.0;cluster.device=a100-40gb-sxm");
  g_assert_cmpint(serving(hopper)->engine.max_num_seqs, ==, 256);
  g_assert_cmpint(serving(two)->engine.max_num_seqs, ==, 77);
  g_assert_cmpint(serving(small)->engine.max_num_seqs, ==, 99);
}

/* A stack that is changed in place. */
static void test_inline(void) {
  g_autoptr(OrrScenario) changed =
      good("workload.stack={base: toy-1.10, settings: [{set: engine.host.sequence, to: 3 us, " KNOWN
           "}]}");
  g_assert_cmpfloat(serving(changed)->engine.host.step_s, ==, 2e-3);
  g_assert_cmpfloat(serving(changed)->engine.host.sequence_s, ==, 3e-6);
}

/* Each job has a stack of its own, and conditions see the job's model and workload. */
static void test_jobs(void) {
  static const char two[] =
      "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\njobs:\n"
      "  - {name: a, gpus: 2, model: llama-3.1-8b, workload: {kind: serving, stack: toy-1.0, "
      "parallel: {tp: 2}, load: {kind: poisson, rate: 1}, requests: 1, input: {tokens: 8}, "
      "output: {tokens: 8}}}\n"
      "  - {name: b, gpus: 1, model: llama-3.1-8b, workload: {kind: serving, stack: toy-1.10, "
      "load: {kind: poisson, rate: 1}, requests: 1, input: {tokens: 8}, output: {tokens: 8}}}\n";
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(two, strlen(two), "test.yaml", diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *findings = orr_diags_text(diags);
  if (!scenario) g_error("%s", findings);
  const OrrJobSpec *a = scenario->jobs->pdata[0], *b = scenario->jobs->pdata[1];
  const OrrServing *of_a = a->workload.params, *of_b = b->workload.params;
  g_assert_cmpint(of_a->engine.max_num_seqs, ==, 77);
  g_assert_cmpint(of_b->engine.max_num_seqs, ==, 256);
  g_assert_cmpfloat(of_b->engine.host.step_s, ==, 2e-3);
  g_assert_cmpstr(orr_scenario_stack_name(&b->workload), ==, "toy-1.10");
}

/* The resolved scenario answers as the one it was made from. */
static void test_resolved(void) {
  g_autoptr(OrrScenario) first = good("workload.stack=toy-1.10;workload.parallel.tp=2");
  g_autofree char *resolved = orr_scenario_resolved(first);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(resolved, strlen(resolved), "resolved.yaml", diags);
  g_autoptr(OrrScenario) again = orr_scenario_read(library, tree, diags);
  g_autofree char *once_more = orr_scenario_resolved(again);
  g_assert_cmpstr(resolved, ==, once_more);
}

static char *reserve_of(const char *sets) {
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(sets, &findings);
  if (!scenario) g_error("%s", findings);
  return orr_scenario_stack_borrowed(library, scenario, "engine.reserved");
}

/* What vLLM reserves is known of an H100: on another device an answer says so, unless the scenario
 * has a value of its own. */
static void test_borrowed(void) {
  static const struct {
    const char *sets, *device;
  } rows[] = {
      {"workload.stack=vllm-0.9", NULL},
      {"workload.stack=vllm-0.9;cluster={base: dgx-a100-superpod, nodes: 1}", "h100-sxm"},
      {"workload.stack=vllm-0.9;workload.parallel.tp=2;cluster={base: dgx-a100-superpod, nodes: 1}",
       "h100-sxm"},
      {"workload.stack=vllm-0.9;workload.engine.reserved=2 GiB;cluster={base: dgx-a100-superpod, "
       "nodes: 1}",
       NULL},
      {"workload.stack=vllm-0.9;workload.groups=[{replicas: 1, device: a100-80gb-sxm}]",
       "h100-sxm"},
      {"workload.stack=none;cluster={base: dgx-a100-superpod, nodes: 1}", NULL}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *device = reserve_of(rows[i].sets);
    g_assert_cmpstr(device, ==, rows[i].device);
  }
}

/* TensorRT-LLM's products were measured on B300 and GB300, vLLM's only on B200 and GB200: by its
 * own kernels a product of bf16 on GB300 is a measured one, by any library it is carried over. */
static void test_own_products(void) {
  static const struct {
    const char *cluster;
    OrrKernelLibrary kernels;
  } rows[] = {{"{base: gb300-nvl72, nodes: 1}", ORR_KERNEL_LIBRARY_TRTLLM},
              {"{base: dgx-b200-superpod, nodes: 1, device: b300}", ORR_KERNEL_LIBRARY_TRTLLM},
              {"{base: gb200-nvl72, nodes: 1}", ORR_KERNEL_LIBRARY_ANY},
              {"{base: dgx-h100-superpod, nodes: 1}", ORR_KERNEL_LIBRARY_ANY}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *sets =
        g_strdup_printf("workload.stack=dynamo-trtllm-0.8;cluster=%s", rows[i].cluster);
    g_autoptr(OrrScenario) scenario = good(sets);
    g_assert_cmpint(serving(scenario)->engine.kernels, ==, rows[i].kernels);
  }
  g_autoptr(OrrScenario) scenario =
      good("workload.stack=dynamo-trtllm-0.8;cluster={base: gb300-nvl72, nodes: 1}");
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, &error);
  g_assert_no_error(error);
  OrrOperator op =
      orr_operator_gemm("q-a", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 256, 2048, 5120});
  g_assert_cmpint(orr_cost_operator(world->cost, &op).how, ==, ORR_HOW_CARRIED);
  op.library = ORR_KERNEL_LIBRARY_TRTLLM;
  g_assert_cmpint(orr_cost_operator(world->cost, &op).how, ==, ORR_HOW_MEASURED);
}

/* What SGLang launches for a layer's experts goes by their format: most for fp8 by blocks, whose
 * operands are cast, fewer in 16 bits, none where TensorRT-LLM's kernels take mxfp4. Checkpoints in
 * fp8-block have the same small kernels around their products as `precision: fp8`. */
static void test_expert_launches(void) {
  static const struct {
    const char *sets;
    gint64 launches, small;
  } rows[] = {{"workload.precision=fp8", 104, 12},
              {"workload.quantization=fp8-block", 104, 12},
              {"model=qwen3-30b-a3b;workload.precision=bf16", 57, 0},
              {"model=gpt-oss-20b;workload.quantization=mxfp4", 104, 0},
              {"model=gpt-oss-20b;workload.quantization=mxfp4;"
               "cluster={base: dgx-b200-superpod, nodes: 1}",
               0, 0},
              {"model=gpt-oss-20b;workload.quantization=int4-experts", 104, 0}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *sets = g_strconcat("workload.stack=sglang-0.5;", rows[i].sets, NULL);
    g_autoptr(OrrScenario) scenario = good(sets);
    g_assert_cmpint(serving(scenario)->engine.experts.launches, ==, rows[i].launches);
    g_assert_cmpint(serving(scenario)->engine.experts.small, ==, rows[i].small);
  }
}

/* vLLM without CUDA graphs runs from Python: each kernel costs the host a launch, and a layer's
 * experts many, more with casts to fp8. With graphs nothing of it is set. */
static void test_eager_vllm(void) {
  static const char *const stacks[] = {"vllm-0.3", "vllm-0.6", "vllm-0.9", "vllm-0.11",
                                       "vllm-0.19"};
  for (guint i = 0; i < G_N_ELEMENTS(stacks); i++) {
    const gboolean has_experts = i > 1;
    g_autofree char *graphs = g_strconcat("workload.stack=", stacks[i], NULL);
    g_autofree char *eager = g_strconcat(graphs, ";workload.engine.cuda-graph-max-size=0", NULL);
    g_autofree char *fp8 = g_strconcat(eager, ";workload.precision=fp8", NULL);
    g_autoptr(OrrScenario) with = good(graphs);
    g_autoptr(OrrScenario) without = good(eager);
    g_autoptr(OrrScenario) narrow = good(fp8);
    g_assert_cmpfloat(serving(with)->engine.host.launch_s, ==, 0);
    g_assert_cmpint(serving(with)->engine.experts.launches, ==, 0);
    g_assert_cmpfloat_with_epsilon(serving(without)->engine.host.launch_s, 32e-6, 1e-12);
    g_assert_cmpint(serving(without)->engine.experts.launches, ==, has_experts ? 19 : 0);
    g_assert_cmpint(serving(narrow)->engine.experts.launches, ==, has_experts ? 44 : 0);
  }
}

/* vLLM 0.21 leaves room for its graphs: 51 of pieces for the sizes up to 512 (1, 2, 4, 32 multiples
 * of 8, 16 of 16) and as many whole ones; 35 whole ones with 256 sequences; without graphs none. */
static void test_memory_of_graphs(void) {
  static const struct {
    const char *sets;
    double graphs;
  } rows[] = {{"", 102},
              {"workload.engine.max-num-seqs=256", 86},
              {"workload.engine.cuda-graph-max-size=16", 10}};
  const double mib = 1 << 20;
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *sets = g_strconcat("workload.stack=vllm-0.21;", rows[i].sets, NULL);
    g_autoptr(OrrScenario) scenario = good(sets);
    g_assert_cmpfloat_with_epsilon(serving(scenario)->engine.reserved_bytes,
                                   (768 + 287 + 5.2 * rows[i].graphs) * mib, 1);
  }
  g_autoptr(OrrScenario) eager =
      good("workload.stack=vllm-0.21;workload.engine.cuda-graph-max-size=0");
  g_assert_cmpfloat(serving(eager)->engine.reserved_bytes, ==, 768 * mib);
}

static const OrrEngineParams *group_engine(const OrrScenario *scenario) {
  return &((const OrrReplicaGroup *)serving(scenario)->groups->pdata[0])->engine;
}

/* Conditions see a group's own layout: in vLLM 0.19 a server of one GPU hides its host time and has
 * a thread per core (0), one of four exposes half of it and has one thread. What the workload or
 * the group says stays; without a stack a group with an engine has the workload's under it. */
static void test_groups(void) {
  static const char groups[] =
      "workload.parallel={tp: %d};workload.groups=[{parallel: {tp: %d}%s}];%s";
  g_autofree char *narrow = g_strdup_printf(groups, 1, 4, "", ""),
                  *wide = g_strdup_printf(groups, 4, 1, "", ""),
                  *said = g_strdup_printf(groups, 1, 4, "", "workload.engine.host.exposed=10 %"),
                  *own = g_strdup_printf(groups, 1, 4, ", engine: {host: {exposed: 20 %}}",
                                         "workload.engine.host.exposed=10 %"),
                  *null = g_strdup_printf(groups, 4, 1, ", engine: {max-num-seqs: null}", ""),
                  *none = g_strdup_printf(groups, 1, 4, ", engine: {max-num-seqs: 7}",
                                          "workload.stack=none;workload.engine.block-size=32");
  g_autoptr(OrrScenario) a = good(narrow);
  g_autoptr(OrrScenario) b = good(wide);
  g_autoptr(OrrScenario) c = good(said);
  g_autoptr(OrrScenario) d = good(own);
  g_autoptr(OrrScenario) e = good(none);
  g_assert_cmpfloat(serving(a)->engine.host.exposed, ==, 0);
  g_assert_cmpfloat(group_engine(a)->host.exposed, ==, 0.5);
  g_assert_cmpint(serving(a)->engine.host.threads, ==, 0);
  g_assert_cmpint(group_engine(a)->host.threads, ==, 1);
  g_assert_cmpfloat(serving(b)->engine.host.exposed, ==, 0.5);
  g_assert_cmpfloat(group_engine(b)->host.exposed, ==, 0);
  g_assert_cmpint(group_engine(b)->host.threads, ==, 0);
  g_assert_cmpfloat(group_engine(c)->host.exposed, ==, 0.1);
  g_assert_cmpfloat(group_engine(d)->host.exposed, ==, 0.2);
  g_assert_cmpfloat(serving(d)->engine.host.exposed, ==, 0.1);
  g_autoptr(OrrScenario) f = good(null); /* conditions of the workload hold with a null, too */
  g_assert_cmpfloat(serving(f)->engine.host.exposed, ==, 0.5);
  g_assert_cmpfloat(group_engine(f)->host.exposed, ==, 0);
  g_assert_cmpint(group_engine(e)->max_num_seqs, ==, 7);
  g_assert_cmpint(group_engine(e)->block_size, ==, 32);
}

/* Runs that share a world meet the devices of their groups anew: each warning is there once. */
static void test_warnings(void) {
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = read(
      "engine=fair;cluster.nodes=1;workload.groups=[{replicas: 1, device: tpu-v4}]", &findings);
  if (!scenario) g_error("%s", findings);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, &error);
  g_assert_no_error(error);
  guint n = 0;
  for (guint i = 0; i < 3; i++) {
    const OrrSimulation options = {.brief = TRUE};
    g_autoptr(OrrOutcome) outcome = orr_simulate_in(world, scenario, &options, &error);
    g_assert_no_error(error);
    if (i == 0) n = world->warnings->len;
    g_assert_cmpuint(n, >, 0);
    g_assert_cmpuint(world->warnings->len, ==, n);
  }
}

static void test_refused(void) {
  assert_refused("workload.stack=toy-0.5", "unknown stack 'toy-0.5': did you mean");
  put("toy-3.0", HEAD "name: toy-3.0\nrelease: \"3.0\"\n"
                      "settings: [{set: engine.hst, to: 1, " KNOWN "}]\n");
  assert_refused("workload.stack=toy-3.0", "toy-3.0.yaml:7:12: error: path 'workload.engine.hst'");
  put("toy-4.0",
      HEAD "name: toy-4.0\nrelease: \"4.0\"\nsettings: [{set: engine.max-num-seqs, to: 1, "
           "when: cluster.devices > 1, " KNOWN "}]\n");
  assert_refused("workload.stack=toy-4.0", "unknown key 'devices'");
  put("toy-5.0",
      HEAD "name: toy-5.0\nrelease: \"5.0\"\nsettings: [{set: engine.max-num-seqs, to: 1}]\n");
  assert_refused("workload.stack=toy-5.0", "missing key 'source'");
  put("toy-6.0", HEAD "name: toy-6.1\nrelease: \"6.0\"\n");
  assert_refused("workload.stack=toy-6.0", "is named 'toy-6.0', not 'toy-6.1'");
  put("toy-7.0", "schema: stack/1\nfamily: toy\nkind: training\nsummary: A toy.\nname: toy-7.0\n"
                 "release: \"7.0\"\n");
  assert_refused("workload.stack=toy-7.0", "is for workloads of kind training, not serving");
}

static void remove_tree(const char *path) {
  g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    g_autofree char *child = g_build_filename(path, name, NULL);
    remove_tree(child);
  }
  g_remove(path);
}

/* A group's cache has the workload's format unless it names one; null is as if none were given.
 * What a stack sets follows the group's own weights: TensorRT-LLM's fp8 checkpoints have an fp8
 * cache. Caches that are handed over have one format. */
static void test_group_caches(void) {
  static const struct {
    const char *sets;
    OrrDtype own, of_group;
  } rows[] = {
      {"workload.groups=[{replicas: 1}];workload.kv-dtype=fp8", ORR_FP8, ORR_FP8},
      {"workload.stack=none;workload.groups=[{replicas: 1}];workload.kv-dtype=fp8", ORR_FP8,
       ORR_FP8},
      {"workload.stack=none;workload.groups=[{replicas: 1, kv-dtype: fp8}]", ORR_BF16, ORR_FP8},
      {"workload.groups=[{replicas: 1, kv-dtype: null}];workload.kv-dtype=fp8", ORR_FP8, ORR_BF16},
      {"workload.stack=trtllm-1.0;workload.groups=[{replicas: 1, precision: fp8}]", ORR_BF16,
       ORR_FP8},
      {"workload.stack=trtllm-1.0;workload.precision=fp8;workload.groups=[{replicas: 1}]", ORR_FP8,
       ORR_FP8}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrScenario) scenario = good(rows[i].sets);
    const OrrReplicaGroup *group = serving(scenario)->groups->pdata[0];
    g_assert_cmpint(serving(scenario)->formats.kv, ==, rows[i].own);
    g_assert_cmpint(group->formats.kv, ==, rows[i].of_group);
  }
  assert_refused("workload.disaggregation.prefill=1;workload.groups=[{replicas: 1, kv-dtype: fp8}]",
                 "kv-dtype fp8, and bf16 of the replicas before");
  assert_refused("workload.engine.cache-tiers={host: 10 GB};"
                 "workload.groups=[{replicas: 1, engine: {cache-tiers: {remote-latency: 1 s}}}]",
                 "engine.cache-tiers must be the same in all groups");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-stack-XXXXXX", NULL);
  put("toy-1.0", toy_1);
  put("toy-1.10", toy_1_10);
  put("free-1.0", free_1);
  const char *folders[] = {folder, NULL};
  library = orr_library_new(folders);
  g_test_add_func("/stack/resolve", test_resolve);
  g_test_add_func("/stack/laid-under", test_laid_under);
  g_test_add_func("/stack/base-and-choices", test_base_and_choices);
  g_test_add_func("/stack/unless-named", test_unless_named);
  g_test_add_func("/stack/first-v1", test_first_v1);
  g_test_add_func("/stack/conditions", test_conditions);
  g_test_add_func("/stack/inline", test_inline);
  g_test_add_func("/stack/jobs", test_jobs);
  g_test_add_func("/stack/resolved", test_resolved);
  g_test_add_func("/stack/borrowed", test_borrowed);
  g_test_add_func("/stack/own-products", test_own_products);
  g_test_add_func("/stack/expert-launches", test_expert_launches);
  g_test_add_func("/stack/eager-vllm", test_eager_vllm);
  g_test_add_func("/stack/memory-of-graphs", test_memory_of_graphs);
  g_test_add_func("/stack/groups", test_groups);
  g_test_add_func("/stack/group-caches", test_group_caches);
  g_test_add_func("/stack/warnings", test_warnings);
  g_test_add_func("/stack/refused", test_refused);
  const int status = g_test_run();
  orr_library_free(library);
  remove_tree(folder);
  g_free(folder);
  return status;
}
