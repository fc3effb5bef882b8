/*
 * family_interference.c - how much two kernels or transfers on one GPU slow each other down.
 *
 * The time of a row is the watched one's, while the companion runs on a second stream without a
 * gap. A slow-down is the ratio to the row with the same watched one alone (companion nothing).
 * Watched and companion are: a matrix product (gemm: bf16, forward, m x n x k), a copy between host
 * and device by a copy engine, a copy within the device (memory bandwidth), and NCCL's all-reduce
 * over all GPUs of the process. Copies and all-reduces are of `bytes`.
 *
 *   watched, companion    nothing   gemm   copies   all-reduce
 *   gemm                     x        -       x          x
 *   copies                   x        x       -          x     (within the device: products only)
 *   all-reduce               x        x       x          -
 *
 * `blocks` is the most thread blocks of NCCL, one to a multiprocessor (maxCTAs); 0: as many as it
 * chooses. Few blocks leave more of the GPU to the product, and slow the all-reduce.
 *
 * Exported to interference.csv with these columns; `orrery calibrate fit` computes the factors from
 * them (fit_overlap.c).
 */
#include "calibration/measure/family.h"

static const char *const works[] = {"gemm",   "host-to-device", "device-to-host",
                                    "device", "all-reduce",     NULL};
static const char *const companions[] = {
    "nothing", "gemm", "host-to-device", "device-to-host", "device", "all-reduce", NULL};
enum { GEMM, TO_DEVICE, TO_HOST, WITHIN, ALL_REDUCE };

static const OrrShapeColumn columns[] = {{"watched", works, TRUE}, {"companion", companions, TRUE},
                                         {"bytes", NULL, TRUE},    {"blocks", NULL, TRUE},
                                         {"m", NULL, FALSE},       {"n", NULL, FALSE},
                                         {"k", NULL, FALSE},       {NULL, NULL, FALSE}};

static const gint64 products[][3] = {{1024, 4096, 4096},  {2048, 8192, 2048}, {4096, 4096, 4096},
                                     {4096, 12288, 4096}, {8192, 8192, 8192}, {8192, 2048, 8192},
                                     {8192, 28672, 8192}, {16384, 4096, 1024}};
enum { LARGE = 3 }; /* products[LARGE] and the next: for limited NCCL */

/* Two that run together, each watched in turn; -1 as @b: @a alone. */
static void add_pair(const OrrMeasureFamily *family, GArray *shapes, int a, int b, gint64 bytes,
                     gint64 blocks, const gint64 *product) {
  static const gint64 none[3];
  const gint64 *mnk = product ? product : none;
  const gint64 first[] = {a, b + 1, bytes, blocks, mnk[0], mnk[1], mnk[2]};
  const gint64 second[] = {b, a + 1, bytes, blocks, mnk[0], mnk[1], mnk[2]};
  orr_family_add(family, shapes, first);
  if (b >= 0) orr_family_add(family, shapes, second);
}

/* The transfer alone, and with products @from to @end. */
static void add_transfer(const OrrMeasureFamily *family, GArray *shapes, int transfer, gint64 bytes,
                         gint64 blocks, guint from, guint end) {
  add_pair(family, shapes, transfer, -1, bytes, blocks, NULL);
  for (guint p = from; p < end; p++)
    add_pair(family, shapes, GEMM, transfer, bytes, blocks, products[p]);
}

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  const guint n = G_N_ELEMENTS(products);
  const gint64 small = (gint64)1 << 24, large = (gint64)1 << 28;
  const int last = facts->n_gpus > 1 ? ALL_REDUCE : WITHIN;
  for (guint p = 0; p < n; p++) add_pair(family, shapes, GEMM, -1, 0, 0, products[p]);
  for (int transfer = TO_DEVICE; transfer <= last; transfer++) {
    add_transfer(family, shapes, transfer, small, 0, 0, n);
    add_transfer(family, shapes, transfer, large, 0, 0, n);
  }
  for (int copy = TO_DEVICE; copy <= TO_HOST && last == ALL_REDUCE; copy++) {
    add_pair(family, shapes, ALL_REDUCE, copy, small, 0, NULL);
    add_pair(family, shapes, ALL_REDUCE, copy, large, 0, NULL);
  }
  for (gint64 blocks = 4; blocks <= 16 && last == ALL_REDUCE; blocks *= 2)
    add_transfer(family, shapes, ALL_REDUCE, large, blocks, LARGE, LARGE + 2);
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  const double m = shape->at[4], n = shape->at[5], k = shape->at[6];
  if (shape->at[0] != GEMM)
    return (OrrShapeWork){
        .bytes = shape->at[2], .dtype = ORR_FP32, .bytes_per_s = shape->at[0] == WITHIN ? 0 : 5e10};
  return (OrrShapeWork){
      .flops = 2 * m * n * k, .bytes = 2 * (m * k + n * k + m * n), .dtype = ORR_BF16};
}

const OrrMeasureFamily orr_family_interference = {
    .entry = {"interference",
              "Products, copies and all-reduces two at a time: how much each slows the other.",
              NULL},
    .columns = columns,
    .min_gpus = 1,
    .skipped_name = "products and copies during a collective",
    .plan = plan,
    .work = work};
