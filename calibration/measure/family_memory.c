/*
 * family_memory.c - memory-bound kernels over `rows` rows of `width` elements (cuda/kernel.cu).
 *
 * Reads and writes of each kernel per row, in elements of the dtype (and in 4-byte words):
 *
 *   copy                    1 in, 1 out
 *   bias-gelu               1 in, 1 out
 *   swiglu                  2 in (gate, up), 1 out
 *   rmsnorm-forward         1 in, 1 out
 *   rmsnorm-backward        2 in (x, dy), 1 out
 *   layernorm-forward       1 in, 1 out
 *   layernorm-backward      2 in, 1 out
 *   softmax-cross-entropy   1 in (the logits), 1 out (their gradient, in place)
 *   embedding               1 in (a row of a table of 65,536), 1 out
 *   adam                    grad 1 in, weight 1 out; master, m and v 4 bytes each, in and out
 *   permute                 1 in, 1 out, rows in random order
 *
 * Backward norms add their weight gradients to 4-byte sums of `width` elements, atomically, with
 * one partial sum per block.
 */
#include "calibration/measure/family.h"

static const char *const ops[] = {"copy",
                                  "bias-gelu",
                                  "swiglu",
                                  "rmsnorm-forward",
                                  "rmsnorm-backward",
                                  "layernorm-forward",
                                  "layernorm-backward",
                                  "softmax-cross-entropy",
                                  "embedding",
                                  "adam",
                                  "permute",
                                  NULL};
static const char *const dtypes[] = {"fp32", "fp16", "bf16", NULL};
static const double elements[] = {2, 2, 3, 2, 3, 2, 3, 2, 2, 2, 2};
enum { OP_ADAM = 9 };

static const OrrShapeColumn columns[] = {{"op", ops, TRUE},
                                         {"dtype", dtypes, TRUE},
                                         {"rows", NULL, FALSE},
                                         {"width", NULL, FALSE},
                                         {NULL, NULL, FALSE}};

static const gint64 widths[] = {1024, 2048, 4096, 5120, 8192, 12288, 16384, 28672, 51200, 131072};

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  for (int op = 0; ops[op]; op++)
    for (gint64 rows = 1; rows <= 65536; rows *= 4)
      for (guint w = 0; w < G_N_ELEMENTS(widths); w++) {
        const gint64 values[] = {op, 2, rows, widths[w]};
        if (rows * widths[w] <= (gint64)1 << 31) orr_family_add(family, shapes, values);
      }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  const double n = (double)shape->at[2] * shape->at[3], size = shape->at[1] == 0 ? 4 : 2;
  const double beside = shape->at[0] == OP_ADAM ? 24 * n : 0;
  return (OrrShapeWork){.bytes = n * size * elements[shape->at[0]] + beside, .dtype = ORR_FP32};
}

const OrrMeasureFamily orr_family_memory = {
    .entry = {"memory",
              "Memory-bound kernels: norms, activations, softmax, embedding, Adam, permute, copy.",
              NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work};
