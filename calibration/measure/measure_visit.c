/*
 * measure_visit.c - the columns of table kernel_session, and words for the reasons of slow clocks.
 */
#include "calibration/measure/measure_visit.h"

const OrrFieldTable orr_measure_visit_table = ORR_FIELDS(
    "kernel_session", "One row per calibration: the device, the board's state, the outcome.",
    OrrMeasureVisit,
    ORR_COLUMN_TEXT(OrrMeasureVisit, "date", date,
                    "Its start (UTC, ISO 8601), the date of its rows."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "device", device, "The driver's name of the device."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "driver", driver, "Version of the driver."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "runtime", runtime,
                    "Version of the GPUs' runtime: CUDA, HIP."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "blas", blas,
                    "Version of the library of products: cuBLASLt, hipBLASLt."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "dnn", dnn, "Version of the library of attention: cuDNN."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "ccl", ccl,
                    "Version of the library of collectives: NCCL, RCCL."),
    ORR_COLUMN_INT(OrrMeasureVisit, "architecture", architecture,
                   "The number in the compiler's name of it: 90 is sm_90, 942 gfx942."),
    ORR_COLUMN_INT(OrrMeasureVisit, "sms", sms, "Streaming multiprocessors."),
    ORR_COLUMN_INT(OrrMeasureVisit, "n-gpus", n_gpus, "GPUs of the process."),
    ORR_COLUMN_INT(OrrMeasureVisit, "n-ranks", n_ranks, "GPUs of the job."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "memory-bytes", memory_bytes, ORR_UNIT_BYTES,
                    "Memory of the device."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "l2-bytes", l2_bytes, ORR_UNIT_BYTES, "Its L2 cache."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "sm-clock-limit-hz", sm_clock_limit_hz, ORR_UNIT_HERTZ,
                    "Limit of the SMs' clock."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "memory-clock-limit-hz", memory_clock_limit_hz, ORR_UNIT_HERTZ,
                    "Limit of the memory's clock."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "power-limit-watts", power_limit_watts, ORR_UNIT_WATTS,
                    "The board's power limit."),
    ORR_COLUMN_INT(OrrMeasureVisit, "persistence", persistence,
                   "Whether persistence mode was on; -1: unknown."),
    ORR_COLUMN_INT(OrrMeasureVisit, "ecc", ecc,
                   "Whether the memory's error correction was on; -1: unknown."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "budget-s", budget_s, ORR_UNIT_SECONDS, "Its time budget."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "spent-s", spent_s, ORR_UNIT_SECONDS,
                    "The time that it took."),
    ORR_COLUMN_INT(OrrMeasureVisit, "new-rows", n_new, "Rows measured."),
    ORR_COLUMN_INT(OrrMeasureVisit, "known-rows", n_known, "Rows measured by earlier sessions."),
    ORR_COLUMN_INT(OrrMeasureVisit, "refused", n_passed_over,
                   "Shapes that could not be measured: table kernel_refusal."),
    ORR_COLUMN_INT(OrrMeasureVisit, "wrong-rows", n_wrong, "New rows with wrong results."),
    ORR_COLUMN_BOOL(OrrMeasureVisit, "is-complete", is_complete,
                    "Whether nothing was left to measure."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "failure", failure,
                    "What ended it early; empty: it ended with its budget or its plan."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "watts-before", watts_before, ORR_UNIT_WATTS,
                    "Board power before the first kernel."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "watts-after", watts_after, ORR_UNIT_WATTS,
                    "Board power after the last one."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "sm-clock-hz-before", sm_clock_hz_before, ORR_UNIT_HERTZ,
                    "Clock of the SMs before."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "sm-clock-hz-after", sm_clock_hz_after, ORR_UNIT_HERTZ,
                    "Clock of the SMs after."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "memory-clock-hz-before", memory_clock_hz_before,
                    ORR_UNIT_HERTZ, "Clock of the memory before."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "memory-clock-hz-after", memory_clock_hz_after, ORR_UNIT_HERTZ,
                    "Clock of the memory after."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "celsius-before", celsius_before, ORR_UNIT_NONE,
                    "Temperature of the GPU before, in degrees Celsius."),
    ORR_COLUMN_REAL(OrrMeasureVisit, "celsius-after", celsius_after, ORR_UNIT_NONE,
                    "Temperature of the GPU after, in degrees Celsius."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "slowed-before", slowed_before,
                    "Why the clocks were below their maximum before (NVML's clock event reasons)."),
    ORR_COLUMN_TEXT(OrrMeasureVisit, "slowed-after", slowed_after, "The same after."),
    ORR_COLUMN_INT(OrrMeasureVisit, "processes-before", processes_before,
                   "Processes with a context on the GPU, this one included; -1: unknown."),
    ORR_COLUMN_INT(OrrMeasureVisit, "processes-after", processes_after, "The same after."));

