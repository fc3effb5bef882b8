/*
 * family_collective.c - NCCL's collectives over all GPUs of the job and, in fp16, over its first 2,
 * 4, 8 ... alone, since latency per step is the slope over the number of ranks.
 *
 * One process uses all its visible GPUs; under Slurm or mpirun each process has one GPU, and NCCL's
 * id is passed through a shared file. Sizes are nccl-tests': `bytes` is the whole buffer
 * (all-gather: the gathered buffer; all-to-all: what a rank sends, including to itself; send-recv:
 * one message from each rank to the next). Calls follow one another in a stream, 20 per repeat as
 * in nccl-tests, all posted before the first begins (cuda_collective.c). The time is of one call on
 * the slowest GPU. Out of place. Reductions sum, in fp16, bf16, fp32 and fp8 (e4m3); operations
 * that only copy are measured in fp16, the all-to-all of experts also in fp8.
 *
 * Exported to collectives.csv: the columns of NVIDIA aiconfigurator's nccl_perf table.
 */
#include "calibration/measure/family.h"

static const char *const ops[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast",
                                  "reduce",     "all-to-all", "send-recv",      NULL};
static const char *const dtypes[] = {"fp32", "fp16", "bf16", "fp8", NULL};
enum { FP32, FP16, BF16, FP8 };
enum { ALL_REDUCE = 0, REDUCE_SCATTER = 2, REDUCE = 4, ALL_TO_ALL = 5 };
static const OrrShapeColumn columns[] = {{"op", ops, TRUE},
                                         {"dtype", dtypes, TRUE},
                                         {"ranks", NULL, TRUE},
                                         {"bytes", NULL, FALSE},
                                         {NULL, NULL, FALSE}};

/* Operations that only copy take the same time in any format. */
static gboolean is_there(int op, int dtype, const OrrBenchFacts *facts) {
  const gboolean adds = op == ALL_REDUCE || op == REDUCE_SCATTER || op == REDUCE;
  if (dtype == FP8) return (adds || op == ALL_TO_ALL) && facts->adds_fp8;
  return adds || dtype == FP16;
}

static void plan_ranks(const OrrMeasureFamily *family, const OrrBenchFacts *facts, int dtype,
                       gint64 ranks, GArray *shapes) {
  for (int op = 0; ops[op]; op++)
    for (gint64 bytes = 1024; bytes <= (gint64)1 << 33 && is_there(op, dtype, facts); bytes *= 2) {
      const gint64 values[] = {op, dtype, ranks, bytes};
      orr_family_add(family, shapes, values);
    }
}

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  static const int order[] = {FP16, BF16, FP32, FP8}; /* a profile's rows are fp16 */
  for (guint i = 0; i < G_N_ELEMENTS(order); i++) {
    plan_ranks(family, facts, order[i], facts->n_ranks, shapes);
    for (gint64 ranks = 2; order[i] == FP16 && ranks < facts->n_ranks; ranks *= 2)
      plan_ranks(family, facts, FP16, ranks, shapes);
  }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  const double n = shape->at[2], bytes = shape->at[3];
  const double share[] = {2 * (n - 1) / n, (n - 1) / n, (n - 1) / n, 1, 1, (n - 1) / n, 1};
  return (OrrShapeWork){
      .bytes = bytes * share[shape->at[0]], .dtype = ORR_FP32, .bytes_per_s = 2e11};
}

static gboolean line(const OrrShape *shape, const OrrMeasureRow *row, GString *text) {
  static const char *const op_words[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                         "reduce",     "alltoall",   "sendrecv"};
  static const char *const dtype_words[] = {"float", "half", "bfloat16", "fp8"};
  g_autofree char *system = orr_measure_row_device_name(row->device);
  g_string_append_printf(text, "%s,nccl_perf,%s,%s,%s,%d,%ld,%.6g\n", system,
                         dtype_words[shape->at[1]], row->ccl, op_words[shape->at[0]],
                         (int)shape->at[2], shape->at[3], row->median_us);
  return TRUE;
}

static const OrrMeasureTable tables[] = {
    {"collectives.csv", "system,table,dtype,version,op,n_gpus,bytes,latency_us", line},
    {NULL, NULL, NULL}};

const OrrMeasureFamily orr_family_collective = {
    .entry =
        {"collective",
         "NCCL or RCCL over all GPUs of the job: seven collectives, four formats, 1 KiB to 8 GiB.",
         NULL},
    .columns = columns,
    .min_gpus = 2,
    .skipped_name = "collectives",
    .plan = plan,
    .work = work,
    .tables = tables};
