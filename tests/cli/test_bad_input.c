/*
 * test_bad_input.c - all that can be wrong with a user's documents: each case one clear message,
 * exit status 2, nothing on stdout, and no file made, changed or left.
 */
#include <unistd.h>

#include "tests/base/test_size.h"
#include "tests/cli/bad_fixture.h"

/* --- Documents: one change to the right one --- */

typedef struct {
  const char *from, *to, *wanted;
} Change;

/* As a run, a run with files that it must not make, and a check: each case all three ways, or one
 * after another. */
static void assert_changes(const Change *changes) {
  static const char *const lines[] = {"run wrong.yaml",
                                      "run wrong.yaml --json --db wrong.db --trace wrong.json",
                                      "check wrong.yaml"};
  for (guint way = 0; changes->from; changes++, way++) {
    g_auto(GStrv) parts = g_strsplit(GOOD, changes->from, 2);
    g_autofree char *text = g_strjoinv(changes->to, parts);
    if (g_strv_length(parts) != 2) g_error("'%s' is not in the right scenario", changes->from);
    empty_folder();
    put("wrong.yaml", text, -1);
    for (guint i = 0; i < test_size(G_N_ELEMENTS(lines), 1); i++)
      assert_refused(lines[(way + i) % G_N_ELEMENTS(lines)], 2, changes->wanted);
  }
}

static void test_right(void) {
  put("right.yaml", GOOD, -1);
  assert_fine("run right.yaml --db none", "TP 2 x PP 2 x DP 1");
  assert_fine("check right.yaml", "right.yaml: fine");
}

static void test_keys(void) {
  assert_changes((const Change[]){
      {"model:", "modle:", "unknown key 'modle' in scenario: did you mean 'model'?"},
      {"heads:", "haeds:", "did you mean 'heads'?"},
      {"tp: 2", "tpp: 2", "did you mean 'tp'?"},
      {"kind: 1f1b", "kind: 1f1b, chunks: 2", "unknown key 'chunks'"},
      {"micro: 1", "micro: 1, x: 1", "unknown key 'x' in batch (allowed: global, micro)"},
      {"name: small\n", "", "wrong.yaml:1:1: error: missing key 'name'"},
      {"global: 8, ", "", "missing key 'global'"},
      {"vocab: 51200, ", "", "missing key 'vocab'"},
      {"  kind: training\n", "", "missing key 'kind'"},
      {"schema: scenario/1\n", "", "begins with 'schema: "},
      {"scenario/1", "scenario/2", "'schema' must be 'scenario/1' here, found 'scenario/2'"},
      {"layers: 4", "layers: 4, layers: 8", "wrong.yaml:4:20: error: duplicate key 'layers'"},
      {NULL, NULL, NULL},
  });
}

static void test_types(void) {
  assert_changes((const Change[]){
      {"layers: 4", "layers: four",
       "wrong.yaml:4:17: error: 'layers' must be a whole number without a unit, found 'four'"},
      {"layers: 4", "layers: 4.5", "'layers' must be a whole number"},
      {"layers: 4", "layers: [4]", "found a list"},
      {"layers: 4", "layers: {a: 4}", "found a map"},
      {"layers: 4", "layers: \"4\"", "found the text \"4\""},
      {"layers: 4", "layers: ~", "found '~'"},
      {"layers: 4", "layers: nan", "found 'nan'"},
      {"name: small", "name: [a]", "'name' must be one text"},
      {"{tp: 2, pp: 2, dp: 1}", "8", "'parallel' must be a map"},
      {"{base: dgx-a100-superpod, nodes: 1, gpus: 4}", "[a]",
       "'cluster' must be a name or a map, found a list"},
      {"{base: dgx-a100-superpod", "{base: [a]", "'base' must be the name of a cluster"},
      {"dp: 1", "dp: 1, sequence-parallel: yes", "'sequence-parallel' must be true or false"},
      {NULL, NULL, NULL},
  });
}

