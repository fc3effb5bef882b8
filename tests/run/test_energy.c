/*
 * test_energy.c - the energy of runs: rows of power add up to the kinds, folding changes nothing, a
 * cap saves power and never time, and nothing is known without a power model.
 */
#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/simulate.h"
#include "tests/run/shared_library.h"

#define TRAINING                                                                                   \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "model: {layers: 8, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"                     \
  "workload: {kind: training, stack: none, steps: 2, parallel: {tp: 4, pp: 2, dp: 2}, "            \
  "batch: {global: 16, micro: 1}}\n"                                                               \
  "engine: ideal\n"
#define CHECKPOINT                                                                                 \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "model: {layers: 8, hidden: 4096, heads: 32, vocab: 51200, context: 2048}\n"                     \
  "workload: {kind: training, stack: none, steps: 4, checkpoint: {every: 2}, parallel: {tp: 4, "   \
  "pp: 2, dp: 2}, batch: {global: 16, micro: 1}}\n"                                                \
  "engine: ideal\n"
#define SERVING_OF(more)                                                                           \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "model: llama-3.1-8b\n"                                                                          \
  "workload: {" more                                                                               \
  "kind: serving, stack: none, requests: 32, replicas: 2, input: {kind: fixed, tokens: 512}, "     \
  "output: {kind: fixed, tokens: 32}, load: {kind: poisson, rate: 8}}\n"                           \
  "engine: ideal\n"
#define SERVING SERVING_OF("")
#define PROMPTS                                                                                    \
  "schema: scenario/1\n"                                                                           \
  "name: prompts\n"                                                                                \
  "model: llama-3.1-8b\n"                                                                          \
  "workload: {kind: serving, stack: none, requests: 16, input: {kind: fixed, tokens: 2048}, "      \
  "output: {kind: fixed, tokens: 1}, load: {kind: poisson, rate: 4}}\n"                            \
  "engine: ideal\n"
#define H100 "cluster: {base: dgx-h100-superpod, nodes: 2}\n"
#define H100_AT(tdp)                                                                               \
  "cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: h100-sxm, tdp: " tdp " W}}\n"

static OrrOutcome *run(const char *scenario, const char *rest, gboolean with_spans) {
  static OrrLibrary *library = NULL;
  if (!library) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autofree char *text = g_strconcat(scenario, rest, NULL);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "energy.yaml", diags);
  g_autoptr(OrrScenario) read = orr_scenario_read(library, tree, diags);
  g_autofree char *found = orr_diags_text(diags);
  if (orr_diags_n_errors(diags)) g_error("%s", found); /* warnings of idle keys are expected */
  OrrOutcome *outcome = orr_simulate(library, read, with_spans, &error);
  g_assert_no_error(error);
  return outcome;
}

static void assert_near(double a, double b, double epsilon) {
  g_assert_cmpfloat_with_epsilon(a / b, 1, epsilon);
}

static double sum_of(const OrrTrainingResult *r) {
  return r->gpu_energy_compute_j + r->gpu_energy_memory_j + r->gpu_energy_network_j +
         r->gpu_energy_idle_j;
}

/* The integral of the rows is the sum over the kinds, of each kind and of all. */
static void test_conservation(void) {
  g_autoptr(OrrOutcome) outcome = run(TRAINING, H100, TRUE);
  const OrrTrainingResult *r = &outcome->result.training;
  double all = 0, compute = 0, memory = 0, network = 0;
  g_assert_cmpint(outcome->powers->len, ==, 1000);
  for (guint i = 0; i < outcome->powers->len; i++) {
    const OrrPowerRow *row = &g_array_index(outcome->powers, OrrPowerRow, i);
    all += row->watts * (row->end_s - row->begin_s);
    compute += row->compute_w * (row->end_s - row->begin_s);
    memory += row->memory_w * (row->end_s - row->begin_s);
    network += row->network_w * (row->end_s - row->begin_s);
    assert_near(row->watts, row->compute_w + row->memory_w + row->network_w + row->idle_w, 1e-12);
  }
  assert_near(all, sum_of(r), 1e-9);
  assert_near(compute, r->gpu_energy_compute_j, 1e-9);
  assert_near(memory, r->gpu_energy_memory_j, 1e-9);
  assert_near(network, r->gpu_energy_network_j, 1e-9);
  assert_near(r->energy_j_per_step * 2, sum_of(r), 1e-9);
  assert_near(r->energy_j_per_token * r->tokens_per_s, r->gpu_power_mean_w, 1e-12);
  g_assert_cmpfloat(r->gpu_power_mean_w, <, r->gpu_power_peak_w);
  g_assert_cmpfloat(r->power_swing_w, >, 0);
}

