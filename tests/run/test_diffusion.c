/*
 * test_diffusion.c - laws of the workload `diffusion`: layouts against closed forms, and refusals.
 */
#include <math.h>

#include "tests/base/field_lint.h"
#include "tests/workloads/scenario_fixture.h"
#include "workloads/diffusion/diffusion.h"

#define HEAD                                                                                       \
  "name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 8}\n"                               \
  "workload: {kind: diffusion, stack: none, host: {dispatch: 1 ns}, "

static OrrDiffusionResult result_with(const char *keys, const char *sets) {
  g_autofree char *text = g_strdup_printf(HEAD "%s}\n", keys);
  OrrOutcome *outcome = ideal_outcome_of(text, sets, FALSE);
  const OrrDiffusionResult result = outcome->result.diffusion;
  orr_outcome_free(outcome);
  return result;
}

static OrrDiffusionResult result_of(const char *keys) { return result_with(keys, ""); }

static double call_with(const char *op, double bytes, guint ranks, const char *sets) {
  g_autofree char *text =
      g_strdup_printf("name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 8}\n"
                      "workload: {kind: collectives, stack: none, collective: %s, begin: %.0f B, "
                      "end: %.0f B, ranks: %u}\n",
                      op, bytes, bytes, ranks);
  OrrOutcome *outcome = ideal_outcome_of(text, sets, FALSE);
  const double time_s = outcome->result.collectives.time_s;
  orr_outcome_free(outcome);
  return time_s;
}

static double call_s(const char *op, double bytes, guint ranks) {
  return call_with(op, bytes, ranks, "");
}

static void near(double got, double wanted, double tolerance) {
  if (!(fabs(got - wanted) <= tolerance * fabs(wanted))) g_error("%.9g is not %.9g", got, wanted);
}

/* Steps are alike, whether replayed or repeated; the rest does not depend on them. */
static void test_steps(void) {
  const OrrDiffusionResult one = result_of("generator: flux.1-dev, steps: 1");
  const OrrDiffusionResult two = result_of("generator: flux.1-dev, steps: 2");
  const OrrDiffusionResult many = result_of("generator: flux.1-dev, steps: 28");
  near(two.denoise_s, 2 * one.denoise_s, 1e-6);
  near(many.denoise_s, 28 * one.denoise_s, 1e-6);
  near(many.text_s, one.text_s, 1e-9);
  near(many.decode_s, one.decode_s, 1e-6);
  near(many.latency_s, many.text_s + many.denoise_s + many.decode_s, 1e-9);
}

/* A cached step takes no time. */
static void test_cache(void) {
  const OrrDiffusionResult all = result_of("generator: flux.1-dev, steps: 28");
  const OrrDiffusionResult half = result_of("generator: flux.1-dev, steps: 28, cached-steps: 14");
  near(half.denoise_s, all.denoise_s / 2, 1e-6);
}

/* Flux on four GPUs by heads: 57 blocks, four exchanges of (4096 + 512) / 4 tokens of 3072 in 16
 * bits, and one gather of the latent picture: 4096 tokens of 4 x 16 channels. */
static void test_ulysses(void) {
  const OrrDiffusionResult r = result_of("generator: flux.1-dev, steps: 2, parallel: {ulysses: 4}");
  const double exchange_s = call_s("all-to-all", 2.0 * 4608 / 4 * 3072, 4);
  const double gather_s = call_s("all-gather", 2.0 * 4096 * 16 * 4, 4);
  near(r.exposed_comm_s, 2 * (57 * 4 * exchange_s + gather_s), 1e-3);
  g_assert_cmpint(r.n_gpus, ==, 4);
}

/* A ring's sends hide under attention where that is longer, and the parts of attention add up to
 * no less than the whole divided by the GPUs. */
