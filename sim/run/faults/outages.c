/*
 * outages.c - applies outages to a program: losses to its links, slow-downs to its lanes, detours
 * to its communications. Live works get the changes of their GPUs as a list instead.
 */
#include "sim/run/faults/faults.h"

#include "sim/base/number.h"
#include "sim/base/random.h"

static const OrrOutage *outage_at(const GPtrArray *outages, guint i) { return outages->pdata[i]; }

static const OrrFaultEffect *effect_at(const OrrOutage *outage, guint i) {
  return &g_array_index(outage->effects, OrrFaultEffect, i);
}

/* --- Marks --- */

/* A hash of what happens to a part and when. Parts with equal sums of marks may be in one class; a
 * sum does not depend on the order of the outages. */
static guint64 mark_of(const OrrOutage *outage, const OrrFaultEffect *effect) {
  return orr_random_hash3(orr_random_hash3(orr_number_bits(outage->begin_s),
                                           orr_number_bits(outage->end_s), effect->kind),
                          orr_number_bits(effect->loss), 8);
}

/* GPU of the machine -> GPU of the job + 1. */
static GHashTable *index_gpus(const gint64 *gpus, gint64 n_gpus) {
  GHashTable *index = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (gint64 i = 0; i < n_gpus; i++)
    g_hash_table_insert(index, GSIZE_TO_POINTER(gpus ? gpus[i] : i), GSIZE_TO_POINTER(i + 1));
  return index;
}

static gint64 job_gpu(GHashTable *index, gint64 gpu) {
  return (gint64)GPOINTER_TO_SIZE(g_hash_table_lookup(index, GSIZE_TO_POINTER(gpu))) - 1;
}

OrrMarks *orr_outages_marks(const GPtrArray *outages, const gint64 *gpus, gint64 n_gpus) {
  g_autoptr(OrrMarks) marks = g_new0(OrrMarks, 1);
  g_autoptr(GHashTable) index = index_gpus(gpus, n_gpus);
  gboolean any = FALSE;
  marks->gpus = g_new0(guint64, n_gpus + 1);
  marks->links = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (guint i = 0; i < outages->len; i++)
    for (guint h = 0; h < outage_at(outages, i)->effects->len; h++) {
      const OrrFaultEffect *effect = effect_at(outage_at(outages, i), h);
      const guint64 mark = mark_of(outage_at(outages, i), effect);
      const gpointer link = GSIZE_TO_POINTER(effect->index);
      const gint64 gpu = effect->kind == ORR_FAULT_EFFECT_GPU ? job_gpu(index, effect->index) : -1;
      if (gpu >= 0) marks->gpus[gpu] += mark;
      if (effect->kind == ORR_FAULT_EFFECT_LINK)
        g_hash_table_insert(
            marks->links, link,
            GSIZE_TO_POINTER(GPOINTER_TO_SIZE(g_hash_table_lookup(marks->links, link)) + mark));
      any = any || gpu >= 0 || effect->kind == ORR_FAULT_EFFECT_LINK;
    }
  return any ? g_steal_pointer(&marks) : NULL;
}

void orr_outages_free_marks(OrrMarks *marks) {
  if (!marks) return;
  g_free(marks->gpus);
  if (marks->links) g_hash_table_unref(marks->links);
  g_free(marks);
}

/* --- Links --- */

/* Fabric link -> link of the program + 1, as orr_program_merge numbers them. */
static GHashTable *number_links(const OrrOutageJob *jobs, guint n_jobs) {
  GHashTable *numbers = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (guint j = 0; j < n_jobs; j++)
    for (guint i = 0; i < jobs[j].work->links->len; i++) {
      const gpointer link = GUINT_TO_POINTER(g_array_index(jobs[j].work->links, guint32, i));
      if (!g_hash_table_contains(numbers, link))
        g_hash_table_insert(numbers, link, GUINT_TO_POINTER(g_hash_table_size(numbers) + 1));
    }
  return numbers;
}

static void apply_links(OrrProgram *program, GHashTable *numbers, const GPtrArray *outages) {
  g_auto(OrrIntervals) affected;
  orr_intervals_init(&affected);
  for (guint i = 0; i < outages->len; i++)
    orr_intervals_add_links(&affected, outage_at(outages, i));
  for (guint i = 0; i < affected.things->len; i++) {
    const gpointer number =
        g_hash_table_lookup(numbers, GSIZE_TO_POINTER(g_array_index(affected.things, gint64, i)));
    g_autoptr(GArray) dates = orr_intervals_dates(&affected, i);
    for (guint d = 0; number && d < dates->len; d++)
      orr_program_fault(program, g_array_index(dates, double, d), GPOINTER_TO_UINT(number) - 1,
                        orr_intervals_link_factor(&affected, i, g_array_index(dates, double, d)));
  }
}

/* --- Lanes --- */

static void apply_slow_gpus(OrrProgram *program, const OrrOutageJob *job,
                            const GPtrArray *outages) {
  g_autoptr(GHashTable) index = index_gpus(job->gpus, job->n_gpus);
  g_auto(OrrIntervals) affected;
  orr_intervals_init(&affected);
  for (guint i = 0; i < outages->len; i++)
    for (guint h = 0; h < outage_at(outages, i)->effects->len; h++) {
      const OrrFaultEffect *effect = effect_at(outage_at(outages, i), h);
      const gint64 gpu = effect->kind == ORR_FAULT_EFFECT_GPU ? job_gpu(index, effect->index) : -1;
      const guint32 lane =
          gpu >= 0 ? g_array_index(job->work->lane_of_gpu, guint32, gpu) : ORR_NO_LANE;
      if (lane != ORR_NO_LANE) orr_intervals_add(&affected, lane, outage_at(outages, i), effect);
    }
  for (guint i = 0; i < affected.things->len; i++) {
    const guint32 lane =
        job->offset.first_lane + (guint32)g_array_index(affected.things, gint64, i);
    g_autoptr(GArray) dates = orr_intervals_dates(&affected, i);
    for (guint d = 0; d < dates->len; d++)
      orr_program_slow_lane(
          program, g_array_index(dates, double, d), lane,
          orr_intervals_lane_factor(&affected, i, g_array_index(dates, double, d)));
  }
}

