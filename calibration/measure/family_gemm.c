/*
 * family_gemm.c - dense matrix products through cuBLASLt: out[m,n] = sum over k, row-major, `batch`
 * of them.
 *
 *   forward   x[m,k] w[n,k]^T     y  = x w^T       m tokens, n outputs, k inputs
 *   dgrad     x[m,k] w[k,n]       dx = dy w        m tokens, n inputs, k outputs
 *   wgrad     x[k,m]^T w[k,n]     dw = dy^T x      m outputs, n inputs, k tokens
 *
 * m, n and k are the product's own: a layer with weight w[N,K] on M tokens needs forward
 * m=M n=N k=K, dgrad m=M n=K k=N, wgrad m=N n=K k=M. fp8 is e4m3 with one scale per tensor; mxfp8
 * and nvfp4 have one scale per 32 and 16 elements (OCP MX 1.0; sm_100 on). Backward products follow
 * Transformer Engine: for fp8 the gradient dy is e5m2 (its HYBRID recipe), for mxfp8 and nvfp4 it
 * has the format of the others. Up to sm_90, and for nvfp4 everywhere, tensor cores require both
 * operands with k innermost. Frameworks then keep a transposed copy, which is what is measured; the
 * time does not include making the copy. Where tensor cores take any layout (fp8 and mxfp8 on
 * sm_100), operands are laid out as above. Results are 16-bit for these formats, otherwise in the
 * operands' format. fp8 and mxfp8 use fast accumulation in forward products but not in backward
 * ones, as Transformer Engine does (accumulation.h); the row's setting states it.
 *
 * FLOPs 2 batch m n k; bytes: each operand and the result once. Exported to gemm.csv, which names
 * each row's release of cuBLASLt.
 */
#include "calibration/measure/family.h"

static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4", NULL};
static const char *const layouts[] = {"forward", "dgrad", "wgrad", NULL};
enum { FP32, TF32, FP16, BF16, FP8, MXFP8, NVFP4 };

static const OrrShapeColumn columns[] = {
    {"dtype", dtypes, TRUE}, {"layout", layouts, TRUE}, {"batch", NULL, TRUE}, {"m", NULL, FALSE},
    {"n", NULL, FALSE},      {"k", NULL, FALSE},        {NULL, NULL, FALSE}};

/* Token counts, including those just above and below tiles of 64, 128 and 256, where the waves
 * step. */
static const gint64 rows[] = {1,    4,    16,   32,   64,   96,    128,   129,
                              192,  256,  320,  384,  512,  640,   768,   1024,
                              1536, 2048, 3072, 4096, 8192, 16384, 32768, 65536};
/* Hidden sizes, their quarters to eighths under tensor parallelism, and MLP widths. */
static const gint64 widths[] = {256,  512,  1024, 1536,  2048,  3072, 4096,
                                5120, 7168, 8192, 12288, 16384, 28672};

static const gint64 batches[] = {8, 32, 128};
static const gint64 batched_rows[] = {16, 64, 128, 256, 512, 1024, 2048};
static const gint64 batched_widths[] = {64, 128, 256, 512, 1024, 2048};

static gboolean is_there(int dtype, const OrrBenchFacts *facts) {
  if (dtype == FP8) return facts->flops[ORR_FP8] > 0;
  if (dtype == MXFP8 || dtype == NVFP4) return facts->scales_blocks;
  return TRUE;
}

static void plan_products(const OrrMeasureFamily *family, GArray *shapes, int dtype, int layout) {
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    for (guint j = 0; j < G_N_ELEMENTS(widths); j++)
      for (guint l = 0; l < G_N_ELEMENTS(widths); l++) {
        const gint64 forward[] = {dtype, layout, 1, rows[i], widths[j], widths[l]};
        const gint64 weight[] = {dtype, layout, 1, widths[j], widths[l], rows[i]};
        if (layout != 2)
          orr_family_add(family, shapes, forward);
        else if (rows[i] >= 16) /* k is the number of tokens there */
          orr_family_add(family, shapes, weight);
      }
}

static void plan_batched(const OrrMeasureFamily *family, GArray *shapes, int dtype, gint64 batch) {
  for (guint i = 0; i < G_N_ELEMENTS(batched_rows); i++)
    for (guint j = 0; j < G_N_ELEMENTS(batched_widths); j++)
      for (guint l = 0; l < G_N_ELEMENTS(batched_widths); l++) {
        const gint64 values[] = {
            dtype, 0, batch, batched_rows[i], batched_widths[j], batched_widths[l]};
        orr_family_add(family, shapes, values);
      }
}

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  static const int order[] = {BF16, FP8,  NVFP4, MXFP8,
                              FP16, TF32, FP32}; /* the most used formats first */
  for (guint i = 0; i < G_N_ELEMENTS(order); i++) {
    if (!is_there(order[i], facts)) continue;
    for (int layout = 0; layout < 3; layout++) plan_products(family, shapes, order[i], layout);
    for (guint b = 0; order[i] == BF16 && b < G_N_ELEMENTS(batches); b++)
      plan_batched(family, shapes, order[i], batches[b]);
  }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  static const OrrDtype peaks[] = {ORR_FP32, ORR_TF32, ORR_FP16, ORR_BF16,
                                   ORR_FP8,  ORR_FP8,  ORR_FP4};
  const OrrDtype dtype = peaks[shape->at[0]];
  const double batch = shape->at[2], m = shape->at[3], n = shape->at[4], k = shape->at[5];
  const double out = dtype == ORR_FP8 || dtype == ORR_FP4 ? 2 : orr_dtype_bytes(dtype);
  return (OrrShapeWork){.flops = 2 * batch * m * n * k,
                        .bytes = batch * ((m * k + n * k) * orr_dtype_bytes(dtype) + m * n * out),
                        .dtype = dtype};
}

/* Formats that `orrery import measured` reads. mxfp8 is a different kernel than fp8 and has no
 * word there. */
static gboolean line(const OrrShape *shape, const OrrMeasureRow *row, GString *text) {
  static const char *const words[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL, "fp4"};
  const char *dtype = words[shape->at[0]];
  const char *release = row->blas && *row->blas ? row->blas : NULL;
  if (!dtype) return FALSE;
  g_string_append_printf(text, "%s,%ld,%ld,%ld,%s,%ld,%s%s,%.6g\n", dtype, shape->at[3],
                         shape->at[4], shape->at[5], layouts[shape->at[1]], shape->at[2],
                         release ? "cublas-" : "", release ? release : "", row->median_us);
  return TRUE;
}

static const OrrMeasureTable tables[] = {
    {"gemm.csv", "gemm_dtype,m,n,k,layout,batch,release,latency_us", line}, {NULL, NULL, NULL}};

const OrrMeasureFamily orr_family_gemm = {
    .entry = {"gemm",
              "Matrix products through cuBLASLt or hipBLASLt: seven formats; forward, dgrad, "
              "wgrad; batched.",
              NULL},
    .columns = columns,
    .min_gpus = 1,
    .plan = plan,
    .work = work,
    .tables = tables,
    .by_release = TRUE};