static void test_ring(void) {
  const OrrDiffusionResult alone = result_of("generator: wan2.1-t2v-14b, steps: 2");
  const OrrDiffusionResult ring =
      result_of("generator: wan2.1-t2v-14b, steps: 2, parallel: {ring: 4}");
  g_assert_cmpfloat(ring.attention_s, >=, 0.9 * alone.attention_s / 4);
  g_assert_cmpfloat(ring.exposed_comm_s, <, 0.35 * ring.attention_s);
  g_assert_cmpfloat(ring.denoise_s, >=, alone.denoise_s / 4);
}

/* Wan runs its two passes one after another; on a pair of GPUs they run together. */
static void test_guidance(void) {
  const OrrDiffusionResult two = result_of("generator: wan2.1-t2v-1.3b, steps: 2");
  const OrrDiffusionResult pair =
      result_of("generator: wan2.1-t2v-1.3b, steps: 2, parallel: {cfg: 2}");
  const OrrDiffusionResult none = result_of("generator: wan2.1-t2v-1.3b, steps: 2, guidance: none");
  near(none.denoise_s, two.denoise_s / 2, 1e-6);
  g_assert_cmpfloat(pair.denoise_s, >, none.denoise_s);
  g_assert_cmpfloat(pair.denoise_s, <, 1.02 * none.denoise_s);
}

/* Eager software that dispatches slower than the GPU computes takes the host's time. */
static void test_host(void) {
  const OrrDiffusionResult quick = result_of("generator: sd-1.5, steps: 2");
  const OrrDiffusionResult slow =
      result_with("generator: sd-1.5, steps: 2", "workload.host.dispatch=100 us");
  const OrrDiffusionResult slower =
      result_with("generator: sd-1.5, steps: 2", "workload.host.dispatch=200 us");
  g_assert_cmpfloat(quick.wait_s, <, 0.05 * quick.latency_s);
  near(slower.denoise_s, 2 * slow.denoise_s, 0.02);
}

/* Compiled graphs have a launch time of their own; the host's output comes after the last kernel:
 * two pictures of 1024 x 1024 are 2.097 million pixels. */
static void test_output(void) {
  const char *keys = "generator: flux.1-dev, steps: 2, batch: 2, compiled: true";
  const OrrDiffusionResult none = result_of(keys);
  const OrrDiffusionResult output = result_with(keys, "workload.host.output-per-megapixel=100 ms");
  const OrrDiffusionResult slow = result_with(keys, "workload.host.compiled-dispatch=10 ms");
  near(output.decode_s - none.decode_s, 0.1 * 2.097152, 1e-3);
  g_assert_cmpfloat(slow.denoise_s, >, 10 * none.denoise_s);
  near(slow.text_s, none.text_s, 1e-9);
}

/* Weights of the host: FLUX's 11.83 billion of the backbone, in 16 bits, come once with `stages`,
 * and in each of two steps with `blocks`. A GPU then holds the largest stage, or the largest block:
 * a double block of 36 d^2 weights. */
static void test_offload(void) {
  const char *keys = "generator: flux.1-dev, steps: 2";
  const OrrDiffusionResult none = result_of(keys);
  const char *whole_link = "workload.offload=%s;cluster.node.host-link-efficiency=100 %%";
  g_autofree char *by_stage = g_strdup_printf(whole_link, "stages"),
                  *by_block = g_strdup_printf(whole_link, "blocks");
  const OrrDiffusionResult stages = result_with(keys, by_stage),
                           blocks = result_with(keys, by_block);
  const double d2 = 3072.0 * 3072, link = 63e9;
  const double backbone = 2 * (19 * 36 * d2 + 38 * 15 * d2), others = none.weight_bytes - backbone;
  near(stages.offload_s, (backbone + others) / link, 1e-3);
  near(blocks.offload_s, (2 * backbone + others) / link, 1e-3);
  near(stages.latency_s - none.latency_s, stages.offload_s, 1e-3);
  near(stages.denoise_s - none.denoise_s, backbone / link, 1e-3);
  near(stages.step_s, none.step_s, 1e-3);
  near(blocks.latency_s - none.latency_s, blocks.offload_s, 1e-3);
  near(stages.weight_bytes, backbone, 1e-9);
  near(blocks.weight_bytes, 2 * 36 * d2, 1e-9);
}

