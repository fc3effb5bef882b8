/*
 * device_layer.h - the interface between measurements and the device that runs them.
 *
 * It has two implementations: the layer of real GPUs (cuda/, built if a toolkit is present: CUDA's,
 * or with -Dhip=enabled ROCm's), and `fake` (fake_layer.c), an analytic device with its own clock,
 * which tests plans, budgets, resumption and exports without a GPU.
 *
 * A measurement runs prepare (allocate, fill with random data, choose an algorithm), time (warm up,
 * repeat over rotated buffers), verify (compare a sample with a double-precision reference),
 * release. One kernel is measured at a time.
 *
 * Errors: ORR_FAULT_USAGE from prepare means that this device or library lacks such a kernel, or
 * the memory for it: the shape is skipped. Any other error ends the session, because a GPU's
 * errors are sticky.
 */
#pragma once

#include "calibration/measure/doctor.h"
#include "calibration/measure/shape.h"
#include "sim/base/dtype.h"

/* The device and its software, as found. The struct owns the texts. */
typedef struct {
  char *device, *driver;
  /* Versions of the runtime and of the libraries of products, attention and collectives; "" if one
   * was not found. */
  char *runtime, *blas, *dnn, *ccl;
  gint64 sms, architecture; /* the number in its name: 90 for sm_90, 942 for gfx942 */
  gint64 n_gpus;            /* GPUs of this process; they reach each other */
  gint64 n_ranks, rank;     /* GPUs of the whole job, and the first one of this process */
  double memory_bytes, memory_bytes_per_s, l2_bytes;
  double sm_clock_limit_hz, memory_clock_limit_hz; /* current limits of the board */
  double power_limit_watts;                        /* NAN without NVML */
  double flops[ORR_N_DTYPES]; /* dense peaks by architecture, SMs and clock; 0: no such format */
  gboolean scales_blocks;     /* products of formats with a scale for each block: mxfp8, nvfp4 */
  gboolean adds_fp8;          /* collectives sum 8-bit numbers */
} OrrBenchFacts;

void orr_bench_facts_clear(OrrBenchFacts *facts);

typedef struct {
  double flops, bytes; /* of one call */
  OrrDtype dtype;      /* the format whose peak rate applies */
  double bytes_per_s;  /* the rate for the bytes; 0: the device's memory */
} OrrShapeWork;

typedef struct {
  double warm_up_s, burst_s; /* minimum duration of each */
  guint min_repeats, max_repeats;
  double settle_s,
      /* how long power is watched after the timing (power_window.h); watch_s 0: not at all */
      watch_s;
} OrrTimingRule;

typedef struct {
  double median_us, best_us; /* of one call */
  double spread;             /* (90th - 10th percentile) / median over the repeats */
  guint repeats, calls;      /* number of repeats, and calls per repeat */
  const char *method;        /* as measure_row.c describes it */
  /* NAN if unknown. Clocks: during the timing. Sustained: of one call, and the clock of the SMs,
   * while the board's power has settled. */
  double watts, sm_clock_hz, memory_clock_hz, sustained_us, sustained_sm_clock_hz;
  gint64 throttle;           /* NVML's clock event reasons during the timing; -1 unknown */
  gint64 sustained_throttle; /* likewise while the power had settled */
  gint64 sustained_gpus;     /* GPUs busy meanwhile, this one included; 0: not watched */
  char setting[64];          /* words separated by blanks, see measure_row.c; often "" */
} OrrTiming;

/* The state of the board at one moment, for a report; NAN or -1 if unknown. */
typedef struct {
  double watts, sm_clock_hz, memory_clock_hz, celsius;
  gint64 throttle;    /* NVML's clock event reasons, one bit each; 1: idle */
  gint64 n_processes; /* processes with a context on the device, this one included */
  int persistence, ecc;
} OrrBenchState;

typedef struct {
  guint n_samples;         /* 0: no sample was checked */
  double max_error, limit; /* largest |found - reference| / scale, and the limit for the format */
} OrrVerdict;

/* The state of the ranks of a job. */
typedef struct {
  gint64 rank; /* the rank with the gravest failure; -1: none */
  gboolean ends_job;
  char reason[256]; /* truncated at a character boundary */
} OrrJobWord;

/* Makes the word of @rank with that reason. */
OrrJobWord orr_job_word(gint64 rank, const char *reason, gboolean ends_job);

typedef struct OrrBench OrrBench;   /* an open device */
typedef struct OrrKernel OrrKernel; /* prepared work on it */

typedef struct {
  const char *name;
  /* Reads what the driver says of all GPUs (doctor.h) into empty @facts. ORR_FAULT_RESOURCE: there
   * is no driver, or no GPU. */
  gboolean (*examine)(OrrDoctorFacts *facts, GError **error);
  OrrBench *(*open)(int ordinal, GError **error);
  void (*close)(OrrBench *bench);
  const OrrBenchFacts *(*facts)(const OrrBench *bench);
  OrrBenchState (*state)(OrrBench *bench);
  double (*clock_s)(OrrBench *bench); /* seconds since it was opened; budgets are spent in this
                                       * time */
  OrrKernel *(*prepare)(OrrBench *bench, const OrrShape *shape, GError **error);
  gboolean (*time)(OrrKernel *kernel, const OrrTimingRule *rule, OrrTiming *ret_timing,
                   GError **error);
  gboolean (*verify)(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error);
  void (*release)(OrrKernel *kernel);
  /* Gives all ranks of a job rank 0's number: they must all measure the same collective next. */
  gboolean (*agree)(OrrBench *bench, gint64 *number, GError **error);
  /* All ranks of a job report before they continue together: @mine is NULL or the reason why this
   * rank cannot continue, and @mine_ends_job whether then no rank can. All ranks get the same
   * @ret_word, from the rank with the gravest failure. In a job of one it is this rank's own. */
  gboolean (*settle)(OrrBench *bench, const char *mine, gboolean mine_ends_job,
                     OrrJobWord *ret_word, GError **error);
  /* Call if this rank fails during a joint operation: it aborts calls in flight and reports the
   * reason to the others, so that none waits for it. Afterwards the bench can only be closed. */
  void (*fail)(OrrBench *bench, const char *reason);
} OrrDeviceLayer;

extern const OrrDeviceLayer orr_fake_layer;

/* The layer of real GPUs; NULL with ORR_FAULT_RESOURCE that says what is missing if Orrery was
 * built without one. */
const OrrDeviceLayer *orr_device_layer_find(GError **error);