/* nvml.h: nvmlClocksEventReasons (once nvmlClocksThrottleReasons), by bit. */
static const char *const reason_words[] = {"idle",
                                           "application clocks",
                                           "power limit",
                                           "hardware slowdown",
                                           "sync boost",
                                           "software thermal slowdown",
                                           "hardware thermal slowdown",
                                           "hardware power brake",
                                           "display clocks"};

char *orr_measure_visit_throttle_words(gint64 reasons) {
  if (reasons < 0) return g_strdup("unknown");
  GString *text = g_string_new(NULL);
  for (guint bit = 0; bit < G_N_ELEMENTS(reason_words); bit++)
    if (reasons >> bit & 1)
      g_string_append_printf(text, "%s%s", text->len ? ", " : "", reason_words[bit]);
  if (reasons >> G_N_ELEMENTS(reason_words))
    g_string_append_printf(text, "%sothers", text->len ? ", " : "");
  if (!text->len) g_string_append(text, "none");
  return g_string_free(text, FALSE);
}

static void copy_facts(OrrMeasureVisit *visit, const OrrBenchFacts *facts) {
  visit->device = g_strdup(facts->device);
  visit->driver = g_strdup(facts->driver);
  visit->runtime = g_strdup(facts->runtime);
  visit->blas = g_strdup(facts->blas);
  visit->dnn = g_strdup(facts->dnn);
  visit->ccl = g_strdup(facts->ccl);
  visit->architecture = facts->architecture;
  visit->sms = facts->sms;
  visit->n_gpus = facts->n_gpus;
  visit->n_ranks = facts->n_ranks;
  visit->memory_bytes = facts->memory_bytes;
  visit->l2_bytes = facts->l2_bytes;
  visit->sm_clock_limit_hz = facts->sm_clock_limit_hz;
  visit->memory_clock_limit_hz = facts->memory_clock_limit_hz;
  visit->power_limit_watts = facts->power_limit_watts;
}

void orr_measure_visit_init(OrrMeasureVisit *visit, const char *date, const OrrBenchFacts *facts,
                            double budget_s, const OrrMeasureOutcome *outcome,
                            const OrrBenchState *before, const OrrBenchState *after,
                            const char *failure) {
  *visit = (OrrMeasureVisit){.date = g_strdup(date),
                             .persistence = before->persistence,
                             .ecc = before->ecc,
                             .budget_s = budget_s,
                             .spent_s = outcome->spent_s,
                             .n_new = outcome->n_new,
                             .n_known = outcome->n_known,
                             .n_passed_over = outcome->n_passed_over,
                             .n_wrong = outcome->n_wrong,
                             .is_complete = outcome->is_complete,
                             .failure = g_strdup(failure ? failure : ""),
                             .watts_before = before->watts,
                             .watts_after = after->watts,
                             .sm_clock_hz_before = before->sm_clock_hz,
                             .sm_clock_hz_after = after->sm_clock_hz,
                             .memory_clock_hz_before = before->memory_clock_hz,
                             .memory_clock_hz_after = after->memory_clock_hz,
                             .celsius_before = before->celsius,
                             .celsius_after = after->celsius,
                             .slowed_before = orr_measure_visit_throttle_words(before->throttle),
                             .slowed_after = orr_measure_visit_throttle_words(after->throttle),
                             .processes_before = before->n_processes,
                             .processes_after = after->n_processes};
  copy_facts(visit, facts);
}