static void test_fidelity(void) {
  g_autoptr(OrrOutcome) folded = run(TRAINING, H100 "fidelity: folded\n", FALSE);
  g_autoptr(OrrOutcome) full = run(TRAINING, H100 "fidelity: full\n", FALSE);
  const OrrTrainingResult *a = &folded->result.training, *b = &full->result.training;
  assert_near(a->gpu_energy_compute_j, b->gpu_energy_compute_j, 1e-9);
  assert_near(a->gpu_energy_memory_j, b->gpu_energy_memory_j, 1e-9);
  assert_near(a->gpu_energy_network_j, b->gpu_energy_network_j, 1e-9);
  assert_near(a->energy_j_per_step, b->energy_j_per_step, 1e-9);
  g_assert_true(isnan(a->power_swing_w)); /* no spans */
}

/* A lower cap never makes a step shorter, and boards never draw more than it. */
static void test_caps(void) {
  static const char *const caps[] = {H100_AT("300"), H100_AT("450"), H100_AT("700")};
  static const double watts[] = {300, 450, 700};
  double last_s = INFINITY;
  for (guint i = 0; i < G_N_ELEMENTS(caps); i++) {
    g_autoptr(OrrOutcome) training = run(TRAINING, caps[i], FALSE);
    g_autoptr(OrrOutcome) serving = run(SERVING, caps[i], FALSE);
    const OrrTrainingResult *r = &training->result.training;
    const OrrServingResult *s = &serving->result.serving;
    g_assert_cmpfloat(r->iteration_time_s, <=, last_s);
    g_assert_cmpfloat(r->gpu_power_peak_w, <=, 16 * watts[i] * (1 + 1e-9));
    g_assert_cmpfloat(s->gpu_power_mean_w, <=, s->gpu_power_peak_w);
    g_assert_cmpfloat(s->gpu_power_peak_w, <=, 2 * watts[i] * (1 + 1e-9));
    last_s = r->iteration_time_s;
  }
}

/* Joules per token, per request and per second are the same energy. */
static void test_serving(void) {
  g_autoptr(OrrOutcome) outcome = run(SERVING, H100, FALSE);
  const OrrServingResult *s = &outcome->result.serving;
  assert_near(s->energy_j_per_output_token * s->output_tokens_per_s, s->gpu_power_mean_w, 1e-12);
  assert_near(s->energy_j_per_request * s->requests_per_s, s->gpu_power_mean_w, 1e-12);
  assert_near(s->energy_j_per_token * s->total_tokens_per_s, s->gpu_power_mean_w, 1e-9);
  g_assert_cmpfloat(s->gpu_power_mean_w, >=, 2 * 150);
  g_assert_cmpfloat(s->machine.all_w, >, s->gpu_power_mean_w);
}

#define ALONE(more)                                                                                \
  "schema: scenario/1\n"                                                                           \
  "name: alone\n"                                                                                  \
  "model: llama-3.1-8b\n"                                                                          \
  "workload: {" more                                                                               \
  "kind: serving, stack: none, requests: 32, input: {kind: fixed, tokens: 512}, "                  \
  "output: {kind: fixed, tokens: 32}, load: {kind: closed-loop, concurrency: 1}}\n"                \
  "engine: ideal\n"

/* GPUs that sort the logits of requests that sample from the likeliest tokens take active and simt
 * for it: 32 requests of 32 tokens, one at a time, 2 ms each. The limit never binds. Requests that
 * sample from all tokens sort nothing. */
static void test_sampling(void) {
  static const char host[] = ALONE("engine: {host: {sampling: 2 ms}}, "),
                    likeliest[] = ALONE("sampling: top-p, engine: {host: {sampling: 2 ms}}, ");
  g_autoptr(OrrOutcome) without = run(host, H100_AT("7000"), FALSE);
  g_autoptr(OrrOutcome) with = run(likeliest, H100_AT("7000"), FALSE);
  const OrrServingResult *a = &without->result.serving, *b = &with->result.serving;
  const double tokens = 32 * 32;
  assert_near(tokens / b->output_tokens_per_s - tokens / a->output_tokens_per_s, tokens * 2e-3,
              1e-9);
  assert_near(b->gpu_energy_compute_j - a->gpu_energy_compute_j, tokens * 2e-3 * (60 + 385), 1e-9);
}

