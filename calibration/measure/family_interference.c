/*
 * family_interference.c - how much a matrix product (bf16, forward) slows down beside a transfer, and the transfer
 * beside it.
 *
 * `beside` is what runs on a second stream for as long as the product is measured, without a gap; `watch` says whose
 * time the row has: the product's, or one transfer's of `bytes`. The rows with beside=nothing and those of families
 * device-copy and collective are the same kernels alone; the ratio is the slow-down.
 */
#include "calibration/measure/family.h"

static const char *const besides[] = {"nothing", "host-to-device", "device-to-host", "device", "all-reduce", NULL};
enum { NOTHING, ALL_REDUCE = 4 };
static const char *const watches[] = {"gemm", "transfer", NULL};

static const OrrShapeColumn columns[] = {{"beside", besides, TRUE}, {"watch", watches, TRUE}, {"bytes", NULL, TRUE},
                                         {"m", NULL, FALSE},        {"n", NULL, FALSE},       {"k", NULL, FALSE},
                                         {NULL, NULL, FALSE}};

static const gint64 products[][3] = {{1024, 4096, 4096}, {2048, 8192, 2048}, {4096, 4096, 4096},  {4096, 12288, 4096},
                                     {8192, 8192, 8192}, {8192, 2048, 8192}, {8192, 28672, 8192}, {16384, 4096, 1024}};

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  for (int beside = 0; besides[beside] && (beside != ALL_REDUCE || facts->n_gpus > 1); beside++)
    for (int watch = 0; watch < (beside == NOTHING ? 1 : 2); watch++)
      for (gint64 bytes = beside == NOTHING ? 0 : (gint64)1 << 24; bytes <= (gint64)1 << 28; bytes *= 16) {
        for (guint p = 0; p < G_N_ELEMENTS(products); p++) {
          const gint64 values[] = {beside, watch, bytes, products[p][0], products[p][1], products[p][2]};
          orr_family_add(family, shapes, values);
        }
        if (beside == NOTHING) break;
      }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  (void)facts;
  const double m = shape->at[3], n = shape->at[4], k = shape->at[5];
  if (shape->at[1])
    return (OrrShapeWork){.bytes = shape->at[2], .dtype = ORR_FP32, .bytes_per_s = shape->at[0] == 3 ? 0 : 5e10};
  return (OrrShapeWork){.flops = 2 * m * n * k, .bytes = 2 * (m * k + n * k + m * n), .dtype = ORR_BF16};
}

const OrrMeasureFamily orr_family_interference = {
    .entry = {"interference", "A matrix product beside a copy or an all-reduce: the slow-down of both.", NULL},
    .columns = columns,
    .min_gpus = 1,
    .untold = "a matrix product beside a collective",
    .plan = plan,
    .work = work};
