/*
 * training_fold - which data-parallel replicas are the same, so that one of each class is replayed for all.
 *
 * Replicas run the same program; they differ only in the links that their pipeline transfers and tensor-parallel
 * collectives cross, and in what else loads those. Colour refinement
 * (Weisfeiler-Leman on replicas and links) finds the coarsest classes that are safe:
 *
 *   colour(link)    = bandwidth, and the sum over crossings of (boundary, direction, colour(replica)), and what other
 *                     collectives put on it
 *   colour(replica) = the sum over its routes of (boundary, direction, latency, colours of the links in order)
 *
 * until no class splits. Two replicas of one colour then see links of equal bandwidth under equal load, so by induction
 * over events their transfers start and end together: replaying one, with its transfers loading every link that any
 * member of the class uses, is exact. Sums of hashes do not depend on any order; a collision of 64-bit hashes would
 * merge two classes (probability below 1e-10 for a million replicas).
 */
#include <string.h>

#include "sim/base/random.h"
#include "workloads/training_private.h"

typedef struct {
  guint32 replica;
  guint32 boundary; /* what crosses: 2 * stage + direction, or 2 * pp + stage for the stage's tp group */
  guint32 first, n; /* its links */
  double latency_s;
} Crossing;

typedef struct {
  const OrrJob *job;
  GHashTable *load;  /* fabric link -> hash of what else loads it */
  GArray *crossings; /* of Crossing */
  GArray *links;     /* of guint32 */
  guint64 *colour;   /* of each replica */
} Refinement;