/* Blocks that come while the one before runs: over FLUX's small picture copies decide, so a step
 * takes the copy of the backbone and the last block's kernels; over a large one kernels do, and a
 * step waits for its first block alone. A GPU holds two double blocks of 36 d^2. */
static void test_prefetch(void) {
  const char *link = "cluster.node.host-link-efficiency=100 %;workload.offload=prefetch";
  const char *small = "generator: flux.1-dev, steps: 2, height: 256, width: 256",
             *large = "generator: flux.1-dev, steps: 2, batch: 4, height: 4096, width: 4096";
  const double d2 = 3072.0 * 3072, copy_s = 2 * (19 * 36 * d2 + 38 * 15 * d2) / 63e9;
  const OrrDiffusionResult waits = result_with(small, link), runs = result_with(large, link);
  const OrrDiffusionResult none = result_of(large);
  near(waits.step_s, copy_s, 0.01);
  near(runs.step_s - none.step_s, 2 * 36 * d2 / 63e9, 0.01);
  near(runs.weight_bytes, 2 * 2 * 36 * d2, 1e-9);
}

/* FSDP over four: a step waits for the gather of its first block; the others hide, but slow the
 * kernels next to them, by a quarter of their time at most (19 gathers of 36 d^2 weights, 38 of 15
 * d^2). Weights are a quarter of text encoders and backbone, the decoder, and two blocks. */
static void test_fsdp(void) {
  const char *keys = "generator: flux.1-dev, steps: 2, batch: 2, height: 4096, width: 4096, "
                     "parallel: {ulysses: 4, fsdp: %s}";
  g_autofree char *shared = g_strdup_printf(keys, "true"), *whole = g_strdup_printf(keys, "false");
  const OrrDiffusionResult with = result_of(shared), without = result_of(whole);
  const double d2 = 3072.0 * 3072, block = 2 * 36 * d2;
  const double backbone = 2 * (19 * 36 * d2 + 38 * 15 * d2);
  const double text = 2 * (12 * 12 * 768.0 * 768 + 24 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 10240));
  const double first_s = call_s("all-gather", block, 4),
               all_s = 19 * first_s + 38 * call_s("all-gather", 2 * 15 * d2, 4);
  g_assert_cmpfloat(with.step_s - without.step_s, >, 0.98 * first_s);
  g_assert_cmpfloat(with.step_s - without.step_s, <, first_s + 0.25 * all_s);
  near(without.weight_bytes - with.weight_bytes, 0.75 * (backbone + text) - 2 * block, 1e-6);
  near(with.decode_s, without.decode_s, 1e-9); /* the decoder is whole on each GPU */
}

/* PipeFusion of PixArt's 28 equal blocks in four stages. Without patches (all steps warm up) a step
 * takes as long as on one GPU, and four sends. With eight patches stages do not wait: a step takes
 * what a GPU computes in it. With two, a patch comes back after four stages: twice as long as what
 * a GPU computes. A GPU has a quarter of the backbone. */
static void test_pipefusion(void) {
  const char *keys = "generator: pixart-sigma-xl-2, steps: %d, parallel: {pipefusion: 4, patches: "
                     "%d, warm-up: %d}";
  const struct {
    int patches;
    double times; /* what a GPU computes in a step */
  } cases[] = {{8, 1}, {16, 1}, {2, 2}};
  g_autofree char *all_warm = g_strdup_printf(keys, 10, 8, 10);
  const OrrDiffusionResult alone = result_of("generator: pixart-sigma-xl-2, steps: 10");
  const OrrDiffusionResult warm = result_of(all_warm);
  g_assert_cmpfloat(warm.step_s, >, alone.step_s);
  near(warm.step_s, alone.step_s, 0.02);
  near(alone.weight_bytes - warm.weight_bytes, 0.75 * 2 * 6.0e8, 0.05);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *few = g_strdup_printf(keys, 10, cases[i].patches, 1),
                    *many = g_strdup_printf(keys, 20, cases[i].patches, 1);
    const OrrDiffusionResult short_run = result_of(few), long_run = result_of(many);
    const double step_s = (long_run.denoise_s - short_run.denoise_s) / 10;
    const double busy_s = (long_run.gemm_s + long_run.attention_s + long_run.memory_s -
                           short_run.gemm_s - short_run.attention_s - short_run.memory_s) /
                          10;
    near(step_s, cases[i].times * busy_s, 0.05);
    g_assert_cmpfloat(busy_s, <, 0.7 * alone.step_s); /* a quarter, and text with every patch */
  }
}

