/*
 * bench_trainers.c - step lines of trainers whose logs differ in labels alone: a row of the table
 * for each, with the text that only its log has.
 *
 *   MaxText       completed step: 10, seconds: 3.456, TFLOP/s/device: 412.1,
 *                 Tokens/s/device: 9481.5
 *   DeepSpeed     steps: 10 loss: 8.12 iter time (s): 1.234 samples/sec: 103.7
 *                 .../global_step=10, RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=12.4, ...
 *                 0/40, SamplesPerSec=83.5, MemAllocated=0.26GB, ...           (until 0.5)
 *   Transformers  {'train_runtime': 123.4, 'train_samples_per_second': 12.3,
 *                  'train_steps_per_second': 0.385, ...}
 *                 ***** train metrics *****
 *                   train_steps_per_second = 0.385
 *   verl          step:3 - ... - timing_s/gen:45.1 - timing_s/update_actor:30.2 -
 *                 timing_s/step:98.5
 *   NeMo-RL       Total step time: 28.1s, and "generation: 12.0s", "policy_training: 9.5s" below it
 *   slime         perf 3: {'perf/rollout_time': 31.0, 'perf/actor_train_time': 12.0, ...}
 *   nanotron      iteration: 5 / 100 | elapsed_time_per_iteration_ms: 3.45K | ... |
 *                 tokens_per_sec_per_gpu: 12.3K
 *   llm-foundry   throughput/device/tokens_per_sec: 10475.2
 *   OLMo-core     throughput/device/TPS=12,345
 *   prime-rl      Step 5 | Time: 21.05s | ... | Throughput: 4342 tokens/s | ... |
 *                 Peak Mem.: 35.1 GiB
 *   Bridge        Step Time : 4.50s GPU utilization: 650.0MODEL_TFLOP/s/GPU
 *
 * Sources: the print statements of each project's trainer in 2025 and 2026. verl's perf/throughput
 * counts tokens of prompts and responses per second and GPU.
 */
#include "sim/import/bench/bench.h"

typedef enum {
  NONE,
  SECONDS,
  PER_SECOND,
  TOKENS,
  TFLOPS,
  MEMORY,
  SAMPLES,
  GENERATION,
  UPDATE
} What;

enum { MOST_FIELDS = 6 };

typedef struct {
  const char *tool, *sign; /* the sign is in no other tool's log */
  struct {
    const char *label;
    What what;
    double scale; /* to SI */
  } fields[MOST_FIELDS];
  guint warm_up; /* least number of steps to leave out; 0: one */
} Trainer;

static const Trainer trainers[] = {
    {"maxtext",
     "completed step: ",
     {{", seconds: ", SECONDS, 1},
      {"TFLOP/s/device: ", TFLOPS, 1},
      {", TFLOP/s: ", TFLOPS, 1}, /* until 2023, of a device, too */
      {"Tokens/s/device: ", TOKENS, 1}},
     .warm_up = 2}, /* step 0 compiles, and step 1 only dispatches (MaxText's docs, metrics) */
    {"deepspeed",
     "iter time (s): ",
     {{"iter time (s): ", SECONDS, 1}, {"samples/sec: ", SAMPLES, 1}}},
    {"deepspeed",
     "CurrSamplesPerSec=",
     {{"CurrSamplesPerSec=", SAMPLES, 1}, {"MaxMemAllocated=", MEMORY, 1073741824}}},
    {"deepspeed",
     ", SamplesPerSec=",
     {{", SamplesPerSec=", SAMPLES, 1}, {"MaxMemAllocated=", MEMORY, 1073741824}}},
    {"transformers",
     "'train_steps_per_second': ",
     {{"'train_steps_per_second': ", PER_SECOND, 1}, {"'train_samples_per_second': ", SAMPLES, 1}}},
    {"transformers",
     "\"train_steps_per_second\": ",
     {{"\"train_steps_per_second\": ", PER_SECOND, 1},
      {"\"train_samples_per_second\": ", SAMPLES, 1}}},
    {"transformers",
     "***** train metrics *****",
     {{"train_steps_per_second", PER_SECOND, 1}, {"train_samples_per_second", SAMPLES, 1}}},
    {"verl",
     "timing_s/step:",
     {{"timing_s/step:", SECONDS, 1},
      {"timing_s/gen:", GENERATION, 1},
      {"timing_s/update_actor:", UPDATE, 1},
      {"perf/throughput:", TOKENS, 1}}},
    {"verl", /* lines that were thinned */
     "timing_s/update_actor:",
     {{"timing_s/gen:", GENERATION, 1}, {"timing_s/update_actor:", UPDATE, 1}}},
    {"nemo-rl",
     "Total step time: ",
     {{"Total step time: ", SECONDS, 1},
      {" generation: ", GENERATION, 1},
      {" exposed_generation: ", GENERATION, 1}, /* rollouts ahead: what the step waits for */
      {" policy_training: ", UPDATE, 1}}},
    {"slime",
     "'perf/rollout_time': ",
     {{"'perf/step_time': ", SECONDS, 1},
      {"'perf/rollout_time': ", GENERATION, 1},
      {"'perf/actor_train_time': ", UPDATE, 1},
      {"'perf/actor_train_tflops': ", TFLOPS, 1}}},
    {"nanotron",
     "elapsed_time_per_iteration_ms: ",
     {{"elapsed_time_per_iteration_ms: ", SECONDS, 1e-3},
      {"tokens_per_sec_per_gpu: ", TOKENS, 1},
      {"model_tflops_per_gpu: ", TFLOPS, 1}}},
    {"llm-foundry",
     "throughput/device/tokens_per_sec: ",
     {{"throughput/device/tokens_per_sec: ", TOKENS, 1}}},
    {"olmo-core", "throughput/device/TPS=", {{"throughput/device/TPS=", TOKENS, 1}}},
    {"prime-rl",
     "| Peak Mem.: ",
     {{"| Time: ", SECONDS, 1}, {"| Peak Mem.: ", MEMORY, 1073741824}}},
    {"megatron-bridge",
     "MODEL_TFLOP/s/GPU",
     {{"Step Time : ", SECONDS, 1}, {"GPU utilization: ", TFLOPS, 1}}},
};

