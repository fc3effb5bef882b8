/*
 * test_generator.c - tokens, FLOPs and bytes of blocks, worked by hand, and every shipped document.
 */
#include <math.h>

#include "models/generator.h"
#include "sim/base/library.h"
#include "tests/base/field_lint.h"

static OrrGeneratorShape shape_of(gint64 height, gint64 width, gint64 frames, gint64 text) {
  return (OrrGeneratorShape){.batch = 1,
                             .height = height,
                             .width = width,
                             .frames = frames,
                             .text_tokens = text,
                             .ulysses = 1,
                             .ring = 1,
                             .tp = 1,
                             .shards = 1,
                             .dtype = ORR_BF16};
}

/* Sums over a block's operators: FLOPs of a kind, or bytes of its collectives. */
static double sum_of(const OrrBlock *block, const OrrGeneratorShape *shape, OrrOperatorKind kind) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrBlockOperator));
  double sum = 0;
  orr_generator_operators(block, shape, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrBlockOperator *one = &g_array_index(operators, OrrBlockOperator, i);
    if (one->op.kind != kind) continue;
    sum += one->times * (kind == ORR_OPERATOR_COMM ? one->op.bytes : one->op.flops);
  }
  return sum;
}

static void near(double got, double wanted) {
  if (!(fabs(got - wanted) <= 1e-12 * fabs(wanted))) g_error("%.9g is not %.9g", got, wanted);
}

/* Of a shipped document's backbone. */
static double shipped_parameters(const char *name) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrPlace place = {name, 0, 0};
  g_autoptr(OrrNode) tree = orr_library_load(library, "generator", name, place, diags);
  OrrGenerator generator;
  orr_field_read(&orr_generator_table, tree, library, diags, &generator);
  orr_generator_settle(&generator, place, diags);
  const double parameters = orr_generator_parameters(generator.backbone);
  orr_field_clear(&orr_generator_table, &generator);
  return parameters;
}

static const OrrBlock hunyuan = {.kind = ORR_BLOCK_DOUBLE,
                                 .width = 3072,
                                 .heads = 24,
                                 .kv_heads = 24,
                                 .head_dim = 128,
                                 .ffn = 12288,
                                 .scale = 16,
                                 .every = 4};

/* 720 / 16 = 45, 1280 / 16 = 80, 128 / 4 + 1 = 33: 45 80 33 = 118,800 (models.csv has the same).
 * 1000 / 16 is 62.5: the last row is padded, 63. */
static void test_positions(void) {
  const OrrGeneratorShape clip = shape_of(720, 1280, 129, 256), uneven = shape_of(1000, 1024, 1, 0);
  near(orr_generator_positions(&hunyuan, &clip), 118800);
  near(orr_generator_positions(&hunyuan, &uneven), 63 * 64);
}

/* Each of n = 118,800 + 256 tokens passes 4 d^2 of attention and 8 d^2 of feed-forward, in 2 FLOPs
 * each; attention has two products of n x n x d. */
static void test_double(void) {
  const OrrGeneratorShape clip = shape_of(720, 1280, 129, 256);
  const double n = 118800 + 256, d = 3072;
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_GEMM), 2 * n * 12 * d * d);
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_ATTENTION), 4 * n * n * d);
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_COMM), 0);
}

/* Mochi 1 (genmoai/mochi, joint_model/asymm_models_joint.py): 163 frames are 28 of the latents, 30
 * x 53 positions each, 44,520. The text's 256 tokens are 1,536 wide and meet the video in attention
 * of 3,072; its feed-forward is half as wide. A block has 4 vectors of modulation for each stream,
 * made from the video's width; 48 blocks have 9.97 billion of the model's 10.03. */
static void test_narrow_text(void) {
  const OrrBlock mochi = {.kind = ORR_BLOCK_DOUBLE,
                          .width = 3072,
                          .text_width = 1536,
                          .heads = 24,
                          .kv_heads = 24,
                          .head_dim = 128,
                          .ffn = 8192,
                          .gated = TRUE,
                          .modulated = TRUE,
                          .scale = 16,
                          .every = 6};
  const OrrGeneratorShape clip = shape_of(480, 848, 163, 256);
  const double w = 3072, t = 1536, n = 44520;
  const double video = 4 * w * w + 3 * w * 8192, text = 3 * t * w + w * t + 3 * t * 4096;
  near(orr_generator_positions(&mochi, &clip), n);
  near(sum_of(&mochi, &clip, ORR_OPERATOR_GEMM), 2 * n * video + 2 * 256 * text);
  near(sum_of(&mochi, &clip, ORR_OPERATOR_ATTENTION), 4 * (n + 256) * (n + 256) * w);
  near(shipped_parameters("mochi-1-preview"), 48 * (video + text + 4 * w * (w + t)));
  g_assert_cmpfloat_with_epsilon(48 * (video + text + 4 * w * (w + t)) / 10.03e9, 1, 0.01);
}

/* Four GPUs by heads: a quarter of each, and four exchanges of a quarter of the tokens, 16 bits. */
static void test_ulysses(void) {
  OrrGeneratorShape clip = shape_of(720, 1280, 129, 256);
  const double n = 118800 + 256, d = 3072;
  clip.ulysses = 4;
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_GEMM), 2 * n * 12 * d * d / 4);
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_ATTENTION), 4 * n * n * d / 4);
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_COMM), 4 * 2 * n / 4 * d);
}