/* Displaced patches of PixArt over four GPUs: each of 28 layers gathers keys and values of two
 * pictures of 4,096 positions, 4 * 2 * 4096 * 1152 bytes, and a step ends with the gather of the
 * latent picture. Kernels wait for all of it in steps that warm up, and for the latent picture in
 * others, where gathers slow them by a quarter of their time at most; with links of 2 GB/s the
 * gathers take longer than the kernels, and decide. */
static void test_displaced(void) {
  const char *keys = "generator: pixart-sigma-xl-2, steps: %d, parallel: {displaced: 4, warm-up: "
                     "%d}";
  const char *slow = "cluster.device.scale-up-bandwidth=2 GB/s";
  const double bytes = 4.0 * 2 * 4096 * 1152, keys_s = call_s("all-gather", bytes, 4),
               latents_s = call_s("all-gather", 2.0 * 2 * 4096 * 4 * 4, 4),
               slow_s = call_with("all-gather", bytes, 4, slow);
  g_autofree char *all_warm = g_strdup_printf(keys, 4, 4), *few = g_strdup_printf(keys, 10, 1),
                  *many = g_strdup_printf(keys, 20, 1);
  const OrrDiffusionResult warm = result_of(all_warm), short_run = result_of(few),
                           long_run = result_of(many);
  near(warm.exposed_comm_s, 4 * (28 * keys_s + latents_s), 1e-3);
  const double step_s = (long_run.denoise_s - short_run.denoise_s) / 10;
  const double busy_s = (long_run.gemm_s + long_run.attention_s + long_run.memory_s -
                         short_run.gemm_s - short_run.attention_s - short_run.memory_s) /
                        10;
  g_assert_cmpfloat(step_s, >, 0.99 * (busy_s + latents_s));
  g_assert_cmpfloat(step_s, <, busy_s + latents_s + 0.25 * 28 * keys_s);
  near(short_run.denoise_s - 9 * step_s, warm.denoise_s / 4, 0.02); /* one step warms up */
  const double bound_s =
      (result_with(many, slow).denoise_s - result_with(few, slow).denoise_s) / 10;
  near(bound_s, 28 * slow_s, 0.02);
  g_assert_cmpfloat(bound_s, >, 1.5 * step_s);
}

/* Convolutions share a picture by displaced patches: of SDXL over four of them, with the two passes
 * of guidance on pairs, a step's kernels take a quarter of what they take without, or somewhat
 * more, as smaller kernels are less efficient and the text is not divided. */
static void test_displaced_convolutions(void) {
  const char *keys = "generator: sdxl, steps: %d, height: 2048, width: 2048, parallel: {cfg: 2, "
                     "displaced: %d}";
  double gemm_s[2], attention_s[2];
  for (int i = 0; i < 2; i++) {
    g_autofree char *few = g_strdup_printf(keys, 4, i == 0 ? 1 : 4),
                    *many = g_strdup_printf(keys, 8, i == 0 ? 1 : 4);
    const OrrDiffusionResult short_run = result_of(few), long_run = result_of(many);
    gemm_s[i] = long_run.gemm_s - short_run.gemm_s;
    attention_s[i] = long_run.attention_s - short_run.attention_s;
    g_assert_cmpint(long_run.n_gpus, ==, i == 0 ? 2 : 8);
  }
  g_assert_cmpfloat(gemm_s[1], >, gemm_s[0] / 4);
  g_assert_cmpfloat(gemm_s[1], <, 1.3 * gemm_s[0] / 4);
  g_assert_cmpfloat(attention_s[1], >, attention_s[0] / 4);
  g_assert_cmpfloat(attention_s[1], <, 1.5 * attention_s[0] / 4);
}

