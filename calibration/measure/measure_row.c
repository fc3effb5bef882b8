/*
 * measure_row.c - the columns of table kernel_sample, and the names of devices as drivers report
 * them.
 */
#include "calibration/measure/measure_row.h"

#include "calibration/measure/family.h"
#include "topologies/device_driver.h"

static const char *const verified_words[] = {"yes", "no", "unchecked", NULL};

const OrrFieldTable orr_measure_row_table = ORR_FIELDS(
    "kernel_sample", "One row per measured microkernel.", OrrMeasureRow,
    ORR_COLUMN_TEXT(OrrMeasureRow, "family", family, "Family of microkernels."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "shape", shape,
                    "Its shape: each column of the family as key=value."),
    ORR_COLUMN_REAL(OrrMeasureRow, "median-us", median_us, ORR_UNIT_NONE,
                    "Time of one call in microseconds, median over the repeats."),
    ORR_COLUMN_REAL(OrrMeasureRow, "best-us", best_us, ORR_UNIT_NONE,
                    "Time of one call in the fastest repeat, in microseconds."),
    ORR_COLUMN_REAL(
        OrrMeasureRow, "spread", spread, ORR_UNIT_FRACTION,
        "Difference between the 90th and the 10th percentile, as a fraction of the median."),
    ORR_COLUMN_INT(OrrMeasureRow, "repeats", repeats, "Timed repeats."),
    ORR_COLUMN_INT(OrrMeasureRow, "calls", calls, "Calls per repeat."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "method", method,
                    "graph: calls replayed from a CUDA graph; stream: launched one by one on a "
                    "stream that is held until all are posted; unheld: likewise, but the device "
                    "did not wait, so the time may include the host's; host: a wall clock."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "setting", setting,
                    "Variant, if there is a choice: fast-accumulation or full-accumulation (fp8 "
                    "products), warm-l2 (operands too small to leave the L2 cache between calls)."),
    ORR_COLUMN_REAL(OrrMeasureRow, "flops", flops, ORR_UNIT_NONE, "FLOPs of one call."),
    ORR_COLUMN_REAL(OrrMeasureRow, "bytes", bytes, ORR_UNIT_BYTES,
                    "Least bytes that one call must move."),
    ORR_COLUMN_REAL(
        OrrMeasureRow, "watts", watts, ORR_UNIT_WATTS,
        "Board power, mean over half a second after it has settled; for one row in eight."),
    ORR_COLUMN_REAL(OrrMeasureRow, "sm-clock-hz", sm_clock_hz, ORR_UNIT_HERTZ,
                    "Clock of the SMs during the timing (harness 1: over the time of watts)."),
    ORR_COLUMN_REAL(OrrMeasureRow, "memory-clock-hz", memory_clock_hz, ORR_UNIT_HERTZ,
                    "Clock of the memory, likewise."),
    ORR_COLUMN_REAL(OrrMeasureRow, "sustained-us", sustained_us, ORR_UNIT_NONE,
                    "Time of one call in microseconds over the time of watts, when the board has "
                    "settled at its power limit; the median is of a cool board."),
    ORR_COLUMN_REAL(OrrMeasureRow, "sustained-sm-clock-hz", sustained_sm_clock_hz, ORR_UNIT_HERTZ,
                    "Clock of the SMs over that time."),
    ORR_COLUMN_INT(OrrMeasureRow, "throttle", throttle,
                   "Why the clocks were below their maximum during the timing: NVML's clock event "
                   "reasons, one bit each (4: power limit, 0x20 and 0x40: heat); -1: unknown."),
    ORR_COLUMN_INT(OrrMeasureRow, "sustained-throttle", sustained_throttle,
                   "The reasons over the time of watts; -1: unknown."),
    ORR_COLUMN_INT(OrrMeasureRow, "sustained-gpus", sustained_gpus,
                   "GPUs that were busy over that time, this one included; 0: not watched."),
    ORR_COLUMN_WORD(OrrMeasureRow, "verified", verified, verified_words,
                    "Whether a sample of the output equals a double-precision reference; "
                    "unchecked: no reference."),
    ORR_COLUMN_REAL(OrrMeasureRow, "max-error", max_error, ORR_UNIT_NONE,
                    "Largest error of the sample, relative to the output's scale."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "device", device, "The driver's name of the device."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "driver", driver, "Version of the driver."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "runtime", runtime, "Version of the GPUs' runtime: CUDA, HIP."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "blas", blas,
                    "Version of the library of products: cuBLASLt, hipBLASLt."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "dnn", dnn, "Version of the library of attention: cuDNN."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "ccl", ccl,
                    "Version of the library of collectives: NCCL, RCCL."),
    ORR_COLUMN_INT(OrrMeasureRow, "n-ranks", n_ranks, "GPUs of the job."),
    ORR_COLUMN_REAL(OrrMeasureRow, "sm-clock-limit-hz", sm_clock_limit_hz, ORR_UNIT_HERTZ,
                    "Limit of the SMs' clock."),
    ORR_COLUMN_REAL(OrrMeasureRow, "power-limit-watts", power_limit_watts, ORR_UNIT_WATTS,
                    "The board's power limit."),
    ORR_COLUMN_INT(OrrMeasureRow, "harness", harness,
                   "Version of the measuring method; rows of an older version are measured again."),
    ORR_COLUMN_TEXT(OrrMeasureRow, "date", date, "Start of the calibration (UTC, ISO 8601)."));

