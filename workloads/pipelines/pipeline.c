#include "workloads/pipelines/pipeline.h"

/* Alphabetical. To add one, see pipeline.h. */
static const OrrEntry *const entries[] = {&orr_one_f_one_b.entry, &orr_gpipe.entry, &orr_interleaved.entry, NULL};
const OrrRegistry orr_pipeline_registry = {"pipeline", entries};

gint64 orr_pipeline_peak(const GArray *steps) {
  gint64 alive = 0, peak = 0;
  for (guint i = 0; i < steps->len; i++) {
    alive += g_array_index(steps, OrrPipelineStep, i).backward ? -1 : 1;
    peak = MAX(peak, alive);
  }
  return peak;
}