static void test_units(void) {
  assert_changes((const Change[]){
      {"bf16\n", "bf16\n  data-parallel: {bucket: 25}\n",
       "'25' has no unit: allowed are B, kB, MB"},
      {"bf16\n", "bf16\n  data-parallel: {bucket: 25 MX}\n",
       "unknown unit 'MX': allowed are B, kB"},
      {"bf16\n", "bf16\n  data-parallel: {bucket: 25 MB/s}\n", "unknown unit 'MB/s'"},
      {"bf16\n", "bf16\n  data-parallel: {bucket: inf B}\n", "'inf B' is not a number"},
      {"bf16\n", "bf16\n  data-parallel: {bucket: 1e999 B}\n", "is too large"},
      {"gpus: 4", "gpus: 4, node: {nic-bandwidth: 200}", "'200' has no unit: allowed are B/s"},
      {"gpus: 4", "gpus: 4, node: {nic-bandwidth: 200 GB}", "unknown unit 'GB'"},
      {"gpus: 4", "gpus: 4, node: {nic-latency: 1}", "'1' has no unit: allowed are ns"},
      {"layers: 4", "layers: 4 B", "'layers' must be a whole number without a unit"},
      {NULL, NULL, NULL},
  });
}

/* Zero, below zero, and more than anything real; products that leave 64 bits. */
static void test_ranges(void) {
  assert_changes((const Change[]){
      {"layers: 4", "layers: 0", "'layers' must be between 1 and"},
      {"layers: 4", "layers: -4", "'layers' must be between 1 and"},
      {"layers: 4", "layers: 1e9", "'layers' must be between 1 and"},
      {"layers: 4", "layers: 99999999999999999999", "'layers' must be a whole number"},
      {"hidden: 1024", "hidden: 1000000000000000000", "'hidden' must be between"},
      {"nodes: 1,", "nodes: 1000000000000000000,", "'nodes' must be between 0 and 10000000"},
      {"nodes: 1,", "nodes: -1,", "'nodes' must be between"},
      {"tp: 2", "tp: 0", "'tp' must be between 1 and"},
      {"tp: 2, pp: 2", "tp: 4294967296, pp: 4294967296", "'tp' must be between 1 and"},
      {"dp: 1", "dp: 9223372036854775807", "'dp' must be between 0 and"},
      {"global: 8", "global: 0", "'global' must be between 1 and"},
      {"global: 8", "global: 9223372036854775807", "'global' must be between 1 and"},
      {"micro: 1", "micro: 0", "'micro' must be between 1 and"},
      {"bf16\n", "bf16\n  steps: 1000000000\n", "'steps' must be between 1 and"},
      {"bf16\n", "bf16\n  sequence: -1\n", "'sequence' must be between 0 and"},
      {"bf16\n", "bf16\n  data-parallel: {bucket: 0 B}\n", "'bucket' must be greater than 0"},
      {"gpus: 4", "gpus: 4, node: {nic-bandwidth: 0 Gb/s}",
       "'nic-bandwidth' must be greater than 0"},
      {"gpus: 4", "gpus: 4, node: {scale-up-latency: -1 us}",
       "'scale-up-latency' must be 0 or greater"},
      {"gpus: 4", "gpus: 4, node: {scale-up-latency: 1e300 s}", "between 1e-30 and 1e30"},
      {"gpus: 4", "gpus: 4, node: {nics-per-gpu: 1e20}", "'nics-per-gpu' must be between 0 and 64"},
      {"gpus: 4", "gpus: 4, device: {base: a100-80gb-sxm, memory-bandwidth: 1e-300 B/s}",
       "between 1e-30 and 1e30"},
      {"gpus: 4", "gpus: 4, fabric: {kind: rail-optimized, nodes-per-group: 9223372036854775807}",
       "'nodes-per-group' must be between"},
      {"gpus: 4", "gpus: 4, fabric: {kind: fat-tree, leaf-ports: 9223372036854775807}",
       "'leaf-ports' must be between"},
      {"kind: 1f1b", "kind: interleaved-1f1b, chunks: 9223372036854775807",
       "'chunks' must be between"},
      {NULL, NULL, NULL},
  });
}

