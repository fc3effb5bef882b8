/*
 * device_layer.h - the seam between what is measured and what it is measured on.
 *
 * Two implementations: `cuda` (cuda/, built where the toolkit is) and `fake` (fake_layer.c), an
 * analytic device with a clock of its own, so that plans, budgets, resumption and exports are
 * tested where there is no GPU.
 *
 * Life of a measurement: prepare (allocate, fill with random data, pick an algorithm), time (warm
 * up, repeat over rotated buffers), verify (a sample against a double-precision reference),
 * release. One kernel at a time.
 *
 * Errors: ORR_FAULT_USAGE from prepare says that this device or library has no such kernel, or no
 * memory for it: the shape is passed over. Anything else ends the session: a CUDA error is sticky.
 */
#ifndef ORR_DEVICE_LAYER_H
#define ORR_DEVICE_LAYER_H

#include "calibration/measure/shape.h"
#include "sim/base/dtype.h"

G_BEGIN_DECLS

/* The device and the software it runs with, as they were found. Texts are owned. */
typedef struct {
  char *device, *driver, *cuda, *cublas, *cudnn,
      *nccl;                      /* versions; "" where a library was not found */
  gint64 sms, compute_capability; /* 90: sm_90 */
  gint64 n_gpus;                  /* of this process, peers that can be reached */
  gint64 n_ranks, rank;           /* GPUs of the whole job, and the first of this process */
  double memory_bytes, memory_bytes_per_s, l2_bytes;
  double sm_clock_limit_hz, memory_clock_limit_hz; /* most that the board allows now */
  double power_limit_watts;                        /* NAN: NVML was not found */
  double flops[ORR_N_DTYPES]; /* dense peaks by architecture, SMs and clock; 0: no such format */
} OrrBenchFacts;

void orr_bench_facts_clear(OrrBenchFacts *facts);

typedef struct {
  double flops, bytes; /* of one call */
  OrrDtype dtype;      /* whose peak bounds it */
  double bytes_per_s;  /* what bounds the bytes; 0: the device's memory */
} OrrShapeWork;

typedef struct {
  double warm_up_s, burst_s; /* at least that long each */
  guint min_repeats, max_repeats;
  double settle_s,
      /* power is watched that long after the timing (power_window.h); watch_s 0: it is not */
      watch_s;
} OrrTimingRule;

typedef struct {
  double median_us, best_us; /* of one call */
  double spread;             /* (90th - 10th percentile) / median over the repeats */
  guint repeats, calls;      /* repeats, and calls a repeat */
  const char *method;        /* as measure_row.c describes it */
  double watts, sm_clock_hz, memory_clock_hz; /* NAN where unknown */
  char setting[64]; /* words with blanks between: see measure_row.c; often "" */
} OrrTiming;

/* The board at one moment, for a report; NAN or -1 where unknown. */
typedef struct {
  double watts, sm_clock_hz, memory_clock_hz, celsius;
  gint64 throttle;    /* NVML's clock event reasons, a bit each; 1: idle */
  gint64 n_processes; /* with a context on the device, this one included */
  int persistence, ecc;
} OrrBenchState;

typedef struct {
  guint n_samples;         /* 0: there is nothing to check */
  double max_error, limit; /* of |found - reference| / scale; what the format allows */
} OrrVerdict;

/* How the ranks of a job are. */
typedef struct {
  gint64 rank; /* that is worst off; -1: all are well */
  gboolean ends_job;
  char reason[256]; /* cut off at a character's end */
} OrrJobWord;

/* The word of @rank with that reason. */
OrrJobWord orr_job_word(gint64 rank, const char *reason, gboolean ends_job);

typedef struct OrrBench OrrBench;   /* an open device */
typedef struct OrrKernel OrrKernel; /* prepared work on it */

typedef struct {
  const char *name;
  OrrBench *(*open)(int ordinal, GError **error);
  void (*close)(OrrBench *bench);
  const OrrBenchFacts *(*facts)(const OrrBench *bench);
  OrrBenchState (*state)(OrrBench *bench);
  double (*clock_s)(OrrBench *bench); /* seconds since it was opened: what a budget is spent of */
  OrrKernel *(*prepare)(OrrBench *bench, const OrrShape *shape, GError **error);
  gboolean (*time)(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                   GError **error);
  gboolean (*verify)(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error);
  void (*release)(OrrKernel *kernel);
  /* All ranks of a job get rank 0's number: they must measure the same collective next. */
  gboolean (*agree)(OrrBench *bench, gint64 *number, GError **error);
  /* All ranks of a job say how it went before they go on together: @mine is NULL or why this
   * rank cannot, and @mine_ends_job whether nobody can. @ret_word gets the word of the rank that
   * is worst off, the same on all. In a job of one it is this one's. */
  gboolean (*settle)(OrrBench *bench, const char *mine, gboolean mine_ends_job,
                     OrrJobWord *ret_word, GError **error);
  /* This rank has failed amid what all do together: calls in flight are given up, and the others
   * are told why, so that none waits for it. The bench can be closed then, and nothing else. */
  void (*fail)(OrrBench *bench, const char *reason);
} OrrDeviceLayer;

extern const OrrDeviceLayer orr_fake_layer;

/* The GPU's layer; NULL with ORR_FAULT_RESOURCE, which says what is missing, where Orrery was
 * built without CUDA. */
const OrrDeviceLayer *orr_cuda_layer_find(GError **error);

G_END_DECLS

#endif