static guint64 bits_of(double value) {
  guint64 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void add_crossings(Refinement *r, guint32 replica, gint64 from, gint64 to, guint32 boundary) {
  const gint64 n = orr_job_replica_ranks(r->job);
  for (gint64 rank = replica * n; rank < (replica + 1) * n; rank++) {
    Crossing crossing = {replica, boundary, r->links->len, 0, 0};
    crossing.latency_s = orr_fabric_route(r->job->world->fabric, orr_job_gpu(r->job, from, rank),
                                          orr_job_gpu(r->job, to, rank), 0, r->links);
    crossing.n = r->links->len - crossing.first;
    g_array_append_val(r->crossings, crossing);
  }
}

/* The tensor-parallel groups' links: other collectives may load them while the group uses them. */
static void add_group_crossings(Refinement *r, guint32 replica, gint64 stage) {
  const OrrJob *job = r->job;
  const gint64 n = orr_job_replica_ranks(job);
  for (gint64 t = 0; t < job->tp && job->tp > 1; t++) {
    Crossing crossing = {replica, 2 * job->pp + stage, r->links->len, 0, 0};
    crossing.latency_s = orr_fabric_route(job->world->fabric, orr_job_gpu(job, stage, replica * n + t),
                                          orr_job_gpu(job, stage, replica * n + (t + 1) % job->tp), 0, r->links);
    crossing.n = r->links->len - crossing.first;
    g_array_append_val(r->crossings, crossing);
  }
}

static void add_replica(Refinement *r, guint32 replica) {
  const gint64 pp = r->job->pp;
  const gboolean wraps = r->job->schedule->blocks == ORR_BLOCKS_LOOP && r->job->shape.chunks > 1;
  const gint64 boundaries = pp == 1 ? 0 : wraps ? pp : pp - 1;
  for (gint64 stage = 0; stage < boundaries; stage++) {
    const gint64 next = (stage + 1) % pp;
    add_crossings(r, replica, stage, next, 2 * stage);
    add_crossings(r, replica, next, stage, 2 * stage + 1);
  }
  for (gint64 stage = 0; stage < pp; stage++) add_group_crossings(r, replica, stage);
}

static guint64 load_of(const Refinement *r, guint32 link) {
  return r->load ? (guint64)(gsize)g_hash_table_lookup(r->load, GUINT_TO_POINTER(link)) : 0;
}

static GHashTable *colour_links(const Refinement *r) {
  GHashTable *colours = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (guint c = 0; c < r->crossings->len; c++) {
    const Crossing *crossing = &g_array_index(r->crossings, Crossing, c);
    const guint64 mark = orr_hash3(crossing->boundary, r->colour[crossing->replica], 1);
    for (guint i = 0; i < crossing->n; i++) {
      const gpointer link = GUINT_TO_POINTER(g_array_index(r->links, guint32, crossing->first + i));
      const gsize sum = (gsize)g_hash_table_lookup(colours, link) + mark;
      g_hash_table_insert(colours, link, (gpointer)sum);
    }
  }
  return colours;
}

static guint64 colour_crossing(const Refinement *r, const Crossing *crossing, GHashTable *links) {
  guint64 colour = orr_hash3(crossing->boundary, bits_of(crossing->latency_s), 2);
  for (guint i = 0; i < crossing->n; i++) {
    const guint32 link = g_array_index(r->links, guint32, crossing->first + i);
    const double bandwidth = orr_fabric_link_bandwidth(r->job->world->fabric, link);
    const guint64 crossed = (guint64)(gsize)g_hash_table_lookup(links, GUINT_TO_POINTER(link));
    colour = orr_hash3(colour, bits_of(bandwidth), crossed + load_of(r, link));
  }
  return colour;
}

static void refine(Refinement *r, guint64 *next) {
  g_autoptr(GHashTable) links = colour_links(r);
  for (gint64 i = 0; i < r->job->dp; i++) next[i] = r->colour[i];
  for (guint c = 0; c < r->crossings->len; c++) {
    const Crossing *crossing = &g_array_index(r->crossings, Crossing, c);
    next[crossing->replica] += colour_crossing(r, crossing, links);
  }
}

/* Numbers the classes in order of their first replica. */
static guint number_classes(const guint64 *colour, guint32 n, guint32 *class_of) {
  g_autoptr(GHashTable) known = g_hash_table_new(g_int64_hash, g_int64_equal);
  for (guint32 i = 0; i < n; i++) {
    const gpointer class = g_hash_table_lookup(known, &colour[i]);
    class_of[i] = class ? GPOINTER_TO_UINT(class) - 1 : g_hash_table_size(known);
    if (!class) g_hash_table_insert(known, (gpointer)&colour[i], GUINT_TO_POINTER(class_of[i] + 1));
  }
  return g_hash_table_size(known);
}

static void fold_by_colour(OrrFold *fold, const OrrJob *job, GHashTable *load) {
  g_autofree guint64 *colour = g_new0(guint64, job->dp);
  g_autofree guint64 *next = g_new0(guint64, job->dp);
  g_autoptr(GArray) crossings = g_array_new(FALSE, FALSE, sizeof(Crossing));
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  Refinement r = {job, load, crossings, links, colour};
  for (gint64 i = 0; i < job->dp; i++) add_replica(&r, i);
  guint before = 0;
  fold->n = 1;
  while (fold->n > before) {
    before = fold->n;
    refine(&r, next);
    memcpy(colour, next, job->dp * sizeof *next);
    fold->n = number_classes(colour, job->dp, fold->class_of);
  }
}

void orr_fold_init(OrrFold *fold, const OrrJob *job, OrrFidelity fidelity, GHashTable *load) {
  *fold = (OrrFold){
      .n = job->dp,
      .class_of = g_new0(guint32, job->dp),
      .first = g_new0(guint32, job->dp),
      .size = g_new0(guint32, job->dp),
  };
  if (fidelity == ORR_FIDELITY_FULL)
    for (gint64 i = 0; i < job->dp; i++) fold->class_of[i] = i;
  else
    fold_by_colour(fold, job, load);
  for (gint64 i = job->dp - 1; i >= 0; i--) {
    fold->first[fold->class_of[i]] = i;
    fold->size[fold->class_of[i]]++;
  }
}

void orr_fold_clear(OrrFold *fold) {
  g_free(fold->class_of);
  g_free(fold->first);
  g_free(fold->size);
  *fold = (OrrFold){0};
}
