/*
 * test_options.c - options that no other test and no document uses: each changes what the program
 * prints, in the way that its help says.
 */
#include "tests/cli/bad_fixture.h"

static char *output_of(const char *line) {
  char *out = NULL;
  g_autofree char *err = NULL;
  if (spawn(line, &out, &err) != 0) g_error("orrery %s: %s", line, err);
  return out;
}

static void assert_differ(const char *one, const char *other) {
  g_autofree char *a = output_of(one), *b = output_of(other);
  g_assert_cmpstr(a, !=, b);
}

/* --- Imports --- */

#define NCCL                                                                                       \
  "#   size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"     \
  "  4096  256  float  sum  -1  12.5  0.1  0.1  0  11  0.1  0.1  0\n"
#define RANKS                                                                                      \
  "#  Rank  0 Group  0 Pid 100 on  node1 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"                 \
  "#  Rank  1 Group  0 Pid 100 on  node1 device  1 [0x43] NVIDIA H100 80GB HBM3\n"

/* A log without the name of its collective; 12.5 us out of place, 11 us in place. */
static void test_nccl_tests(void) {
  empty_folder();
  put("log.txt", RANKS NCCL, -1);
  assert_fine("import nccl-tests log.txt --device h100-sxm", "all_reduce");
  assert_fine("import nccl-tests log.txt --device h100-sxm --collective all_reduce", "12.5");
  assert_fine("import nccl-tests log.txt --device h100-sxm --op all_reduce --in-place", "11");
  assert_fine("import nccl-tests log.txt --device h100-sxm --collective all_reduce --csv",
              "all_reduce,2,4096,12.5");
  put("two.txt",
      "#  Rank  0 Group  0 Pid 100 on  node1 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid 101 on  node2 device  0 [0x1b] NVIDIA H100 80GB HBM3\n" NCCL,
      -1);
  assert_refused("import nccl-tests two.txt --device h100-sxm --collective all_reduce", 2,
                 "--one-domain");
  assert_refused("import nccl-tests two.txt --device h100-sxm --ranks 1", 2, "2 or more");
  assert_fine("import nccl-tests two.txt --device h100-sxm --collective all_reduce --one-domain",
              "12.5");
  assert_fine(
      "import nccl-tests log.txt --cluster dgx-h100-superpod --collective all_reduce --jobs 2",
      "2 ranks on 1 node");
}

/* The scenario that --set makes is the one that is fitted. */
static void test_fit_stack(void) {
  empty_folder();
  put("rows.csv", "concurrency,tpot_mean_s\n4,0.02\n", -1);
  assert_refused(
      "calibrate stack benchmark-qwen3-32b-vllm-h100 --rows rows.csv --set model=no-such --jobs 1",
      2, "no-such");
  assert_refused("calibrate stack benchmark-qwen3-32b-vllm-h100 --rows rows.csv --jobs -1", 2,
                 "-j");
}

static void test_measured(void) {
  empty_folder();
  put("gemm.csv", "gemm_dtype,m,n,k,latency_us\nbfloat16,2,64,32,4.1234\n", -1);
  assert_fine("import measured . --device h100-sxm --same-chip .", "--same-chip");
  assert_fine("import measured . --device h100-sxm --thin", "4.12");
}

static void test_huggingface(void) {
  empty_folder();
  put("config.json",
      "{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": 64,"
      " \"num_attention_heads\": 4, \"vocab_size\": 512, \"intermediate_size\": 128,"
      " \"max_position_embeddings\": 64}",
      -1);
  assert_fine("import huggingface config.json --name mine", "name: mine");
}

static void test_nsys(void) {
  empty_folder();
  assert_refused("import nsys none.sqlite --ranks 2", 2, "needs --device NAME");
  assert_refused("import nsys none.sqlite --ranks=-1", 2, "--ranks takes a number above 0");
}

/* --- calibrate --- */

/* --collectives with two systems needs --system; --name names the profile. */
static void test_fit(void) {
  empty_folder();
  put("gemm.csv",
      "gemm_dtype,m,n,k,latency_us\nbfloat16,1024,1024,1024,9\nbfloat16,2048,1024,1024,15\n"
      "bfloat16,4096,1024,1024,28\nbfloat16,8192,1024,1024,55\n",
      -1);
  put("other.csv",
      "system,table,dtype,version,op,n_gpus,bytes,latency_us\n"
      "mine,nccl_perf,half,2,all_reduce,2,1024,4\nyours,nccl_perf,half,2,all_reduce,2,1024,7\n",
      -1);
  assert_refused("calibrate fit . --device h100-sxm --collectives other.csv", 2,
                 "--collectives needs --system NAME");
  assert_fine("calibrate fit . --device h100-sxm --collectives other.csv --system mine "
              "--name fitted",
              "fitted");
}

