/*
 * family.c - the roofline that gives the trend of families.
 */
#include "calibration/measure/family.h"

const OrrMeasureFamily *orr_family_find(const char *name) {
  return (const OrrMeasureFamily *)orr_registry_find(&orr_measure_registry, name);
}

guint orr_family_n_columns(const OrrMeasureFamily *family) {
  guint n = 0;
  while (family->columns[n].name) n++;
  return n;
}

void orr_family_add(const OrrMeasureFamily *family, GArray *shapes, const gint64 *values) {
  OrrShape shape = {.family = family};
  memcpy(shape.at, values, orr_family_n_columns(family) * sizeof *values);
  g_array_append_val(shapes, shape);
}

double orr_family_roofline(const OrrShape *shape, const OrrBenchFacts *facts) {
  const OrrShapeWork work = shape->family->work(shape, facts);
  const double peak =
      facts->flops[work.dtype] > 0 ? facts->flops[work.dtype] : facts->flops[ORR_FP32];
  const double rate = work.bytes_per_s > 0 ? work.bytes_per_s : facts->memory_bytes_per_s;
  return 2e-6 + fmax(work.flops / peak, work.bytes / rate);
}

OrrJobWord orr_job_word(gint64 rank, const char *reason, gboolean ends_job) {
  OrrJobWord word = {.rank = rank, .ends_job = ends_job};
  const char *end;
  g_strlcpy(word.reason, reason, sizeof word.reason);
  g_utf8_validate(word.reason, -1, &end);
  word.reason[end - word.reason] = 0;
  return word;
}

void orr_bench_facts_clear(OrrBenchFacts *facts) {
  ORR_FREE(facts->device, facts->driver, facts->runtime, facts->blas, facts->dnn, facts->ccl);
  *facts = (OrrBenchFacts){0};
}