/* The sends of a pipeline: without patches the second of two passes follows the first stage by
 * stage, so a step is five quarters of what one GPU computes in a pass, three sends of (256 tokens
 * of a picture + 300 of text) of 1,152 in 16 bits for each of 16 pictures, and one of the latent
 * pictures, 256 * 16 in 16 bits, back to the first stage. Sends slow the kernels next to them. */
static void test_pipefusion_sends(void) {
  const char *keys = "generator: pixart-sigma-xl-2, steps: 4, guidance: sequential, batch: 16, "
                     "height: 256, width: 256%s";
  g_autofree char *one = g_strdup_printf(keys, ""),
                  *four = g_strdup_printf(keys, ", parallel: {pipefusion: 4, warm-up: 4}");
  const OrrDiffusionResult alone = result_of(one), warm = result_of(four);
  const double sends_s = 3 * call_s("send-recv", 2 * 16 * 1152 * (256.0 + 300), 2) +
                         call_s("send-recv", 2 * 16 * 256.0 * 16, 2);
  near(warm.step_s - 5 / 8. * alone.step_s, 1.1 * sends_s, 0.1);
}

/* A stage keeps keys and values of the whole picture for its part of FLUX's 57 blocks of 3,072, in
 * 16 bits, where the backbone's peak decides (the decoder works by small tiles). */
static void test_pipefusion_memory(void) {
  const char *keys = "generator: flux.1-dev, steps: 2, decode: {tile: 128}, parallel: {pipefusion: "
                     "%d}";
  g_autofree char *two = g_strdup_printf(keys, 2), *four = g_strdup_printf(keys, 4);
  const double kept = 4 * 57 * 3072 * 4096.0;
  near(result_of(two).activation_bytes - result_of(four).activation_bytes, kept / 2 - kept / 4,
       1e-6);
}

/* All four GPUs compute text and decoder, and each its part of a step: all parts are one GPU's
 * step, where it warms up, too. Steps beyond those that are computed warm nothing up. */
static void test_pipefusion_flops(void) {
  const char *alone = "generator: pixart-sigma-xl-2, steps: %d";
  const char *keys = "generator: pixart-sigma-xl-2, steps: %d, cached-steps: %d, parallel: "
                     "{pipefusion: 4, patches: 8, warm-up: %d}";
  g_autofree char *one = g_strdup_printf(alone, 1), *two = g_strdup_printf(alone, 2),
                  *warm = g_strdup_printf(keys, 10, 5, 10), *four = g_strdup_printf(keys, 4, 0, 1),
                  *five = g_strdup_printf(keys, 5, 0, 1);
  const double first = result_of(one).flops, step = result_of(two).flops - first,
               ends = 4 * (first - step), patched = result_of(five).flops - result_of(four).flops;
  near(result_of(warm).flops, ends + 5 * step, 1e-9);
  near(result_of(four).flops, ends + step + 3 * patched, 1e-9);
  g_assert_cmpfloat(patched, >, step); /* text with every patch */
}

/* Tiles of 512 with a quarter in common: 1 + ceil(512 / 384) = 3 along each side of 1024, so nine
 * of a quarter of the pixels each are decoded. The peak is a tile's, a quarter of the picture's. */