/* One request costs the same joules whenever it comes: the time before it is not its own. What the
 * kinds of energy add up to is what requests cost. */
static void test_late(void) {
  static const char *const loads[] = {"constant", "poisson"};
  double first_j = 0;
  for (guint i = 0; i < G_N_ELEMENTS(loads); i++) {
    g_autofree char *text = g_strdup_printf(
        "schema: scenario/1\nname: late\nmodel: llama-3.1-8b\nworkload: {kind: serving, stack: "
        "none, requests: 1, input: {tokens: 512}, output: {tokens: 32}, load: {kind: %s, rate: "
        "0.001}}\nengine: ideal\n",
        loads[i]);
    g_autoptr(OrrOutcome) outcome = run(text, H100, FALSE);
    const OrrServingResult *s = &outcome->result.serving;
    if (i == 0) first_j = s->energy_j_per_request;
    assert_near(s->energy_j_per_request, first_j, 1e-6);
    assert_near(s->gpu_energy_compute_j + s->gpu_energy_memory_j + s->gpu_energy_network_j +
                    s->gpu_energy_idle_j,
                s->energy_j_per_request, 1e-9);
  }
}

/* Requests come at once and do not stop, so the watts are the run's, whatever its warm-up leaves
 * out of the counts. */
static void test_warm_up(void) {
  static const char plain[] = ALONE(""), warm[] = ALONE("metrics: {warmup: 1 s}, ");
  g_autoptr(OrrOutcome) all = run(plain, H100, FALSE);
  g_autoptr(OrrOutcome) counted = run(warm, H100, FALSE);
  g_assert_cmpfloat(counted->result.serving.duration_s, <, all->result.serving.duration_s - 0.5);
  assert_near(counted->result.serving.gpu_power_mean_w, all->result.serving.gpu_power_mean_w, 1e-9);
}

/* Pictures that take longer than the texts before them: energy, money and rates count until the
 * last picture. The peak is unknown, for the time of each picture's passes is not kept. */
static void test_tasks(void) {
  g_autoptr(OrrOutcome) outcome = run(
      "schema: scenario/1\nname: tasks\nmodel: qwen3-0.6b\nprices: {currency: EUR, gpu-hour: 3.6}\n"
      "workload: {kind: serving, stack: none, requests: 4, input: {tokens: 64}, output: {tokens: "
      "8}, load: {kind: closed-loop, concurrency: 4}, tasks: {steps: [{name: say, do: {kind: "
      "generate}}, {name: draw, do: {kind: make, pool: g}}], pools: [{name: g, of: {kind: "
      "generator, make: {generator: sd-1.5, steps: 20}}}]}}\nengine: ideal\n",
      "cluster: {base: dgx-h100-superpod, nodes: 1}\n", FALSE);
  const OrrServingResult *s = &outcome->result.serving;
  const OrrServingTaskResult *t =
      &g_array_index(outcome->serving_task_results, OrrServingTaskResult, 0);
  assert_near(s->duration_s, t->e2e.p99, 0.05);
  assert_near(s->energy_j_per_output_token * 4 * 8,
              s->gpu_energy_compute_j + s->gpu_energy_memory_j + s->gpu_energy_network_j +
                  s->gpu_energy_idle_j,
              1e-9);
  assert_near(s->cost_per_million_output_tokens * 8e-6, t->cost_per_task, 1e-9);
  g_assert_true(isnan(s->gpu_power_peak_w));
}

/* Caches that are handed over, and hidden states between the stages of an engine, cost joules per
 * byte: 52 to leave over NVLink, and 2 x (50 + 53) pJ to read and write both ends' memories. */
static void test_sent(void) {
  static const char over[] = SERVING_OF("disaggregation: {prefill: 1}, "),
                    stages[] = SERVING_OF("parallel: {pp: 2}, ");
  g_autoptr(OrrOutcome) apart = run(SERVING, H100, FALSE);
  g_autoptr(OrrOutcome) handed = run(over, H100, FALSE);
  g_autoptr(OrrOutcome) sent = run(stages, H100, FALSE);
  const OrrServingResult *s = &handed->result.serving;
  g_assert_cmpfloat(apart->result.serving.gpu_energy_network_j, ==, 0);
  assert_near(s->handover_bytes, 32.0 * 512 * 131072, 1e-12);
  assert_near(s->gpu_energy_network_j, s->handover_bytes * 258e-12, 1e-9);
  /* 32 prompts of 512 tokens and 31 further tokens, 4096 numbers of two bytes each */
  g_assert_cmpfloat(sent->result.serving.gpu_energy_network_j, >=,
                    32 * (512 + 31) * 4096 * 2 * 258e-12);
  double network = 0;
  ORR_EACH(const OrrPowerRow, row, handed->powers)
    network += row->network_w * (row->end_s - row->begin_s);
  assert_near(network, s->gpu_energy_network_j, 1e-9);
}