/* Logs that print these lines too are read by readers of their own. */
static gboolean has_reader(const OrrBenchInput *input) {
  return strstr(input->text, "elapsed time per iteration (") || strstr(input->text, ":::MLLOG") ||
         strstr(input->text, "train_step_timing in s");
}

/* The trainer of the text; NULL: none. */
static const Trainer *trainer_of(const OrrBenchInput *input) {
  if (has_reader(input)) return NULL;
  for (guint i = 0; i < G_N_ELEMENTS(trainers); i++)
    if (strstr(input->text, trainers[i].sign)) return &trainers[i];
  return NULL;
}

static gboolean recognise(const OrrBenchInput *input) { return trainer_of(input) != NULL; }

/* The number behind @label: "3.45K", "1.2M", "np.float64(5.1)", "650.0MODEL_TFLOP/s/GPU", "'5'". */
static gboolean number_at(const char *line, const char *label, double *ret_value) {
  static const char numpy[] = "np.float64(";
  const char *at = strstr(line, label);
  if (!at) return FALSE;
  at += strlen(label) + strspn(at + strlen(label), " =");
  if (g_str_has_prefix(at, numpy)) at += strlen(numpy);
  if (*at == '\'' || *at == '"') at++; /* the Trainer's, since Transformers 5 */
  const gsize length = strspn(at, "0123456789.,eE+-");
  g_autofree char *text = g_strndup(at, length);
  while (*text && strchr(".,", text[strlen(text) - 1])) text[strlen(text) - 1] = '\0';
  if (!orr_bench_number(text, ret_value)) return FALSE;
  const char unit = g_ascii_isalpha(at[length]) && g_ascii_isalnum(at[length + 1]) ? 0 : at[length];
  *ret_value *= unit == 'K' ? 1e3 : unit == 'M' ? 1e6 : 1;
  return TRUE;
}

static void add(OrrBenchSteps *steps, What what, double value) {
  GArray *lists[] = {
      [SECONDS] = steps->seconds, [PER_SECOND] = steps->seconds, [TOKENS] = steps->tokens,
      [TFLOPS] = steps->tflops,   [SAMPLES] = steps->samples,    [GENERATION] = steps->generation,
      [UPDATE] = steps->update};
  const double kept = what == PER_SECOND ? 1 / value : value;
  if (!(value > 0) || !isfinite(kept)) return;
  if (what == MEMORY)
    steps->memory = fmax(steps->memory, value);
  else
    g_array_append_val(lists[what], kept);
}

static void read_line(OrrBenchSteps *steps, const char *line, gconstpointer user) {
  const Trainer *trainer = user;
  steps->warm_up = trainer->warm_up;
  for (guint k = 0; k < MOST_FIELDS && trainer->fields[k].what != NONE; k++) {
    double value = 0;
    if (number_at(line, trainer->fields[k].label, &value))
      add(steps, trainer->fields[k].what, value * trainer->fields[k].scale);
  }
}

static void read(OrrBenchInput *input) {
  const Trainer *trainer = trainer_of(input);
  orr_bench_steps_read(input, trainer->tool, read_line, trainer);
}

const OrrBenchReader orr_bench_trainers = {
    .name = "trainers",
    .sentence =
        "a training log of DeepSpeed, Transformers, MaxText, verl, NeMo-RL, slime, nanotron, "
        "llm-foundry, OLMo-core, prime-rl or Megatron-Bridge",
    .recognise = recognise,
    .read = read,
};