static void test_tiles(void) {
  const char *keys = "generator: sdxl, steps: 1, batch: 4";
  const OrrDiffusionResult whole = result_of(keys);
  const OrrDiffusionResult tiled = result_of("generator: sdxl, steps: 1, batch: 4, decode: {tile: "
                                             "512}");
  const OrrDiffusionResult apart = result_of("generator: sdxl, steps: 1, batch: 4, decode: {tile: "
                                             "512, overlap: 0}");
  const OrrDiffusionResult large = result_of("generator: sdxl, steps: 1, batch: 4, decode: {tile: "
                                             "1024}");
  near(large.decode_s, whole.decode_s, 1e-9);
  g_assert_cmpfloat(apart.decode_s, <, 1.01 * whole.decode_s); /* attention sees its tile alone */
  g_assert_cmpfloat(apart.decode_s, >, 0.8 * whole.decode_s);
  g_assert_cmpfloat(tiled.decode_s, >, 1.9 * whole.decode_s);
  g_assert_cmpfloat(tiled.decode_s, <, 2.4 * whole.decode_s);
  near(4 * tiled.activation_bytes, whole.activation_bytes, 1e-9);
}

/* The widest moment of the decoder of four pictures of 1024 x 1024: a convolution from 256 to 256
 * channels beside the block's stream of 256, 2 bytes each. A batch of 400 of FLUX does not fit. */
static void test_memory(void) {
  const OrrDiffusionResult four = result_of("generator: sdxl, steps: 1, batch: 4");
  near(four.activation_bytes, 4 * 1048576.0 * 2 * 3 * 256, 1e-9);
  g_autoptr(OrrOutcome) many = ideal_outcome_of(
      "name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 1}\n"
      "workload: {kind: diffusion, stack: none, generator: flux.1-dev, steps: 1, batch: 400}\n",
      "", FALSE);
  g_assert_cmpuint(many->warnings->len, >, 0);
  g_assert_nonnull(strstr(many->warnings->pdata[0], "it does not fit: "));
}

/* Watts lie between a board that does nothing and its limit; joules are watts times seconds. */
static void test_energy(void) {
  const OrrDiffusionResult r = result_of("generator: flux.1-dev, batch: 2");
  g_assert_cmpfloat(r.gpu_power_mean_w, >, 150);
  g_assert_cmpfloat(r.gpu_power_mean_w, <=, 700);
  near(r.energy_j_per_output, r.gpu_power_mean_w * r.latency_s / 2, 1e-9);
}

/* An H20 has the H100's multiprocessors with a quarter of their tensor cores' rate: its kernels
 * come close to that rate; the H100's, at a half of theirs, do not. */
static void test_slow_tensor_cores(void) {
  const OrrDiffusionResult h20 =
      result_with("generator: hunyuan-video, steps: 1", "cluster.device=h20");
  const double flops = h20.flops / (h20.gemm_s + h20.attention_s);
  g_assert_cmpfloat(flops, <, 148e12);
  g_assert_cmpfloat(flops, >, 0.6 * 148e12);
}

/* GPUs that no degree uses are named; none is where all are used. */
static void test_idle(void) {
  g_autoptr(OrrOutcome) one =
      ideal_outcome_of(HEAD "generator: flux.1-dev, steps: 1}\n", "", FALSE);
  g_autoptr(OrrOutcome) all = ideal_outcome_of(
      HEAD "generator: flux.1-dev, steps: 1, parallel: {ulysses: 8}}\n", "", FALSE);
  g_assert_cmpuint(one->warnings->len, >, 0);
  g_assert_cmpstr(one->warnings->pdata[0], ==,
                  "1 of 8 GPUs generates; the others idle and are not counted");
  for (guint i = 0; i < all->warnings->len; i++)
    g_assert_null(strstr(all->warnings->pdata[i], "idle"));
}