/* The integral of the rows is the energy of each kind; static power is drawn at all times. With
 * prompts and outputs of one request each in steps of its own, the prompt's part is what the first
 * step draws. */
static void test_serving_power(void) {
  g_autoptr(OrrOutcome) outcome = run(SERVING, H100, FALSE);
  const OrrServingResult *s = &outcome->result.serving;
  double compute = 0, memory = 0, network = 0, idle = 0, last_s = 0;
  g_assert_cmpuint(outcome->powers->len, >=, 1000);
  g_assert_cmpuint(outcome->powers->len, <=, 2000);
  for (guint i = 0; i < outcome->powers->len; i++) {
    const OrrPowerRow *row = &g_array_index(outcome->powers, OrrPowerRow, i);
    const double seconds = row->end_s - row->begin_s;
    assert_near(1 + row->begin_s, 1 + last_s, 1e-12);
    assert_near(row->idle_w, 2 * 150, 1e-9);
    assert_near(row->watts, row->compute_w + row->memory_w + row->network_w + row->idle_w, 1e-12);
    compute += row->compute_w * seconds;
    memory += row->memory_w * seconds;
    network += row->network_w * seconds;
    idle += row->idle_w * seconds;
    last_s = row->end_s;
  }
  assert_near(compute, s->gpu_energy_compute_j, 1e-9);
  assert_near(memory, s->gpu_energy_memory_j, 1e-9);
  assert_near(1 + network, 1 + s->gpu_energy_network_j, 1e-9);
  /* the rows begin with the run, energies with the first arrival */
  assert_near(idle - 2 * 150 * (last_s - s->duration_s), s->gpu_energy_idle_j, 1e-9);
  const double all_j = compute + memory + network + idle;
  g_assert_cmpfloat(s->energy_prompts_j, >, 0);
  g_assert_cmpfloat(s->energy_prompts_j, <, all_j);
  assert_near(s->energy_j_per_input_token * 32 * 512, s->energy_prompts_j, 1e-9);
  g_autoptr(OrrOutcome) brief = run(SERVING_OF("metrics: {step-rows: 0}, "), H100, FALSE);
  g_assert_cmpuint(brief->powers->len, ==, 0);
}

/* Prompts alone: every step but the one of the output token reads them. A request of one output
 * token ends with its prompt, so that all of the steps' energy is the prompts'. */
static void test_prompts(void) {
  g_autoptr(OrrOutcome) outcome = run(PROMPTS, H100, FALSE);
  const OrrServingResult *s = &outcome->result.serving;
  const double dynamic_j =
      s->gpu_energy_compute_j + s->gpu_energy_memory_j + s->gpu_energy_network_j;
  g_assert_cmpfloat(s->energy_prompts_j, >=, dynamic_j);
  g_assert_cmpfloat(s->energy_prompts_j, <=, dynamic_j + s->gpu_energy_idle_j);
}

/* A locked clock never makes a step shorter. It saves energy in a decode, which waits for memory:
 * at 0.8 of the clock multiprocessors draw 0.8^3 of their power in the same time. */
static void test_clocks(void) {
  static const char *const clocks[] = {"1", "0.8", "0.6"};
  double last_s = 0, last_j = INFINITY, first_tpot = 0;
  for (guint i = 0; i < G_N_ELEMENTS(clocks); i++) {
    g_autofree char *at = g_strconcat(
        "cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: h100-sxm, power: {clock: ",
        clocks[i], "}}}\n", NULL);
    g_autoptr(OrrOutcome) training = run(TRAINING, at, FALSE);
    g_autoptr(OrrOutcome) serving = run(SERVING, at, FALSE);
    const OrrServingResult *s = &serving->result.serving;
    if (i == 0) first_tpot = s->tpot.p50;
    g_assert_cmpfloat(training->result.training.iteration_time_s, >=, last_s);
    g_assert_cmpfloat(s->tpot.p50, <, 1.1 * first_tpot);
    g_assert_cmpfloat(s->energy_j_per_output_token, <, last_j);
    last_s = training->result.training.iteration_time_s;
    last_j = s->energy_j_per_output_token;
  }
}

