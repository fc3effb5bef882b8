/*
 * family_interference.c - the slow-down of a matrix product (bf16, forward) by a concurrent
 * transfer, and of the transfer by the product.
 *
 * `beside` names the work that runs on a second stream, without a gap, while the product is
 * measured. `watch` selects the time of the row: the product's, the time of one transfer of
 * `bytes`, or of the same transfer with nothing concurrent (alone; m, n and k are 0). A product's
 * slow-down is the ratio to its row with beside=nothing, a transfer's the ratio to its row `alone`.
 * `orrery calibrate fit` computes overlap-slowdown from the all-reduces' rows (fit_overlap.c).
 *
 * Exported to interference.csv with these columns.
 */
#include "calibration/measure/family.h"

static const char *const besides[] = {"nothing", "host-to-device", "device-to-host",
                                      "device",  "all-reduce",     NULL};
enum { NOTHING, DEVICE = 3, ALL_REDUCE };
static const char *const watches[] = {"gemm", "transfer", "alone", NULL};

enum { GEMM, TRANSFER, ALONE };

static const OrrShapeColumn columns[] = {
    {"beside", besides, TRUE}, {"watch", watches, TRUE}, {"bytes", NULL, TRUE}, {"m", NULL, FALSE},
    {"n", NULL, FALSE},        {"k", NULL, FALSE},       {NULL, NULL, FALSE}};

static const gint64 products[][3] = {{1024, 4096, 4096},  {2048, 8192, 2048}, {4096, 4096, 4096},
                                     {4096, 12288, 4096}, {8192, 8192, 8192}, {8192, 2048, 8192},
                                     {8192, 28672, 8192}, {16384, 4096, 1024}};

static void add_products(const OrrMeasureFamily *family, GArray *shapes, int beside, int watch,
                         gint64 bytes) {
  for (guint p = 0; p < G_N_ELEMENTS(products); p++) {
    const gint64 values[] = {beside, watch, bytes, products[p][0], products[p][1], products[p][2]};
    orr_family_add(family, shapes, values);
  }
}

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  add_products(family, shapes, NOTHING, GEMM, 0);
  for (int beside = NOTHING + 1; besides[beside] && (beside != ALL_REDUCE || facts->n_gpus > 1);
       beside++)
    for (gint64 bytes = (gint64)1 << 24; bytes <= (gint64)1 << 28; bytes *= 16) {
      const gint64 alone[] = {beside, ALONE, bytes, 0, 0, 0};
      orr_family_add(family, shapes, alone);
      add_products(family, shapes, beside, GEMM, bytes);
      add_products(family, shapes, beside, TRANSFER, bytes);
    }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  (void)facts;
  const double m = shape->at[3], n = shape->at[4], k = shape->at[5];
  if (shape->at[1] != GEMM)
    return (OrrShapeWork){
        .bytes = shape->at[2], .dtype = ORR_FP32, .bytes_per_s = shape->at[0] == DEVICE ? 0 : 5e10};
  return (OrrShapeWork){
      .flops = 2 * m * n * k, .bytes = 2 * (m * k + n * k + m * n), .dtype = ORR_BF16};
}

const OrrMeasureFamily orr_family_interference = {
    .entry = {"interference",
              "A matrix product during a copy or an all-reduce: the slow-down of both.", NULL},
    .columns = columns,
    .min_gpus = 1,
    .skipped_name = "a matrix product during a collective",
    .plan = plan,
    .work = work};