/* Sizes against each other, the model and the machine; the numbers are in the message. */
static void test_sizes(void) {
  assert_changes((const Change[]){
      {"pp: 2, dp: 1", "pp: 4, dp: 1",
       ":7:13: error: tp * pp * dp = 2 * 4 * 1 = 8 GPUs, but the cluster has 4 in use"},
      {"dp: 1", "dp: 1, context-inner: 2",
       ":7:50: error: parallel.context-inner (2) needs context: hierarchical"},
      {"heads: 16", "heads: 15", "'hidden' 1024 is not a multiple of 'heads' 15"},
      {"heads: 16", "heads: 1", "1 attention heads cannot be split over tp = 2"},
      {"layers: 4", "layers: 5", "layers (5) cannot be divided by pp * chunks (2 * 1)"},
      {"kind: 1f1b", "kind: interleaved-1f1b, chunks: 3",
       "layers (4) cannot be divided by pp * chunks (2 * 3)"},
      {"micro: 1", "micro: 3",
       ":9:10: error: batch.global (8) cannot be divided by batch.micro * dp (3 * 1)"},
      {"nodes: 1, gpus: 4", "nodes: 561", "nodes is 561, but the fabric was built for 560"},
      {"nodes: 1, gpus: 4", "nodes: 5, gpus: 41", "gpus is 41, but 5 nodes of 8 hold only 40"},
      {"gpus: 4", "gpus: 4, fabric: fat-tree",
       "two levels of 64-port switches join at most 64 leaves"},
      {"gpus: 4", "gpus: 4, node: {scale-up-domain: 3}",
       "scale-up-domain is 3: it must divide the 8 GPUs"},
      {"gpus: 4", "gpus: 4, device: {base: a100-80gb-sxm, bf16: 0 FLOP/s}",
       "no peak rate for bf16"},
      {"bf16\n", "fp8-current\n",
       ":10:14: error: precision is fp8-current, but device a100-80gb-sxm gives no peak rate for "
       "fp8"},
      {"bf16\n", "mxfp8\n  collectives: auto\n", "device a100-80gb-sxm gives no peak rate for fp8"},
      {"bf16\n", "bf16\n  lora: {rank: 8, targets: [qvk]}\n",
       "lora.targets: unknown 'qvk': did you mean 'qkv'?"},
      {"bf16\n", "bf16\n  lora: {quantised: true}\n",
       ":11:9: error: lora.quantised needs adapters: set lora.rank"},
      {"context: 1024}", "context: 1024, layout: [atention]}",
       "unknown 'atention', did you mean 'attention'?"},
      {"context: 1024}", "context: 1024, layout: [moe]}", "the model has no 'moe' with 'experts'"},
      {"bf16\n", "bf16\n  sequence: 2048\n", "longer than the model's 1024 learned positions"},
      {NULL, NULL, NULL},
  });
}

