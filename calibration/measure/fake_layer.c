/*
 * fake_layer.c - an analytic device: an H100-like roofline with waves, 1 % of noise, and a clock
 * that only its kernels advance. It measures nothing; it serves tests, and shows what `orrery
 * calibrate` does.
 *
 *   time = roofline * (1.25 + 0.25 sin(3 log2(flops + bytes))) * (1 + 0.01 noise)
 *
 * which cannot be interpolated well from neighbours, so the plan has something to refine.
 * Concurrent with a transfer, a product takes 1.2 times as long; a transfer concurrent with a
 * product takes 1.5 times as long, without noise. mxfp8 and nvfp4 are missing, buffers of 8 GiB do
 * not fit, and permute gives wrong results on 4096 rows, so that refusals and failed verification
 * occur.
 */
#include "calibration/measure/accumulation.h"
#include "calibration/measure/family.h"
#include "calibration/measure/timing.h"
#include "sim/base/random.h"

enum { FAKE_GPUS = 8 };

struct OrrBench {
  OrrBenchFacts facts;
  double clock_s;
};

struct OrrKernel {
  OrrBench *bench;
  OrrShape shape;
  guint64 hash;
};

/* A sound node. */
static gboolean fake_examine(OrrDoctorFacts *facts, GError **error) {
  const OrrDoctorGpu gpu = {.watts = 70,
                            .celsius = 40,
                            .clock_hz = 1.98e9,
                            .default_clock_hz = 1.98e9,
                            .limit_watts = 700,
                            .default_limit_watts = 700,
                            .throttle = 1,
                            .n_links_up = 18,
                            .persistence = 1,
                            .ecc = 1};
  for (guint i = 0; i < FAKE_GPUS; i++) g_array_append_val(facts->gpus, gpu);
  facts->device = g_strdup("Fake analytic device");
  facts->driver = g_strdup("1.0");
  facts->blas = g_strdup("0.0");
  facts->dnn = g_strdup("0.0");
  facts->ccl = g_strdup("9.0");
  facts->has_nvml = TRUE;
  facts->peer_memory = facts->dma_buf = 1;
  facts->n_fabric_adapters = FAKE_GPUS;
  return TRUE;
}

static OrrBench *fake_open(int ordinal, GError **error) {
  if (ordinal != 0) return orr_fault_null(error, ORR_FAULT_USAGE, "there is one fake device: 0");
  OrrBench *bench = g_new0(OrrBench, 1);
  bench->facts = (OrrBenchFacts){
      .device = g_strdup("Fake analytic device"),
      .driver = g_strdup("1.0"),
      .runtime = g_strdup("0.0"),
      .blas = g_strdup("0.0"),
      .dnn = g_strdup("0.0"),
      .ccl = g_strdup("0.0"),
      .sms = 132,
      .architecture = 90,
      .adds_fp8 = TRUE,
      .n_gpus = FAKE_GPUS,
      .n_ranks = FAKE_GPUS,
      .memory_bytes = 80e9,
      .memory_bytes_per_s = 3.35e12,
      .l2_bytes = 50e6,
      .sm_clock_limit_hz = 1.98e9,
      .memory_clock_limit_hz = 2.619e9,
      .power_limit_watts = 700,
      .flops = {[ORR_FP32] = 67e12,
                [ORR_TF32] = 494e12,
                [ORR_FP16] = 989e12,
                [ORR_BF16] = 989e12,
                [ORR_FP8] = 1979e12},
  };
  return bench;
}

static void fake_close(OrrBench *bench) {
  if (!bench) return;
  orr_bench_facts_clear(&bench->facts);
  g_free(bench);
}

static const OrrBenchFacts *fake_facts(const OrrBench *bench) { return &bench->facts; }

static OrrBenchState fake_state(OrrBench *bench) {
  return (OrrBenchState){.watts = 0.1 * bench->facts.power_limit_watts,
                         .sm_clock_hz = bench->facts.sm_clock_limit_hz,
                         .memory_clock_hz = bench->facts.memory_clock_limit_hz,
                         .celsius = 40,
                         .throttle = 1,
                         .n_processes = 1,
                         .persistence = 1,
                         .ecc = 1};
}

static double fake_clock(OrrBench *bench) { return bench->clock_s; }