/* --- Databases --- */

static void test_tables(void) {
  empty_folder();
  put("small.yaml", GOOD, -1);
  assert_fine("run small.yaml --db r.db", "run 1 in r.db");
  assert_fine("run small.yaml --db r.db --set workload.batch.global=16", "run 2 in r.db");
  assert_fine("compare r.db 1 2 --json", "\"compare-inputs\": [");
  assert_fine("compare r.db 1 2 --markdown", "## Inputs: run 2 against run 1");
  assert_fine("query r.db runs --markdown", "|---:|");
}

/* --- sweep --- */

static void test_sweep(void) {
  empty_folder();
  put("swept.yaml", GOOD "sweep:\n  axes: {micro-batch: [1, 2]}\n  most: 1\n", -1);
  assert_refused("sweep swept.yaml --db none -j 1", 2, "pass --yes to run all");
  assert_fine("sweep swept.yaml --db none -j 1 --yes", "2 of 2 points");
  assert_fine("sweep swept.yaml --db none -j 1 --yes --whole-steps", "2 of 2 points");
  assert_fine("sweep swept.yaml --db none -j 1 --yes --verbose", "steady state  skipped");
  assert_fine("sweep swept.yaml --db none -j 1 --yes --timeout 20s", "2 of 2 points");
  assert_refused("sweep swept.yaml --timeout 0s", 2, "--timeout takes a time above 0");
  assert_refused("sweep --task 0 --db r.db", 1, "no sweep was submitted");
}

/* --- capacity --- */

/* A request takes about eight steps of 5 ms, well within its objective of 60 ms while no queue
 * forms. */
static void test_capacity(void) {
  empty_folder();
  put("serve.yaml",
      "schema: scenario/1\nname: s\ncluster: {base: dgx-a100-superpod, nodes: 1, gpus: 1}\n"
      "model: {layers: 2, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"
      "workload:\n  kind: serving\n  stack: none\n  load: {kind: poisson, rate: 50}\n  requests: "
      "60\n"
      "  input: {tokens: 8}\n  output: {tokens: 8}\n  slo: {e2e: 60 ms}\n"
      "  engine: {host: {step: 5 ms}}\n",
      -1);
  assert_fine("plan rate serve.yaml --share 0.5 --tolerance 1 --seeds 2 --json", "\"share\": 0.5");
  assert_fine("plan rate serve.yaml --share 0.5 --tolerance 1 --seeds 2 --json",
              "\"sure_rate_rps\": ");
  assert_refused("plan rate serve.yaml --share 2", 2, "--share takes a number above 0");
  assert_refused("plan rate serve.yaml --confidence 0.5", 2,
                 "--confidence takes a number above 0.5");
  assert_refused("plan rate serve.yaml --confidence 1", 2, "--confidence takes a number above 0.5");
  assert_refused("plan rate serve.yaml --tolerance 2", 2, "--tolerance takes a number");
  assert_refused("plan rate serve.yaml --confidence 0.4", 2, "--confidence takes a number");
  assert_refused("plan rate serve.yaml --seeds 1", 2, "--seeds takes a number from 2 to 10");
}

/* --- describe, validate --- */

static void test_load(void) {
  empty_folder();
  assert_differ("describe cluster dgx-a100-superpod --set nodes=4 --set gpus=32 --collective "
                "all-reduce --size 1MiB",
                "describe cluster dgx-a100-superpod --set nodes=4 --set gpus=32 --collective "
                "all-reduce --size 64MiB");
  assert_differ("describe cluster dgx-a100-superpod --set nodes=4 --set gpus=32 --collective "
                "all-reduce --algorithm ring",
                "describe cluster dgx-a100-superpod --set nodes=4 --set gpus=32 --collective "
                "all-reduce --algorithm tree");
  assert_fine("describe cluster dgx-a100-superpod --prices example", "gpu-hour ");
  assert_fine("describe cluster dgx-a100-superpod --set routing=ecmp --collective all-to-all "
              "--seed 2 --set nodes=4 --set gpus=32",
              "all-to-all");
}

static void test_profile(void) {
  empty_folder();
  put("rows.csv", "gemm_dtype,m,n,k,latency_us\nbfloat16,4096,4096,4096,200\n", -1);
  assert_refused("validate gemm --rows rows.csv --db none", 2, "needs --profile NAME");
  assert_fine("validate gemm --rows rows.csv --profile h100-sxm --db none", "1 compared");
}