/* Fabrics that cannot be built. 560 nodes of 8 unless max-nodes says otherwise. */
static void test_fabrics(void) {
#define FABRIC(text_) "gpus: 4", "gpus: 4, max-nodes: 2, fabric: {" text_ "}"
  assert_changes((const Change[]){
      {FABRIC("kind: custom, hosts: [{switch: a, ports: 8}, {switch: b, ports: 8}], cables: "
              "[{from: a, to: s}]"),
       "wrong.yaml:3:10: error: fabric custom: for max-nodes, 2: no route leads from a to b: the "
       "fabric must be connected"},
      {FABRIC("kind: custom, hosts: [{switch: a, ports: 15}]"),
       "hosts names 15 ports, but the machine has 16 NIC ports"},
      {FABRIC("kind: custom, hosts: [{switch: a, ports: 16}], cables: [{from: a, to: a}]"),
       "joins switch 'a' to itself"},
      {FABRIC(
           "kind: custom, radix: 16, hosts: [{switch: a, ports: 16}], cables: [{from: a, to: b}]"),
       "switch 'a' has 17 ports in use, but radix is 16"},
      {FABRIC("kind: dragonfly, hosts-per-router: 40"), "needs 87 ports, but radix is 64"},
      {FABRIC("kind: dragonfly, groups: 600"),
       "600 groups, but 32 routers of 16 global cables reach at most 512 others"},
      {FABRIC("kind: dragonfly-plus, hosts-per-leaf: 60"),
       "a leaf with 60 NICs and 10 spines needs 70 ports"},
      {FABRIC("kind: dragonfly-plus, global-per-spine: 60"), "needs 70 ports, but radix is 64"},
      {FABRIC("kind: hyperx, shape: 64x64"), "needs 134 ports, but radix is 64"},
      {FABRIC("kind: hyperx, shape: 1x1"),
       "shape 1x1 has 1 switches of 8 ports, but 16 ports are needed"},
      {FABRIC("kind: hyperx, shape: 4y4"), "shape is '4y4': it must be 1 to 4 whole numbers"},
      {FABRIC("kind: torus, shape: 3x3"),
       "16 chips are not a whole number of slices of 3x3 (9 chips)"},
      {FABRIC("kind: torus, shape: 4x8"), "16 chips do not fill a slice of 4x8 (32 chips)"},
      {FABRIC("kind: torus, shape: 2x1x1"),
       "the job has 4 chips, a slice of 2x1x1 has 2, and no links lead from slice"},
      {FABRIC("kind: torus, shape: 4x4, twisted: true"),
       "shape 4x4 cannot be twisted: its axes must be a and 2a"},
      {FABRIC("kind: clos, down: 4x4, oversubscription: 0.5"),
       "oversubscription is '0.5': it must be at most 1 ratios"},
      {FABRIC("kind: clos, down: 4x4, oversubscription: 1x7"),
       "oversubscription is '1x7': it must be at most 1 ratios"},
      {FABRIC("kind: clos, down: 4x2"), "down: 4x2 joins 8 ports, but 16 are needed"},
      {FABRIC("kind: clos, down: 8x2, radix: 12"),
       "a switch of level 1 with 8 links down and 8 up needs 16 ports"},
      {FABRIC("kind: fat-tree, oversubscription: 0.5"),
       "'oversubscription' must be between 1 and 1000"},
      {"gpus: 4", "gpus: 4, routing: valiant", "use it on a dragonfly"},
      {"gpus: 4", "gpus: 4, transport: rocev2", "did you mean 'roce-v2'?"},
      {"gpus: 4", "gpus: 4, transport: {kind: roce-v2, mtu: 100 B}", "'mtu' must be between 256"},
      {"gpus: 4", "gpus: 4, transport: {kind: infiniband, incast-efficiency: 0}",
       "'incast-efficiency' must be between"},
      {"gpus: 4",
       "gpus: 4, node: {scale-up-domain: 4}, fabric: {kind: rail-only, levels: 3, nodes-per-leaf: "
       "32}",
       "scale-up-domain (4) must hold whole nodes of 8 GPUs"},
      {NULL, NULL, NULL},
  });
#undef FABRIC
}

static void test_names(void) {
  assert_changes((const Change[]){
      {"dgx-a100-superpod", "dgx-a100-superpot", "did you mean 'dgx-a100-superpod'?"},
      {"dgx-a100-superpod", "../../etc/passwd", "unknown cluster '../../etc/passwd' (known: "},
      {"{layers: 4, hidden: 1024, heads: 16, vocab: 51200, context: 1024}", "gpt3-175",
       "did you mean 'gpt3-175b'?"},
      {"gpus: 4", "gpus: 4, device: h100-sxn", "did you mean 'h100-sxm'?"},
      {"gpus: 4", "gpus: 4, fabric: fat-tre", "did you mean 'fat-tree'?"},
      {"gpus: 4", "gpus: 4, fabric: {kind: torus, shap: 4x4}", "did you mean 'shape'?"},
      {"gpus: 4", "gpus: 4, routing: ecpm", "did you mean 'ecmp'?"},
      {"kind: training", "kind: trainign", "did you mean 'training'?"},
      {"kind: 1f1b", "kind: 1f1bb", "did you mean '1f1b'?"},
      {"bf16\n", "bf61\n", "did you mean 'bf16'?"},
      {"bf16\n", "bf16\n  collectives: hierachical\n", "did you mean 'hierarchical'?"},
      {NULL, NULL, NULL},
  });
}