static void test_refusals(void) {
  static const char *const cases[][2] = {
      {"generator: flux.1-dev, parallel: {ulysses: 5}", "does not divide the 24 heads"},
      {"generator: flux.1-dev, parallel: {cfg: 2}", "one pass per step"},
      {"generator: sd-3-medium, parallel: {cfg: 3}", "guidance has two passes"},
      {"generator: sdxl, parallel: {ring: 2}", "only parallel.cfg and displaced share it"},
      {"generator: flux.1-dev, parallel: {displaced: 2, ulysses: 2}", "goes with cfg alone"},
      {"generator: sdxl, parallel: {displaced: 2}, offload: prefetch", "goes with cfg alone"},
      {"generator: flux.1-dev, parallel: {ulysses: 4, ring: 4}",
       "needs 16 GPUs: the cluster has 8"},
      {"generator: flux.1-dev, steps: 4, cached-steps: 4", "cached-steps is 4 of 4 steps"},
      {"generator: flux.1-dev, precision: fp4",
       "precision fp4: device h100-sxm does not multiply fp4"},
      {"generator: flux.1-dev, frames: 10", "flux.1-dev makes single pictures"},
      {"generator: flux.1-dev, parallel: {pipefusion: 2, ring: 2}", "give ulysses"},
      {"generator: flux.1-dev, parallel: {patches: 4}", "patches is for pipefusion above 1"},
      {"generator: flux.1-dev, parallel: {pipefusion: 58}", "flux.1-dev has 57 blocks"},
      {"generator: flux.1-dev, parallel: {pipefusion: 2}, offload: prefetch",
       "goes with offload none or stages"},
      {"generator: sdxl, parallel: {pipefusion: 2}", "only parallel.cfg and displaced share it"},
      {"generator: flux.1-dev, parallel: {fsdp: true}", "parallel.fsdp needs several GPUs"},
      {"generator: flux.1-dev, parallel: {fsdp: true, tp: 2}", "parallel.fsdp shares whole blocks"},
      {"generator: fluxx", "fluxx"},
      {"generator: flux.1-dev, decode: {overlap: 95 %}", "overlap"},
      {"generator: flux.1-dev, offload: disk", "offload"},
      {"generator: {base: flux.1-dev, backbone: []}", "the backbone has no blocks"},
      {"generator: {base: flux.1-dev, backbone: [{kind: conv, width: 8, heads: 2}]}",
       "has no attention: leave out 'heads'"},
      {"generator: {base: flux.1-dev, backbone: [{kind: double, width: 8}]}", "give 'heads'"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(HEAD "%s}\n", cases[i][0]);
    char error[2000] = "";
    g_assert_null(outcome_of(text, error, sizeof error));
    if (!strstr(error, cases[i][1])) g_error("%s: %s", cases[i][0], error);
    if (!strstr(error, "test.yaml:")) g_error("%s: no place in: %s", cases[i][0], error);
  }
}

static void test_table(void) {
  g_autofree char *findings = orr_field_lint(&orr_diffusion_table);
  g_assert_cmpstr(findings, ==, NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/diffusion/steps", test_steps);
  g_test_add_func("/diffusion/cache", test_cache);
  g_test_add_func("/diffusion/ulysses", test_ulysses);
  g_test_add_func("/diffusion/ring", test_ring);
  g_test_add_func("/diffusion/guidance", test_guidance);
  g_test_add_func("/diffusion/host", test_host);
  g_test_add_func("/diffusion/output", test_output);
  g_test_add_func("/diffusion/offload", test_offload);
  g_test_add_func("/diffusion/prefetch", test_prefetch);
  g_test_add_func("/diffusion/fsdp", test_fsdp);
  g_test_add_func("/diffusion/pipefusion", test_pipefusion);
  g_test_add_func("/diffusion/displaced", test_displaced);
  g_test_add_func("/diffusion/displaced-convolutions", test_displaced_convolutions);
  g_test_add_func("/diffusion/pipefusion-flops", test_pipefusion_flops);
  g_test_add_func("/diffusion/pipefusion-memory", test_pipefusion_memory);
  g_test_add_func("/diffusion/pipefusion-sends", test_pipefusion_sends);
  g_test_add_func("/diffusion/tiles", test_tiles);
  g_test_add_func("/diffusion/memory", test_memory);
  g_test_add_func("/diffusion/energy", test_energy);
  g_test_add_func("/diffusion/slow-tensor-cores", test_slow_tensor_cores);
  g_test_add_func("/diffusion/idle", test_idle);
  g_test_add_func("/diffusion/refusals", test_refusals);
  g_test_add_func("/diffusion/table", test_table);
  return g_test_run();
}