/* --- Uncertain inputs --- */

#define RATE "--set 'workload.load.rate={value: 4, low: 3, high: 5}' --db none "

static void test_inputs(void) {
  const char *line = "run serving-llama-3.1-8b-h100 --set workload.requests=20 " RATE;
  g_autofree char *none = g_strconcat(line, "--samples 0", NULL);
  g_autofree char *some = g_strconcat(line, "--samples 2 -j 1", NULL);
  g_autofree char *json = g_strconcat(line, "--json --samples 2", NULL);
  g_autofree char *one = g_strconcat(line, "--samples 1", NULL);
  g_autofree char *jobs = g_strconcat(line, "-j -2", NULL);
  g_autofree char *plain = output_of(none);
  g_assert_null(strstr(plain, "\n  inputs "));
  assert_fine(some, "(p10 to p90 of 2 replays)");
  assert_fine(json, "\"inputs\": {\"uncertain\": [\n  {\"path\": \"workload.load.rate\"");
  assert_refused(one, 2, "--samples takes 0");
  empty_folder();
  assert_fine("run serving-llama-3.1-8b-h100 --set workload.requests=20 --samples 3 "
              "--set 'workload.load.rate={value: 4, low: 3, high: 5}' --db r.db",
              "run 1 in r.db");
  assert_fine("query r.db inputs", "workload.load.rate");
  assert_fine("query r.db \"SELECT count(*) AS n FROM input_result WHERE metric = 'ttft_mean_s'\"",
              "3");
  assert_refused(jobs, 2, "-j takes a number above 0");
  assert_fine("sweep sweep-gpt3-6.7b-64-a100 --db none --set 'sweep.sampler={kind: random, "
              "points: 1}' --set 'cluster.device.memory={value: 80 GB, low: 70 GB, high: 90 GB}'",
              "uncertain inputs, at their values: 1");
}

/* A document by itself can have bounds where a scenario propagates them. */
static void test_check_bounds(void) {
  empty_folder();
  put("c.yaml",
      "schema: cluster/1\nbase: dgx-h100-superpod\nname: c\n"
      "node: {nic-bandwidth: {value: 400 Gb/s, low: 300 Gb/s, high: 400 Gb/s}}\n",
      -1);
  put("p.yaml",
      "schema: profile/1\nbase: h100-sxm\ndevice: h100-sxm\nname: p\n"
      "constants: {host-launch: {value: 4 us, low: 3 us, high: 5 us}}\n",
      -1);
  assert_fine("check c.yaml", "c.yaml: fine");
  assert_refused("check p.yaml", 2, "'host-launch' takes no bounds");
}

/* A band that holds half of the measurements is narrower than one that holds nine in ten. */
static double width_of(const char *level) {
  g_autofree char *line =
      g_strdup_printf("run megatron-sc21-18b --db none --json --band %s", level);
  g_autofree char *out = output_of(line);
  const char *low = strstr(out, "\"iteration_time_s_low\": "),
             *high = strstr(out, "\"iteration_time_s_high\": ");
  g_assert_nonnull(low);
  g_assert_nonnull(high);
  return g_ascii_strtod(strchr(high, ':') + 1, NULL) - g_ascii_strtod(strchr(low, ':') + 1, NULL);
}

static void test_band(void) {
  empty_folder();
  g_assert_cmpfloat(width_of("50%"), <, width_of("0.8"));
  assert_refused("run megatron-sc21-18b --db none --band 1", 2,
                 "--band takes a level between 0 and 1");
  assert_refused("run megatron-sc21-18b --db none --band some", 2, "found some");
}

static void add_tests(void) {
  g_test_add_func("/options/import-nccl-tests", test_nccl_tests);
  g_test_add_func("/options/import-measured", test_measured);
  g_test_add_func("/options/import-huggingface", test_huggingface);
  g_test_add_func("/options/import-nsys", test_nsys);
  g_test_add_func("/options/calibrate-fit", test_fit);
  g_test_add_func("/options/fit", test_fit_stack);
  g_test_add_func("/options/tables", test_tables);
  g_test_add_func("/options/sweep", test_sweep);
  g_test_add_func("/options/capacity", test_capacity);
  g_test_add_func("/options/describe-load", test_load);
  g_test_add_func("/options/inputs", test_inputs);
  g_test_add_func("/options/check-bounds", test_check_bounds);
  g_test_add_func("/options/validate-profile", test_profile);
  g_test_add_func("/options/band", test_band);
}

int main(int argc, char **argv) { return run_tests(argc, argv, add_tests); }