static OrrKernel *fake_prepare(OrrBench *bench, const OrrShape *shape, GError **error) {
  const OrrShapeWork work = shape->family->work(shape, &bench->facts);
  if (work.flops > 0 && bench->facts.flops[work.dtype] <= 0)
    return orr_fault_null(error, ORR_FAULT_USAGE, "%s: the fake device has no %s",
                          shape->family->entry.name, orr_dtype_names[work.dtype]);
  if (strcmp(shape->family->entry.name, "collective") == 0 &&
      orr_shape_at(shape, "bytes") > (gint64)1 << 32)
    return orr_fault_null(error, ORR_FAULT_USAGE,
                          "shapes that do not fit into the device's memory");
  g_autofree char *text = orr_shape_text(shape);
  OrrKernel *kernel = g_new0(OrrKernel, 1);
  *kernel = (OrrKernel){
      .bench = bench, .shape = *shape, .hash = orr_random_hash3(1, 2, g_str_hash(text))};
  return kernel;
}

/* The slow-down by concurrent work. */
static double slow_down(const OrrShape *shape) {
  if (strcmp(shape->family->entry.name, "interference") != 0) return 1;
  if (strcmp(orr_shape_word(shape, "companion"), "nothing") == 0) return 1;
  return strcmp(orr_shape_word(shape, "watched"), "gemm") == 0 ? 1.2 : 1.5;
}

static gboolean fake_time(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                          GError **error) {
  const OrrBenchFacts *facts = &kernel->bench->facts;
  const OrrShapeWork work = kernel->shape.family->work(&kernel->shape, facts);
  const gboolean is_exact = strcmp(kernel->shape.family->entry.name, "interference") == 0;
  const double noise =
      is_exact ? 0 : (double)(kernel->hash >> 11) / (double)(G_GUINT64_CONSTANT(1) << 53) - 0.5;
  const double wave = 1.25 + 0.25 * sin(3 * log2(1 + work.flops + work.bytes));
  const double seconds = orr_family_roofline(&kernel->shape, facts) * wave * (1 + 0.01 * noise) *
                         slow_down(&kernel->shape);
  const gboolean is_watched = rule->watch_s > 0;
  kernel->bench->clock_s += rule->warm_up_s + fmax(rule->burst_s, rule->min_repeats * seconds);
  if (is_watched) kernel->bench->clock_s += rule->settle_s + rule->watch_s;
  *ret_timing = (OrrTiming){.median_us = seconds * 1e6,
                            .best_us = seconds * 0.99e6,
                            .spread = 0.01,
                            .repeats = rule->min_repeats,
                            .calls = 1,
                            .method = "host",
                            .watts = is_watched ? 0.8 * facts->power_limit_watts : NAN,
                            .sm_clock_hz = facts->sm_clock_limit_hz,
                            .sustained_us = NAN,
                            .sustained_sm_clock_hz = NAN,
                            .throttle = -1,
                            .sustained_throttle = -1,
                            .sustained_gpus = is_watched ? facts->n_gpus : 0,
                            .memory_clock_hz = facts->memory_clock_limit_hz};
  if (orr_accumulation_word(&kernel->shape))
    orr_timing_set(ret_timing, orr_accumulation_word(&kernel->shape));
  return TRUE;
}

static gboolean fake_verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const OrrShape *shape = &kernel->shape;
  const gboolean is_memory = strcmp(shape->family->entry.name, "memory") == 0;
  const gboolean is_wrong = is_memory && strcmp(orr_shape_word(shape, "op"), "permute") == 0 &&
                            orr_shape_at(shape, "rows") == 4096;
  *ret_verdict = (OrrVerdict){.n_samples = 64, .max_error = is_wrong ? 1 : 1e-3, .limit = 1e-2};
  return TRUE;
}

static void fake_release(OrrKernel *kernel) { g_free(kernel); }

static gboolean fake_agree(OrrBench *bench, gint64 *number, GError **error) { return TRUE; }

static gboolean fake_settle(OrrBench *bench, const char *mine, gboolean mine_ends_job,
                            OrrJobWord *ret_word, GError **error) {
  *ret_word = mine ? orr_job_word(0, mine, mine_ends_job) : (OrrJobWord){.rank = -1};
  return TRUE;
}

static void fake_fail(OrrBench *bench, const char *reason) {}

const OrrDeviceLayer orr_fake_layer = {
    .name = "fake",
    .examine = fake_examine,
    .open = fake_open,
    .close = fake_close,
    .facts = fake_facts,
    .state = fake_state,
    .clock_s = fake_clock,
    .prepare = fake_prepare,
    .time = fake_time,
    .verify = fake_verify,
    .release = fake_release,
    .agree = fake_agree,
    .settle = fake_settle,
    .fail = fake_fail,
};