/* 7,000 W for one node of 2,800 W and 8 boards leave each 525 W: as if each board were capped. */
static void test_rack_cap(void) {
  g_autoptr(OrrOutcome) rack = run(
      TRAINING, "cluster: {base: dgx-h100-superpod, nodes: 2, power: {cap: 14 kW, cap-nodes: 2}}\n",
      FALSE);
  g_autoptr(OrrOutcome) board = run(TRAINING,
                                    "cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: "
                                    "h100-sxm, power: {cap: 525 W}}}\n",
                                    FALSE);
  const OrrTrainingResult *a = &rack->result.training, *b = &board->result.training;
  g_assert_cmpfloat(a->iteration_time_s, ==, b->iteration_time_s);
  g_assert_cmpfloat(a->gpu_power_mean_w, ==, b->gpu_power_mean_w);
  g_assert_cmpfloat(a->gpu_power_peak_w, <=, 16 * 525 * (1 + 1e-9));
  g_assert_cmpfloat(a->machine.all_w - a->machine.network_w, <=, 14000);
}

/* Replicas on boards of their own stand in the same racks: 525 W for each, as above. */
static void test_rack_cap_of_groups(void) {
  g_autoptr(OrrOutcome) outcome = run(
      SERVING_OF("groups: [{replicas: 1, device: h200-sxm}], "),
      "cluster: {base: dgx-h100-superpod, nodes: 2, power: {cap: 14 kW, cap-nodes: 2}}\n", FALSE);
  g_assert_cmpfloat(outcome->result.serving.gpu_power_peak_w, <=, 3 * 525 * (1 + 1e-9));
}

static void refuse(const char *rest, const char *finding) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *text = g_strconcat(TRAINING, rest, NULL);
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "energy.yaml", diags);
  g_autoptr(OrrScenario) read = orr_scenario_read(library, tree, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_assert_null(read);
  if (!strstr(found, finding)) g_error("'%s' is not in: %s", finding, found);
}

static void test_refused(void) {
  refuse("cluster: {base: dgx-h100-superpod, nodes: 2, power: {cap: 4 kW}}\n",
         "power.cap leaves 4000 W for a node: its rest draws 2800 W when busy and each of its 8 "
         "boards 150 W before it computes");
  refuse("cluster: {base: dgx-h100-superpod, nodes: 2, power: {cap: 8 kW, rest-busy: 0 W, "
         "parts: {cpu-idle: 0 W, cpu-busy: 0 W}}}\n",
         "power.cap needs power.rest-busy or power.parts");
  refuse("cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: h100-sxm, power: {cap: 150 "
         "W}}}\n",
         "device.power.cap (150 W) is not above the 150 W that the board draws before it computes");
  refuse("cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: h100-sxm, power: {cap: 400 "
         "W, tensor: 0 W}}}\n",
         "device.power.cap needs the device's power.static, power.tensor and power.memory");
  refuse("cluster: {base: dgx-h100-superpod, nodes: 2, power: {cap: 14 kW}, device: {base: "
         "h100-sxm, power: {memory: 0 pJ/B}}}\n",
         "power.cap needs the device's power.static, power.tensor and power.memory");
  refuse("cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: h100-sxm, power: {clock: "
         "0.3}}}\n",
         "clock");
}

/* While a checkpoint is written, all boards wait and draw static power, 150 W: the rows show it,
 * and the swing is down to it. */
static void test_checkpoint(void) {
  g_autoptr(OrrOutcome) outcome =
      run(CHECKPOINT,
          "cluster: {base: dgx-h100-superpod, nodes: 2, storage: {servers: 1, server-bandwidth: 40 "
          "GB/s, node-bandwidth: 20 GB/s}}\n",
          TRUE);
  const OrrTrainingResult *r = &outcome->result.training;
  double least_w = INFINITY, most_w = 0;
  for (guint i = 0; i < outcome->powers->len; i++) {
    const OrrPowerRow *row = &g_array_index(outcome->powers, OrrPowerRow, i);
    least_w = fmin(least_w, row->watts);
    most_w = fmax(most_w, row->watts);
  }
  assert_near(least_w, 16 * 150, 1e-9);
  assert_near(r->power_swing_w, most_w - least_w, 1e-12);
  g_assert_cmpfloat(r->power_ramp_w_per_s, >, r->power_swing_w);
}