/* A ring of four: four parts of n/4 queries over n/4 keys; three sends of keys and values. */
static void test_ring(void) {
  OrrGeneratorShape clip = shape_of(720, 1280, 129, 256);
  const double n = 118800 + 256, d = 3072;
  clip.ring = 4;
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_ATTENTION), 4 * n * n * d / 4);
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_COMM), 3 * 4 * n / 4 * d);
}

/* 333 tokens of text do not split over two GPUs: each computes all of them. 4096 / 2 + 333 rows. */
static void test_text_that_does_not_split(void) {
  OrrGeneratorShape picture = shape_of(1024, 1024, 1, 333);
  picture.ulysses = 2;
  near(sum_of(&hunyuan, &picture, ORR_OPERATOR_GEMM), 2.0 * (2048 + 333) * 12 * 3072 * 3072);
}

/* Tensor parallelism of two: half of each matrix, two all-reduces of the stream for text and
 * picture together. */
static void test_tensor(void) {
  OrrGeneratorShape clip = shape_of(720, 1280, 129, 256);
  const double n = 118800 + 256, d = 3072;
  clip.tp = 2;
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_GEMM), 2 * n * 12 * d * d / 2);
  near(sum_of(&hunyuan, &clip, ORR_OPERATOR_COMM), 2 * 2 * n * d);
}

/* Cross-attention of 4096 positions to 300 tokens: q and the result have d^2 each, over the
 * picture; k and v over the text. */
static void test_cross(void) {
  OrrBlock block = hunyuan;
  const OrrGeneratorShape picture = shape_of(1024, 1024, 1, 300);
  const double d = 3072, n = 4096, t = 300;
  block.kind = ORR_BLOCK_TRANSFORMER;
  block.cross = 3072;
  near(sum_of(&block, &picture, ORR_OPERATOR_GEMM),
       2 * n * 12 * d * d + 2 * n * 2 * d * d + 2 * t * 2 * d * d);
  near(sum_of(&block, &picture, ORR_OPERATOR_ATTENTION), 4 * n * n * d + 4 * n * t * d);
}

/* 64 x 64 positions, 256 to 128 channels: two convolutions of 9 taps, and one of 1 tap around. */
static void test_convolution(void) {
  const OrrBlock block = {.kind = ORR_BLOCK_RESNET,
                          .width = 128,
                          .in = 256,
                          .kernel = 3,
                          .depth = 1,
                          .scale = 8,
                          .every = 1};
  OrrGeneratorShape picture = shape_of(512, 512, 1, 0);
  const double wanted = 2.0 * 4096 * (9.0 * 256 * 128 + 9.0 * 128 * 128 + 256 * 128);
  near(sum_of(&block, &picture, ORR_OPERATOR_GEMM), wanted);
  picture.shards = 4;
  near(sum_of(&block, &picture, ORR_OPERATOR_GEMM), wanted / 4);
}

/* FlashAttention-2 has no kernel for heads of 72: it computes 96. */
static void test_padded_heads(void) {
  OrrBlock block = hunyuan;
  OrrGeneratorShape picture = shape_of(1024, 1024, 1, 0);
  block.kind = ORR_BLOCK_TRANSFORMER;
  block.head_dim = 72;
  near(sum_of(&block, &picture, ORR_OPERATOR_ATTENTION), 4.0 * 4096 * 4096 * 24 * 72);
  picture.flash = ORR_FLASH_2;
  near(sum_of(&block, &picture, ORR_OPERATOR_ATTENTION), 4.0 * 4096 * 4096 * 24 * 96);
}

/* Every document reads without a finding: the published counts of parameters agree. */
static void test_shipped(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_auto(GStrv) names = orr_library_names(library, "generator");
  guint n = 0;
  for (char **name = names; *name; name++, n++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    const OrrPlace place = {*name, 0, 0};
    g_autoptr(OrrNode) tree = orr_library_load(library, "generator", *name, place, diags);
    OrrGenerator generator;
    g_assert_nonnull(tree);
    orr_field_read(&orr_generator_table, tree, library, diags, &generator);
    orr_generator_settle(&generator, place, diags);
    if (orr_diags_n_errors(diags) + orr_diags_n_warnings(diags) > 0)
      g_error("%s: %s", *name, orr_diags_text(diags));
    orr_field_clear(&orr_generator_table, &generator);
  }
  g_assert_cmpuint(n, >=, 20);
}

static void test_table(void) {
  g_autofree char *findings = orr_field_lint(&orr_generator_table);
  g_assert_cmpstr(findings, ==, NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/generator/positions", test_positions);
  g_test_add_func("/generator/double", test_double);
  g_test_add_func("/generator/narrow-text", test_narrow_text);
  g_test_add_func("/generator/ulysses", test_ulysses);
  g_test_add_func("/generator/ring", test_ring);
  g_test_add_func("/generator/text-that-does-not-split", test_text_that_does_not_split);
  g_test_add_func("/generator/tensor", test_tensor);
  g_test_add_func("/generator/cross", test_cross);
  g_test_add_func("/generator/convolution", test_convolution);
  g_test_add_func("/generator/padded-heads", test_padded_heads);
  g_test_add_func("/generator/shipped", test_shipped);
  g_test_add_func("/generator/table", test_table);
  return g_test_run();
}
