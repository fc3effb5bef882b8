/*
 * fuzz_jobs.c - libFuzzer target: no bytes may break a reader of job traces. The first byte picks
 * the reader; a trace that is read has jobs in order, each within the limits.
 */
#include "sim/base/registry.h"
#include "tests/fuzz/fuzz_file.h"
#include "workloads/cluster_jobs/traces/job_trace.h"

static void check(const OrrJobTrace *trace) {
  g_assert_cmpuint(trace->jobs->len, >, 0);
  for (guint i = 0; i < trace->jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(trace->jobs, OrrGangJob, i);
    g_assert_cmpint(job->gpus, >, 0);
    g_assert_cmpint(job->work_us, >=, 0);
    if (i > 0) g_assert_cmpint(job->submit_us, >=, (job - 1)->submit_us);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  guint n = 0;
  while (orr_job_reader_registry.entries[n]) n++;
  const OrrEntry *entry = orr_job_reader_registry.entries[data[0] % n];
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrJobTrace) trace = orr_job_trace_read(
      fuzz_file(data + 1, size - 1), (const OrrJobReader *)(gconstpointer)entry, NULL, &error);
  g_assert_true((trace != NULL) == (error == NULL));
  if (trace) check(trace);
  return 0;
}