static void test_base_circle(void) {
  g_autofree char *models = path_of("models"), *one = path_of("models/loop-a.yaml"),
                  *two = path_of("models/loop-b.yaml");
  empty_folder();
  g_assert_cmpint(g_mkdir(models, 0755), ==, 0);
  put("models/loop-a.yaml", "schema: model/1\nbase: loop-b\n", -1);
  put("models/loop-b.yaml", "schema: model/1\nbase: loop-a\n", -1);
  g_autofree char *out = NULL, *err = NULL;
  const int status =
      spawn("run gpt3-175b-1024-a100 --db none --set model=loop-a --library .", &out, &err);
  g_assert_cmpint(status, ==, 2);
  g_assert_nonnull(strstr(err, "'base' goes in a circle: loop-a -> loop-b -> loop-a"));
  assert_fine("list models --library .", "loop-a"); /* one broken document breaks no list */
  g_assert_cmpint(g_remove(one) + g_remove(two) + g_rmdir(models), ==, 0);
}

/* --- Files --- */

static char *repeat(const char *what, guint n) {
  g_autoptr(GString) text = g_string_new(NULL);
  while (n-- > 0) g_string_append(text, what);
  return g_string_free(g_steal_pointer(&text), FALSE);
}

static void assert_file_refused(const char *text, gssize length, const char *wanted) {
  empty_folder();
  put("wrong.yaml", text, length);
  assert_refused("run wrong.yaml", 2, wanted);
  assert_refused("check wrong.yaml", 2, wanted);
}

static void test_files(void) {
  g_autofree char *two = g_strconcat(GOOD, "---\na: 1\n", NULL);
  assert_file_refused("", 0, "wrong.yaml: error: is empty");
  assert_file_refused("# nothing\n", -1, "holds no document");
  assert_file_refused("\0\1\2\377", 4, "byte 0x00 is binary");
  assert_file_refused("schema: \377\376", -1, "byte 0xFF is not UTF-8");
  assert_file_refused("- 1\n", -1, "map");
  assert_file_refused("schema: [\n", -1, "is not valid YAML");
  assert_file_refused("a: &a 1\nb: *a\n", -1, "anchors and aliases are not supported");
  assert_file_refused(two, -1, "a second document");
  assert_refused("run nothing.yaml", 2, "nothing.yaml: error: cannot be read");
  assert_refused("run nothing", 2, "unknown scenario 'nothing'");
  assert_refused("run gpt3-175b-1024-a10", 2, "did you mean 'gpt3-175b-1024-a100'?");
  assert_refused("run .", 2, "it is a folder");
}

static void test_large_file(void) {
  g_autofree char *path = path_of("large.yaml");
  empty_folder();
  put("large.yaml", "a: 1\n", -1);
  g_assert_cmpint(truncate(path, 100 << 20), ==, 0); /* with a hole: no disk is used */
  g_autofree char *out = NULL, *err = NULL;
  g_assert_cmpint(spawn("run large.yaml", &out, &err), ==, 2);
  g_assert_nonnull(strstr(err, "large.yaml: error: is larger than 16 MiB"));
  empty_folder();
}

static void test_nesting(void) {
  g_autoptr(GString) block = g_string_new(NULL);
  g_autofree char *flow = repeat("[", 100000), *maps = repeat("{a: ", 100000),
                  *dashes = repeat("- ", 100000);
  for (int i = 0; i < 2000; i++) g_string_append_printf(block, "%*sa:\n", i, "");
  assert_file_refused(flow, -1, "nested more than 64 levels deep");
  assert_file_refused(maps, -1, "nested more than 64 levels deep");
  assert_file_refused(dashes, -1, "nested more than 64 levels deep");
  assert_file_refused(block->str, -1, "nested more than 64 levels deep");
}

static char *refusal(const char *arguments) {
  g_autofree char *out = NULL;
  char *err = NULL;
  g_assert_cmpint(spawn(arguments, &out, &err), ==, 2);
  return err;
}

static void assert_has(const char *text, const char *wanted) {
  if (!strstr(text, wanted)) g_error("'%s' is not in: %s", wanted, text);
}

/* What is advised is not set yet, and is enough in the memory that is allowed: of each number the
 * next larger one is refused again. DualPipe wants an even number of micro-batches, which are 128
 * sequences. */