static gboolean is_kernels(int kind) {
  return kind <= ORR_TIME_MEMORY || kind == ORR_TIME_OPTIMIZER;
}

/* A slow GPU slows down kernels, but not the collectives and launches within the same op. */
static void slow_kernels_only(OrrProgram *program, const OrrOutageJob *job) {
  const GArray *parts = job->work->label_seconds;
  for (guint32 label = 0; (label + 1) * ORR_N_TIMES <= parts->len; label++) {
    double sum = 0, kernels = 0;
    for (int kind = 0; kind < ORR_N_TIMES; kind++) {
      const double seconds = g_array_index(parts, double, label *ORR_N_TIMES + kind);
      sum += seconds;
      if (is_kernels(kind)) kernels += seconds;
    }
    if (sum > 0) orr_program_slow_share(program, job->offset.first_label + label, kernels / sum);
  }
}

const OrrOutage *orr_outages_loss(const GPtrArray *outages, const OrrOutageJob *job) {
  if (orr_work_is_live(job->work)) return NULL;
  for (guint i = 0; i < outages->len; i++)
    for (guint h = 0; h < outage_at(outages, i)->effects->len; h++)
      for (gint64 g = 0;
           g < job->n_gpus && effect_at(outage_at(outages, i), h)->kind == ORR_FAULT_EFFECT_NODE;
           g++) {
        const gboolean used = g_array_index(job->work->lane_of_gpu, guint32, g) != ORR_NO_LANE;
        if (used && (job->gpus ? job->gpus[g] : g) / job->gpus_per_node ==
                        effect_at(outage_at(outages, i), h)->index)
          return outage_at(outages, i);
      }
  return NULL;
}

/* --- Live works --- */

static void add_node(GArray *changes, const OrrOutage *outage, gint64 node,
                     const OrrOutageJob *job) {
  for (gint64 g = 0; g < job->n_gpus; g++) {
    if ((job->gpus ? job->gpus[g] : g) / job->gpus_per_node != node) continue;
    ORR_APPEND(changes, OrrGpuChange, {outage->begin_s, g, TRUE, 0});
    if (isfinite(outage->end_s)) ORR_APPEND(changes, OrrGpuChange, {outage->end_s, g, TRUE, 1});
  }
}

/* The changes of GPU affected->things[place]. */
static void add_slow(GArray *changes, const OrrIntervals *affected, guint place) {
  const gint64 gpu = g_array_index(affected->things, gint64, place);
  g_autoptr(GArray) dates = orr_intervals_dates(affected, place);
  ORR_EACH_VALUE(const double, at_s, dates)
    ORR_APPEND(changes, OrrGpuChange,
               {at_s, gpu, FALSE, orr_intervals_lane_factor(affected, place, at_s)});
}

static gint by_date(gconstpointer a, gconstpointer b) {
  const OrrGpuChange *x = a, *y = b;
  if (x->at_s != y->at_s) return x->at_s < y->at_s ? -1 : 1;
  return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

GArray *orr_outages_gpu_changes(const GPtrArray *outages, const OrrOutageJob *job) {
  GArray *changes = g_array_new(FALSE, TRUE, sizeof(OrrGpuChange));
  g_autoptr(GHashTable) index = index_gpus(job->gpus, job->n_gpus);
  g_auto(OrrIntervals) affected;
  orr_intervals_init(&affected);
  for (guint i = 0; i < outages->len; i++)
    for (guint h = 0; h < outage_at(outages, i)->effects->len; h++) {
      const OrrFaultEffect *effect = effect_at(outage_at(outages, i), h);
      const gint64 gpu = effect->kind == ORR_FAULT_EFFECT_GPU ? job_gpu(index, effect->index) : -1;
      if (gpu >= 0) orr_intervals_add(&affected, gpu, outage_at(outages, i), effect);
      if (effect->kind == ORR_FAULT_EFFECT_NODE)
        add_node(changes, outage_at(outages, i), effect->index, job);
    }
  for (guint i = 0; i < affected.things->len; i++) add_slow(changes, &affected, i);
  g_array_sort(changes, by_date);
  return changes;
}

/* --- All --- */

void orr_outages_apply(OrrProgram *program, const OrrOutageJob *jobs, guint n_jobs,
                       const GPtrArray *outages, const GArray *detours, OrrWork *const *works) {
  g_autoptr(GHashTable) numbers = number_links(jobs, n_jobs);
  for (guint e = 0; detours && e < detours->len; e++) {
    orr_program_epoch(program, g_array_index(detours, OrrDetour, e).at_s);
    for (guint j = 0; j < n_jobs; j++) {
      const OrrRerouted one = {program, numbers, jobs[j].work, jobs[j].offset.first_comm};
      if (works[e * n_jobs + j]) orr_detours_reroute(&one, works[e * n_jobs + j]);
    }
  }
  apply_links(program, numbers, outages);
  for (guint j = 0; j < n_jobs; j++) {
    if (orr_work_is_live(jobs[j].work)) continue;
    apply_slow_gpus(program, &jobs[j], outages);
    slow_kernels_only(program, &jobs[j]);
  }
}