const OrrFieldTable orr_measure_refusal_table = ORR_FIELDS(
    "kernel_refusal", "One row per requested microkernel that could not be measured.",
    OrrMeasureRefusal,
    ORR_FIELD_TEXT(OrrMeasureRefusal, "family", family, NULL, "Family of microkernels."),
    ORR_FIELD_TEXT(OrrMeasureRefusal, "shape", shape, NULL,
                   "Its shape: each column of the family as key=value."),
    ORR_FIELD_INT(OrrMeasureRefusal, "rank", rank, NULL,
                  "The rank that failed, in a job of several; otherwise 0."),
    ORR_FIELD_BOOL(OrrMeasureRefusal, "ends-job", ends_job, NULL,
                   "Whether the failure ended the job."),
    ORR_FIELD_TEXT(OrrMeasureRefusal, "reason", reason, NULL, "Why it was not measured."),
    ORR_FIELD_TEXT(OrrMeasureRefusal, "device", device, NULL, "The driver's name of the device."),
    ORR_FIELD_TEXT(OrrMeasureRefusal, "driver", driver, NULL, "Version of the driver."),
    ORR_FIELD_TEXT(OrrMeasureRefusal, "date", date, NULL,
                   "Start of the calibration (UTC, ISO 8601)."));

void orr_measure_refusal_init(OrrMeasureRefusal *refusal, const OrrShape *shape,
                              const OrrJobWord *word, const OrrBenchFacts *facts,
                              const char *date) {
  *refusal = (OrrMeasureRefusal){.family = g_strdup(shape->family->entry.name),
                                 .shape = orr_shape_text(shape),
                                 .rank = word->rank,
                                 .ends_job = word->ends_job,
                                 .reason = g_strdup(word->reason),
                                 .device = g_strdup(facts->device),
                                 .driver = g_strdup(facts->driver),
                                 .date = g_strdup(date)};
}

static int verified_of(const OrrVerdict *verdict) {
  if (!verdict || verdict->n_samples == 0) return ORR_VERIFIED_UNCHECKED;
  return verdict->max_error <= verdict->limit ? ORR_VERIFIED_YES : ORR_VERIFIED_NO; /* NaN: no */
}

void orr_measure_row_init(OrrMeasureRow *row, const OrrShape *shape, const OrrShapeWork *work,
                          const OrrBenchFacts *facts, const OrrTiming *timing,
                          const OrrVerdict *verdict, const char *date) {
  *row = (OrrMeasureRow){
      .family = g_strdup(shape->family->entry.name),
      .shape = orr_shape_text(shape),
      .median_us = timing->median_us,
      .best_us = timing->best_us,
      .spread = timing->spread,
      .repeats = timing->repeats,
      .calls = timing->calls,
      .method = g_strdup(timing->method),
      .setting = g_strdup(timing->setting),
      .flops = work->flops,
      .bytes = work->bytes,
      .watts = timing->watts,
      .sm_clock_hz = timing->sm_clock_hz,
      .memory_clock_hz = timing->memory_clock_hz,
      .sustained_us = timing->sustained_us,
      .sustained_sm_clock_hz = timing->sustained_sm_clock_hz,
      .throttle = timing->throttle,
      .sustained_throttle = timing->sustained_throttle,
      .sustained_gpus = timing->sustained_gpus,
      .verified = verified_of(verdict),
      .max_error = verdict && verdict->n_samples ? verdict->max_error : NAN,
      .device = g_strdup(facts->device),
      .driver = g_strdup(facts->driver),
      .runtime = g_strdup(facts->runtime),
      .blas = g_strdup(facts->blas),
      .dnn = g_strdup(facts->dnn),
      .ccl = g_strdup(facts->ccl),
      .n_ranks = facts->n_ranks,
      .sm_clock_limit_hz = facts->sm_clock_limit_hz,
      .power_limit_watts = facts->power_limit_watts,
      .harness = ORR_MEASURE_HARNESS,
      .date = g_strdup(date),
  };
}

/* Both unknown counts as equal. */
static gboolean same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

gboolean orr_measure_row_is_of(const OrrMeasureRow *row, const OrrBenchFacts *facts) {
  return g_strcmp0(row->device, facts->device) == 0 && g_strcmp0(row->driver, facts->driver) == 0 &&
         g_strcmp0(row->runtime, facts->runtime) == 0 && g_strcmp0(row->blas, facts->blas) == 0 &&
         g_strcmp0(row->dnn, facts->dnn) == 0 && g_strcmp0(row->ccl, facts->ccl) == 0 &&
         row->n_ranks == facts->n_ranks && row->harness == ORR_MEASURE_HARNESS &&
         same_number(row->sm_clock_limit_hz, facts->sm_clock_limit_hz) &&
         same_number(row->power_limit_watts, facts->power_limit_watts);
}

gboolean orr_measure_row_counts(const OrrMeasureRow *row) {
  return row->verified != ORR_VERIFIED_NO && g_strcmp0(row->method, "unheld") != 0;
}

gboolean orr_measure_row_device_is_shipped(const char *device) {
  return orr_device_driver_device(device) != NULL;
}

char *orr_measure_row_device_name(const char *device) {
  const char *shipped = orr_device_driver_device(device);
  if (shipped) return g_strdup(shipped);
  GString *name = g_string_new(NULL);
  for (const char *c = device; *c; c++)
    if (g_ascii_isalnum(*c))
      g_string_append_c(name, g_ascii_tolower(*c));
    else if (name->len && name->str[name->len - 1] != '-')
      g_string_append_c(name, '-');
  while (name->len && name->str[name->len - 1] == '-') g_string_truncate(name, name->len - 1);
  return g_string_free(name, FALSE);
}
