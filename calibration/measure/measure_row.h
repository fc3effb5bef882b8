/*
 * measure_row.h - one measured kernel and the conditions of its measurement: a row of table
 * kernel_sample.
 */
#pragma once

#include "calibration/measure/device_layer.h"
#include "sim/base/field.h"

typedef enum { ORR_VERIFIED_YES, ORR_VERIFIED_NO, ORR_VERIFIED_UNCHECKED } OrrVerified;

typedef struct {
  char *family, *shape; /* shape.h's text */
  double median_us, best_us, spread;
  gint64 repeats, calls;
  char *method, *setting;
  double flops, bytes;
  double watts, sm_clock_hz, memory_clock_hz, sustained_us, sustained_sm_clock_hz;
  gint64 throttle; /* NVML's clock event reasons; -1 unknown */
  gint64 sustained_throttle, sustained_gpus;
  int verified; /* OrrVerified */
  double max_error;
  char *device, *driver, *runtime, *blas, *dnn, *ccl;
  gint64 n_ranks;
  double sm_clock_limit_hz, power_limit_watts;
  gint64 harness; /* ORR_MEASURE_HARNESS when it was measured */
  char *date;     /* UTC, ISO 8601 */
} OrrMeasureRow;

extern const OrrFieldTable orr_measure_row_table;

/* Version of the measuring method. A change that moves times increments it, and older rows are
 * measured again.
 *   0  events on an idle stream; operands counted whole; fp8 without fast accumulation
 *   1  held streams, sets by the bytes that are touched, fp8 as Transformer Engine accumulates, the
 *      fullest rank of a
 *      skewed layer, power over a window
 *   2  bursts with pauses, at the clock of a cool board; the clock of the timing, not the
 *      window's; sustained times apart, after 1.5 s
 *   3  sustained times with all GPUs of the process busy
 *   4  interference watches either side, of a board that cools between repeats */
enum { ORR_MEASURE_HARNESS = 4 };

/* A requested kernel that could not be measured: a row of table kernel_refusal. */
typedef struct {
  char *family, *shape;
  gint64 rank; /* the rank that reported it first */
  int ends_job;
  char *reason, *device, *driver, *date;
} OrrMeasureRefusal;

extern const OrrFieldTable orr_measure_refusal_table;

/* Copies what it needs; clear with orr_field_clear(&orr_measure_refusal_table, refusal). */
void orr_measure_refusal_init(OrrMeasureRefusal *refusal, const OrrShape *shape,
                              const OrrJobWord *word, const OrrBenchFacts *facts, const char *date);

/* Copies what it needs; clear with orr_field_clear(&orr_measure_row_table, row). */
void orr_measure_row_init(OrrMeasureRow *row, const OrrShape *shape, const OrrShapeWork *work,
                          const OrrBenchFacts *facts, const OrrTiming *timing,
                          const OrrVerdict *verdict, const char *date);

/* TRUE if @row was measured on the same device with the same driver, libraries, clock and power
 * limit, number of ranks and method: it need not be measured again. */
gboolean orr_measure_row_is_of(const OrrMeasureRow *row, const OrrBenchFacts *facts);

/* Whether the row's time may be used: its result was not wrong, and the stream was held. An unheld
 * repeat includes the time in which the host posted it: 20 ms where neighbours take 12 us. */
gboolean orr_measure_row_counts(const OrrMeasureRow *row);

/* Whether the row is of a method that has been replaced: families may no longer have its shape. */
static inline gboolean orr_measure_row_is_outdated(const OrrMeasureRow *row) {
  return row->harness < ORR_MEASURE_HARNESS;
}

/* "h200-sxm" of "NVIDIA H200", where the name is one that the shipped devices have; else the
 * name in kebab-case. Newly allocated. */
char *orr_measure_row_device_name(const char *device);
/* Whether a shipped device has that name. */
gboolean orr_measure_row_device_is_shipped(const char *device);

/* measure_export.c: measured rows as CSV files, with the columns that `orrery import measured`
 * reads.
 *
 *   gemm.csv                          gemm_dtype,m,n,k,latency_us              forward, unbatched
 *   attention_prefill.csv, attention_decode.csv, moe_ffn.csv
 *                                     as NVIDIA aiconfigurator's collector
 *   collectives.csv                   system,table,dtype,version,op,n_gpus,bytes,latency_us
 *   FAMILY.csv                        the family's own columns, then latency_us: all that has no
 *                                     place above
 *
 * Each file begins with a '#' line: device, software, source. If several rows have the same shape,
 * the newest is exported. Rows that failed verification are left out. */

typedef struct {
  char *file, *text;
  guint n_rows;
} OrrExportFile;

/* A GPtrArray of OrrExportFile, sorted by name, with rows in the order of their shapes. @rows:
 * OrrMeasureRow of one device, oldest first. NULL with ORR_FAULT_DOCUMENT if rows belong to
 * different devices or have an invalid shape. */
GPtrArray *orr_measure_export(const GArray *rows, GError **error);