static void test_too_much_says_what_would_do(void) {
  const char *run = "run deepseek-v3-2048-h100 --db none --memory 400MB --set "
                    "workload.batch.global=30720 ";
  g_autofree char *full = g_strconcat(run, "--set fidelity=full", NULL), *of_full = refusal(full);
  assert_has(of_full, "replicas: 128 of 128, micro-batches: 240, steps: 1");
  assert_has(of_full, "fidelity auto or folded (now full), which replays 1: ");
  const char *batch = strstr(of_full, "workload.batch.global ");
  g_assert_nonnull(batch);
  const gint64 most = g_ascii_strtoll(batch + strlen("workload.batch.global "), NULL, 10);
  g_autofree char *more =
      g_strdup_printf("%s --set workload.batch.global=%ld", full, most + 2 * 128);
  g_autofree char *of_more = refusal(more);
  assert_has(of_more, "operations (replicas: 128 of 128, micro-batches: ");
  assert_has(of_more, "of memory, and the limit is 381.5 MiB: ");
  assert_has(of_more, "--memory 1GiB or more (this machine has ");
  g_autofree char *ecmp = g_strconcat(run, "--set cluster.routing=ecmp", NULL),
                  *of_ecmp = refusal(ecmp);
  assert_has(of_ecmp, "cluster.routing ideal (now ecmp), which replays 1: ");
  g_assert_null(strstr(of_ecmp, "fidelity"));
  g_autofree char *steps = g_strconcat(
                      run, "--set workload.steps=200 --set workload.loader.sample-time=1us", NULL),
                  *of_steps = refusal(steps);
  assert_has(of_steps, "What would help: workload.steps ");
  g_assert_null(strstr(of_steps, "fidelity"));
  g_autofree char *noise = g_strconcat(run, "--set workload.noise.rank=0.01", NULL),
                  *of_noise = refusal(noise);
  assert_has(of_noise, "replicas: 128 of 128, all different because of workload.noise");
  g_assert_null(strstr(of_noise, "fidelity"));
}

/* Right in each field, and more work than a machine holds. */
static void test_too_much(void) {
  empty_folder();
  put("right.yaml", GOOD, -1);
  assert_refused("run right.yaml --db none --memory 1GB --set workload.batch.global=1000000000", 2,
                 "the replay would take about ");
  assert_refused("run right.yaml --db none --memory 1GB --set workload.steps=1000000 --set "
                 "workload.noise.rank=0.01",
                 2, "the replay would take about ");
  assert_refused("run right.yaml --db none --memory 0", 2, "--memory takes a size above 0");
  assert_refused("run right.yaml --db none --set cluster.gpus=0 --set cluster.nodes=1000000 --set "
                 "cluster.max-nodes=0 "
                 "--set workload.parallel.dp=0 --set workload.batch.global=2000000 "
                 "--set 'cluster.fabric={kind: fat-tree, levels: 3, radix: 65536}'",
                 2, "the job has 8000000 GPUs, and the limit is 1048576");
}

/* Hardware and models that do not go together, each on the command line. */
static void test_recipes_and_experts(void) {
  put("right.yaml", GOOD, -1);
  assert_refused(
      "run right.yaml --set cluster.base=dgx-h100-superpod --set workload.precision=mxfp8", 2,
      "precision is mxfp8, but device h100-sxm has no block-scaled tensor cores");
  assert_refused("run right.yaml --set model=mixtral-8x7b --set workload.parallel.ep=16", 2,
                 "ep = 16 is more than the model's 8 experts");
}

static void add_tests(void) {
  g_test_add_func("/bad-input/right", test_right);
  g_test_add_func("/bad-input/recipes-and-experts", test_recipes_and_experts);
  g_test_add_func("/bad-input/keys", test_keys);
  g_test_add_func("/bad-input/types", test_types);
  g_test_add_func("/bad-input/units", test_units);
  g_test_add_func("/bad-input/ranges", test_ranges);
  g_test_add_func("/bad-input/sizes", test_sizes);
  g_test_add_func("/bad-input/fabrics", test_fabrics);
  g_test_add_func("/bad-input/names", test_names);
  g_test_add_func("/bad-input/base-circle", test_base_circle);
  g_test_add_func("/bad-input/files", test_files);
  g_test_add_func("/bad-input/large-file", test_large_file);
  g_test_add_func("/bad-input/nesting", test_nesting);
  g_test_add_func("/bad-input/too-much", test_too_much);
  g_test_add_func("/bad-input/too-much-says-what-would-do", test_too_much_says_what_would_do);
}

int main(int argc, char **argv) { return run_tests(argc, argv, add_tests); }
