/*
 * outages.c - outages as changes of a program.
 *
 * Several outages may affect one thing at the same time. Losses of a link add up, at most to the
 * whole link; slow-downs of a GPU multiply; a lane is as slow as its slowest GPU, since its ranks
 * meet in every layer:
 *
 *   link:  1 ---+     +---        lane:  factor(t) = max over its GPUs of the product of (1 + loss)
 *        1/2    +--+  |
 *          0       +--+
 *
 * Detours: when a link is dead and routes can avoid it, every job is compiled again on the fabric
 * without it. From the date on, its communications take the paths of that compilation.
 */
#include "sim/run/faults/outages.h"

#include <math.h>
#include <string.h>

#include "sim/base/random.h"

static const OrrOutage *outage_at(const GPtrArray *outages, guint i) { return outages->pdata[i]; }

static const OrrFaultEffect *effect_at(const OrrOutage *outage, guint i) {
  return &g_array_index(outage->effects, OrrFaultEffect, i);
}

/* --- Marks --- */

static guint64 bits_of(double value) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* A hash of what happens to a part and when. Parts with equal sums of marks may be in one class; a
 * sum does not depend on the order of the outages. */
static guint64 mark_of(const OrrOutage *outage, const OrrFaultEffect *effect) {
  return orr_random_hash3(
      orr_random_hash3(bits_of(outage->begin_s), bits_of(outage->end_s), effect->kind),
      bits_of(effect->loss), 8);
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

/* --- Dates --- */

static gint by_value(gconstpointer a, gconstpointer b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts ascending and drops duplicates. */
static void sort_dates(GArray *dates) {
  guint n = 0;
  g_array_sort(dates, by_value);
  for (guint i = 0; i < dates->len; i++)
    if (n == 0 || g_array_index(dates, double, i) > g_array_index(dates, double, n - 1))
      g_array_index(dates, double, n++) = g_array_index(dates, double, i);
  g_array_set_size(dates, n);
}

/* One effect on one thing, from begin_s to end_s. */
typedef struct {
  double begin_s, end_s, loss;
  gint64 gpu; /* of a lane: which of its GPUs */
} Interval;

static GArray *dates_of(const GArray *intervals) {
  GArray *dates = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < intervals->len; i++) {
    const Interval *interval = &g_array_index(intervals, Interval, i);
    g_array_append_val(dates, interval->begin_s);
    if (isfinite(interval->end_s)) g_array_append_val(dates, interval->end_s);
  }
  sort_dates(dates);
  return dates;
}

static gboolean is_on(const Interval *interval, double at_s) {
  return interval->begin_s <= at_s && at_s < interval->end_s;
}

static double link_factor(const GArray *intervals, double at_s) {
  double left = 1;
  for (guint i = 0; i < intervals->len; i++)
    if (is_on(&g_array_index(intervals, Interval, i), at_s))
      left -= g_array_index(intervals, Interval, i).loss;
  return left < 1e-9 ? 0 : left; /* n times 1/n may differ from 1 by rounding */
}

static double gpu_factor(const GArray *intervals, gint64 gpu, double at_s) {
  double factor = 1;
  for (guint i = 0; i < intervals->len; i++) {
    const Interval *interval = &g_array_index(intervals, Interval, i);
    if (interval->gpu == gpu && is_on(interval, at_s)) factor *= 1 + interval->loss;
  }
  return factor;
}

static double lane_factor(const GArray *intervals, double at_s) {
  double factor = 1;
  for (guint i = 0; i < intervals->len; i++)
    factor = MAX(factor, gpu_factor(intervals, g_array_index(intervals, Interval, i).gpu, at_s));
  return factor;
}

/* --- Effects by thing: link, lane or GPU --- */

/* Things in the order of their first effect: a hash table's order must not order events. */
typedef struct {
  GArray *things;       /* of gint64 */
  GPtrArray *intervals; /* of GArray of Interval */
  GHashTable *places;   /* thing -> place + 1 */
} Affected;

static void affected_init(Affected *affected) {
  *affected = (Affected){g_array_new(FALSE, FALSE, sizeof(gint64)),
                         g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
                         g_hash_table_new(g_direct_hash, g_direct_equal)};
}

static void affected_clear(Affected *affected) {
  g_array_unref(affected->things);
  g_ptr_array_unref(affected->intervals);
  g_hash_table_unref(affected->places);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Affected, affected_clear)

static void add_interval(Affected *affected, gint64 thing, const OrrOutage *outage,
                         const OrrFaultEffect *effect) {
  gsize place = GPOINTER_TO_SIZE(g_hash_table_lookup(affected->places, GSIZE_TO_POINTER(thing)));
  if (!place) {
    g_array_append_val(affected->things, thing);
    g_ptr_array_add(affected->intervals, g_array_new(FALSE, FALSE, sizeof(Interval)));
    place = affected->things->len;
    g_hash_table_insert(affected->places, GSIZE_TO_POINTER(thing), GSIZE_TO_POINTER(place));
  }
  const Interval interval = {outage->begin_s, outage->end_s, effect->loss, effect->index};
  g_array_append_val((GArray *)affected->intervals->pdata[place - 1], interval);
}

static void find_links(Affected *affected, const GPtrArray *outages) {
  for (guint i = 0; i < outages->len; i++)
    for (guint h = 0; h < outage_at(outages, i)->effects->len; h++)
      if (effect_at(outage_at(outages, i), h)->kind == ORR_FAULT_EFFECT_LINK)
        add_interval(affected, effect_at(outage_at(outages, i), h)->index, outage_at(outages, i),
                     effect_at(outage_at(outages, i), h));
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
  g_auto(Affected) affected;
  affected_init(&affected);
  find_links(&affected, outages);
  for (guint i = 0; i < affected.things->len; i++) {
    const gpointer number =
        g_hash_table_lookup(numbers, GSIZE_TO_POINTER(g_array_index(affected.things, gint64, i)));
    g_autoptr(GArray) dates = dates_of(affected.intervals->pdata[i]);
    for (guint d = 0; number && d < dates->len; d++)
      orr_program_fault(program, g_array_index(dates, double, d), GPOINTER_TO_UINT(number) - 1,
                        link_factor(affected.intervals->pdata[i], g_array_index(dates, double, d)));
  }
}

/* --- Lanes --- */

static void apply_slow_gpus(OrrProgram *program, const OrrOutageJob *job,
                            const GPtrArray *outages) {
  g_autoptr(GHashTable) index = index_gpus(job->gpus, job->n_gpus);
  g_auto(Affected) affected;
  affected_init(&affected);
  for (guint i = 0; i < outages->len; i++)
    for (guint h = 0; h < outage_at(outages, i)->effects->len; h++) {
      const OrrFaultEffect *effect = effect_at(outage_at(outages, i), h);
      const gint64 gpu = effect->kind == ORR_FAULT_EFFECT_GPU ? job_gpu(index, effect->index) : -1;
      const guint32 lane =
          gpu >= 0 ? g_array_index(job->work->lane_of_gpu, guint32, gpu) : ORR_NO_LANE;
      if (lane != ORR_NO_LANE) add_interval(&affected, lane, outage_at(outages, i), effect);
    }
  for (guint i = 0; i < affected.things->len; i++) {
    const guint32 lane =
        job->offset.first_lane + (guint32)g_array_index(affected.things, gint64, i);
    g_autoptr(GArray) dates = dates_of(affected.intervals->pdata[i]);
    for (guint d = 0; d < dates->len; d++)
      orr_program_slow_lane(
          program, g_array_index(dates, double, d), lane,
          lane_factor(affected.intervals->pdata[i], g_array_index(dates, double, d)));
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
    const OrrGpuChange gone = {outage->begin_s, g, TRUE, 0}, back = {outage->end_s, g, TRUE, 1};
    g_array_append_val(changes, gone);
    if (isfinite(outage->end_s)) g_array_append_val(changes, back);
  }
}

static void add_slow(GArray *changes, gint64 gpu, const GArray *intervals) {
  g_autoptr(GArray) dates = dates_of(intervals);
  for (guint d = 0; d < dates->len; d++) {
    const double at_s = g_array_index(dates, double, d);
    const OrrGpuChange change = {at_s, gpu, FALSE, lane_factor(intervals, at_s)};
    g_array_append_val(changes, change);
  }
}

static gint by_date(gconstpointer a, gconstpointer b) {
  const OrrGpuChange *x = a, *y = b;
  if (x->at_s != y->at_s) return x->at_s < y->at_s ? -1 : 1;
  return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

GArray *orr_outages_gpu_changes(const GPtrArray *outages, const OrrOutageJob *job) {
  GArray *changes = g_array_new(FALSE, TRUE, sizeof(OrrGpuChange));
  g_autoptr(GHashTable) index = index_gpus(job->gpus, job->n_gpus);
  g_auto(Affected) affected;
  affected_init(&affected);
  for (guint i = 0; i < outages->len; i++)
    for (guint h = 0; h < outage_at(outages, i)->effects->len; h++) {
      const OrrFaultEffect *effect = effect_at(outage_at(outages, i), h);
      const gint64 gpu = effect->kind == ORR_FAULT_EFFECT_GPU ? job_gpu(index, effect->index) : -1;
      if (gpu >= 0) add_interval(&affected, gpu, outage_at(outages, i), effect);
      if (effect->kind == ORR_FAULT_EFFECT_NODE)
        add_node(changes, outage_at(outages, i), effect->index, job);
    }
  for (guint i = 0; i < affected.things->len; i++)
    add_slow(changes, g_array_index(affected.things, gint64, i), affected.intervals->pdata[i]);
  g_array_sort(changes, by_date);
  return changes;
}

/* --- Detours --- */

static void clear_detour(gpointer detour) {
  g_clear_pointer(&((OrrDetour *)detour)->dead, g_hash_table_unref);
}

/* The links that are known to be dead at @at_s and that routes can avoid; NULL: none. */
static GHashTable *dead_links(const Affected *affected, const OrrFabric *fabric, double at_s) {
  GHashTable *dead = NULL;
  for (guint i = 0; i < affected->things->len; i++) {
    const guint32 link = (guint32)g_array_index(affected->things, gint64, i);
    if (!orr_fabric_can_leave(fabric, link)) continue;
    if (link_factor(affected->intervals->pdata[i], at_s) > 0) continue;
    if (!dead) dead = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_hash_table_add(dead, GUINT_TO_POINTER(link));
  }
  return dead;
}

static gboolean same_set(GHashTable *a, GHashTable *b) {
  GHashTableIter iter;
  gpointer link;
  if (!a || !b || g_hash_table_size(a) != g_hash_table_size(b)) return !a && !b;
  g_hash_table_iter_init(&iter, a);
  while (g_hash_table_iter_next(&iter, &link, NULL))
    if (!g_hash_table_contains(b, link)) return FALSE;
  return TRUE;
}

/* Outages as routing sees them: they begin and end `detection` late. */
static void find_known(Affected *affected, const GPtrArray *outages) {
  for (guint i = 0; i < outages->len; i++) {
    OrrOutage known = *outage_at(outages, i);
    known.begin_s += known.detection_s;
    known.end_s += known.detection_s;
    for (guint h = 0; h < known.effects->len; h++)
      if (effect_at(&known, h)->kind == ORR_FAULT_EFFECT_LINK)
        add_interval(affected, effect_at(&known, h)->index, &known, effect_at(&known, h));
  }
}

GArray *orr_outages_detours(const GPtrArray *outages, const OrrFabric *fabric) {
  GArray *detours = g_array_new(FALSE, TRUE, sizeof(OrrDetour));
  g_array_set_clear_func(detours, clear_detour);
  g_autoptr(GArray) dates = g_array_new(FALSE, FALSE, sizeof(double));
  g_auto(Affected) affected;
  affected_init(&affected);
  find_known(&affected, outages);
  for (guint i = 0; i < affected.intervals->len; i++) {
    g_autoptr(GArray) more = dates_of(affected.intervals->pdata[i]);
    g_array_append_vals(dates, more->data, more->len);
  }
  sort_dates(dates);
  GHashTable *last = NULL;
  for (guint i = 0; i < dates->len; i++) {
    OrrDetour detour = {g_array_index(dates, double, i),
                        dead_links(&affected, fabric, g_array_index(dates, double, i))};
    if (same_set(last, detour.dead)) {
      clear_detour(&detour);
      continue;
    }
    last = detour.dead;
    g_array_append_val(detours, detour);
  }
  return detours;
}

/* A job's communications on another fabric, as paths of the program. */
typedef struct {
  OrrProgram *program;
  GHashTable *numbers; /* fabric link -> program link + 1 */
  const OrrWork *own, *other;
  guint32 *paths;    /* path of the other work -> path of the program + 1; 0: not added yet */
  GHashTable *alike; /* own path << 32 | other path -> 1: equal, 2: not */
} Detouring;

static guint32 link_number(Detouring *d, guint32 other_link) {
  const gpointer link = GUINT_TO_POINTER(g_array_index(d->other->links, guint32, other_link));
  gpointer number = g_hash_table_lookup(d->numbers, link);
  if (!number) {
    number = GUINT_TO_POINTER(
        orr_program_link(d->program, orr_program_link_name(d->other->program, other_link),
                         orr_program_link_bandwidth(d->other->program, other_link)) +
        1);
    g_hash_table_insert(d->numbers, link, number);
  }
  return GPOINTER_TO_UINT(number) - 1;
}

static guint32 path_number(Detouring *d, guint32 path) {
  if (path == ORR_NO_PATH) return path;
  if (!d->paths[path]) {
    guint n = 0;
    const OrrLinkUse *uses = orr_program_path_uses(d->other->program, path, &n);
    g_autofree OrrLinkUse *own = g_new(OrrLinkUse, n + 1);
    for (guint i = 0; i < n; i++)
      own[i] = (OrrLinkUse){link_number(d, uses[i].link), uses[i].weight};
    d->paths[path] = orr_program_path(d->program, own, n) + 1;
  }
  return d->paths[path] - 1;
}

static gboolean compare_paths(const Detouring *d, guint32 own, guint32 other) {
  guint n_own = 0, n_other = 0;
  const OrrLinkUse *a = orr_program_path_uses(d->own->program, own, &n_own);
  const OrrLinkUse *b = orr_program_path_uses(d->other->program, other, &n_other);
  if (n_own != n_other) return FALSE;
  for (guint i = 0; i < n_own; i++)
    if (a[i].weight != b[i].weight || g_array_index(d->own->links, guint32, a[i].link) !=
                                          g_array_index(d->other->links, guint32, b[i].link))
      return FALSE;
  return TRUE;
}

static gboolean same_path(Detouring *d, guint32 own, guint32 other) {
  if (own == ORR_NO_PATH || other == ORR_NO_PATH) return own == other;
  const gpointer key = GSIZE_TO_POINTER((gsize)own << 32 | other);
  gsize known = GPOINTER_TO_SIZE(g_hash_table_lookup(d->alike, key));
  if (!known) {
    known = compare_paths(d, own, other) ? 1 : 2;
    g_hash_table_insert(d->alike, key, GSIZE_TO_POINTER(known));
  }
  return known == 1;
}

static gboolean same_phases(Detouring *d, const OrrPhase *own, guint n_own, const OrrPhase *other,
                            guint n_other) {
  if (n_own != n_other) return FALSE;
  for (guint i = 0; i < n_own; i++)
    if (own[i].latency_s != other[i].latency_s || own[i].bytes != other[i].bytes ||
        !same_path(d, own[i].path, other[i].path))
      return FALSE;
  return TRUE;
}

static void reroute_job(OrrProgram *program, GHashTable *numbers, const OrrOutageJob *job,
                        const OrrWork *other) {
  const guint n_comms = orr_program_n_comms(job->work->program);
  if (n_comms != orr_program_n_comms(other->program)) return;
  guint32 *const paths = g_new0(guint32, orr_program_n_paths(other->program) + 1);
  Detouring d = {program, numbers, job->work,
                 other,   paths,   g_hash_table_new(g_direct_hash, g_direct_equal)};
  for (guint32 comm = 0; comm < n_comms; comm++) {
    guint n_own = 0, n_other = 0;
    const OrrPhase *own = orr_program_phases(job->work->program, comm, &n_own);
    const OrrPhase *phases = orr_program_phases(other->program, comm, &n_other);
    if (same_phases(&d, own, n_own, phases, n_other)) continue;
    g_autofree OrrPhase *mine = g_memdup2(phases, n_other * sizeof *phases);
    for (guint i = 0; i < n_other; i++) mine[i].path = path_number(&d, phases[i].path);
    orr_program_reroute(program, job->offset.first_comm + comm, mine, n_other);
  }
  g_hash_table_unref(d.alike);
  g_free(paths);
}

void orr_outages_apply(OrrProgram *program, const OrrOutageJob *jobs, guint n_jobs,
                       const GPtrArray *outages, const GArray *detours, OrrWork *const *works) {
  g_autoptr(GHashTable) numbers = number_links(jobs, n_jobs);
  for (guint e = 0; detours && e < detours->len; e++) {
    orr_program_epoch(program, g_array_index(detours, OrrDetour, e).at_s);
    for (guint j = 0; j < n_jobs; j++)
      if (works[e * n_jobs + j]) reroute_job(program, numbers, &jobs[j], works[e * n_jobs + j]);
  }
  apply_links(program, numbers, outages);
  for (guint j = 0; j < n_jobs; j++) {
    if (orr_work_is_live(jobs[j].work)) continue;
    apply_slow_gpus(program, &jobs[j], outages);
    slow_kernels_only(program, &jobs[j]);
  }
}