/* 16 GPUs are 2 of 2 nodes: their part of the network is all of it. What the machine has and the
 * document does not state is unknown, and not zero. */
static void test_machine(void) {
  g_autoptr(OrrOutcome) known =
      run(TRAINING,
          "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 2, storage: {servers: 3, "
          "server-bandwidth: 1 GB/s, node-bandwidth: 1 GB/s}, power: {storage-server: 500 W}}\n",
          FALSE);
  g_autoptr(OrrOutcome) unknown =
      run(TRAINING,
          "cluster: {base: dgx-h100-superpod, nodes: 2, max-nodes: 2, storage: {servers: 3, "
          "server-bandwidth: 1 GB/s, node-bandwidth: 1 GB/s}, power: {switch: 0 W}}\n",
          FALSE);
  const OrrMachinePower *a = &known->result.training.machine;
  const OrrMachinePower *b = &unknown->result.training.machine;
  const double gpus_w = known->result.training.gpu_power_mean_w;
  assert_near(a->storage_w, 1500, 1e-12);
  assert_near(a->all_w, gpus_w + a->nodes_w + a->network_w + 1500, 1e-12);
  g_assert_true(isnan(b->network_w) && isnan(b->storage_w));
  assert_near(b->all_w, gpus_w + b->nodes_w, 1e-12);
}

/* A rack of 72 GPUs has nine NVLink switches outside its trays: of 100 W each, 16 GPUs have
 * 9 * 100 * 16 / 72 = 200 W. Without their power they are part of the trays' rest. */
static void test_scale_up_switches(void) {
  g_autoptr(OrrOutcome) with = run(TRAINING,
                                   "cluster: {base: gb200-nvl72, nodes: 4, max-nodes: 18, power: "
                                   "{scale-up-switch: 100 W}}\n",
                                   FALSE);
  g_autoptr(OrrOutcome) without =
      run(TRAINING, "cluster: {base: gb200-nvl72, nodes: 4, max-nodes: 18}\n", FALSE);
  assert_near(with->result.training.machine.network_w - without->result.training.machine.network_w,
              200, 1e-9);
}

static void test_unknown(void) {
  g_autoptr(OrrOutcome) training = run(TRAINING,
                                       "cluster: {base: dgx-h100-superpod, nodes: 2, device: "
                                       "{base: h100-sxm, power: {static: 0 W}}}\n",
                                       TRUE);
  const OrrTrainingResult *r = &training->result.training;
  g_assert_true(isnan(r->energy_j_per_step) && isnan(r->gpu_power_mean_w) &&
                isnan(r->gpu_energy_idle_j) && isnan(r->machine.all_w));
  g_assert_cmpint(training->powers->len, ==, 0);
  g_autoptr(OrrOutcome) serving = run(SERVING,
                                      "cluster: {base: dgx-h100-superpod, nodes: 2, device: {base: "
                                      "h100-sxm, power: {static: 0 W}}}\n",
                                      FALSE);
  g_assert_true(isnan(serving->result.serving.energy_j_per_output_token));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/energy/conservation", test_conservation);
  g_test_add_func("/energy/fidelity", test_fidelity);
  g_test_add_func("/energy/caps", test_caps);
  g_test_add_func("/energy/serving", test_serving);
  g_test_add_func("/energy/late", test_late);
  g_test_add_func("/energy/tasks", test_tasks);
  g_test_add_func("/energy/sent", test_sent);
  g_test_add_func("/energy/warm-up", test_warm_up);
  g_test_add_func("/energy/sampling", test_sampling);
  g_test_add_func("/energy/serving-power", test_serving_power);
  g_test_add_func("/energy/prompts", test_prompts);
  g_test_add_func("/energy/clocks", test_clocks);
  g_test_add_func("/energy/rack-cap", test_rack_cap);
  g_test_add_func("/energy/rack-cap-of-groups", test_rack_cap_of_groups);
  g_test_add_func("/energy/refused", test_refused);
  g_test_add_func("/energy/checkpoint", test_checkpoint);
  g_test_add_func("/energy/machine", test_machine);
  g_test_add_func("/energy/scale-up-switches", test_scale_up_switches);
  g_test_add_func("/energy/unknown", test_unknown);
  return g_test_run();
}
