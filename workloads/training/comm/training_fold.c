/*
 * training_fold - finds the data-parallel replicas that are alike.
 *
 * Replicas run the same program. They differ only in the links that their pipeline transfers and
 * tensor-parallel collectives cross, and in what else loads those links. Colour refinement
 * (Weisfeiler-Leman on replicas and links) finds the coarsest classes that are safe:
 *
 *   colour(link)    = bandwidth, mark, the sum over crossings of (boundary, direction,
 *                     colour(replica)), and the load of other communications
 *   colour(replica) = the sum over its routes of (boundary, direction, latency, colours of the
 *                     links in order)
 *
 * It starts from the marks of a replica's GPUs (OrrMarks), adds the colours of the replicas that it
 * meets in expert groups, and ends when no class splits. Two replicas of one colour then see links
 * of equal bandwidth under equal load. By induction over events their transfers start and end
 * together, so it is exact to replay one of them whose transfers load every link that any member of
 * the class uses. Sums of hashes do not depend on any order. A collision of 64-bit hashes would
 * merge two classes (probability below 1e-10 for a million replicas).
 */
#include "sim/base/number.h"
#include "workloads/collectives/collective_cache.h"
#include "workloads/training/comm/training_fold.h"
#include "workloads/training/job/training_groups.h"
#include "workloads/training/job/training_offload.h"

typedef struct {
  guint32 replica;
  /* which kind of traffic: 2 * stage + direction for stages, 2 * pp + stage for its tp group,
   * ... */
  guint32 boundary;
  guint32 first, n; /* its links */
  double latency_s;
} Crossing;

typedef struct {
  const OrrJob *job;
  const guint64 *load;          /* by fabric link: a hash of what else loads it */
  guint64 *face;                /* by fabric link: its colour, in this round */
  GArray *crossings;            /* of Crossing */
  GArray *links;                /* of guint32 */
  guint64 *colour;              /* of each replica */
  GArray *groups[ORR_N_GROUPS]; /* of Group; NULL: routed pair by pair */
} Refinement;

static void add_route(Refinement *r, guint32 replica, guint32 boundary, gint64 from_gpu,
                      gint64 to_gpu) {
  Crossing crossing = {replica, boundary, r->links->len, 0, 0};
  crossing.latency_s = orr_fabric_route(r->job->world->fabric, from_gpu, to_gpu, 0, r->links);
  crossing.n = r->links->len - crossing.first;
  g_array_append_val(r->crossings, crossing);
}

static void add_crossings(Refinement *r, guint32 replica, gint64 from, gint64 to,
                          guint32 boundary) {
  const gint64 n = orr_job_replica_ranks(r->job);
  for (gint64 rank = replica * n; rank < (replica + 1) * n; rank++)
    add_route(r, replica, boundary, orr_job_gpu(r->job, from, rank), orr_job_gpu(r->job, to, rank));
}

/* --- routes inside a group, which points of a sweep with other stages or chunks share --- */

/* Of a job's groups, at 36 bytes each: a third of the room for facts. */
#define MOST_PAIRS (1u << 18)

typedef struct {
  double latency_s;
  guint32 first, n; /* its links, counted from the first of its group */
} Hop;

typedef struct {
  GBytes *routes; /* Hops, then links */
  guint32 first;  /* its first link in this refinement */
} Group;

/* From each member to each other one, in order; their links follow them. */
static GBytes *route_group(const OrrFabric *fabric, const gint64 *gpus, gint64 n) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autofree Hop *hops = g_new(Hop, n * (n - 1));
  Hop *hop = hops;
  for (gint64 i = 0; i < n; i++)
    for (gint64 k = 0; k < n; k++) {
      if (k == i) continue;
      hop->first = links->len;
      hop->latency_s = orr_fabric_route(fabric, gpus[i], gpus[k], 0, links);
      hop->n = links->len - hop->first;
      hop++;
    }
  GByteArray *routes = g_byte_array_new();
  g_byte_array_append(routes, (const guint8 *)hops, (hop - hops) * sizeof *hops);
  g_byte_array_append(routes, (const guint8 *)links->data, links->len * sizeof(guint32));
  return g_byte_array_free_to_bytes(routes);
}

/* @key: -1, which no key of classes begins with, and the @n GPUs. */
static GBytes *find_routes(const OrrWorld *world, const gint64 *key, gint64 n) {
  GBytes *bytes = g_bytes_new(key, (n + 1) * sizeof *key);
  GBytes *known = orr_collective_cache_find(world->plans, world->fabric, bytes);
  if (known) {
    g_bytes_unref(bytes);
    return g_bytes_ref(known);
  }
  GBytes *routes = route_group(world->fabric, key + 1, n);
  orr_collective_cache_keep(world->plans, world->fabric, bytes, g_bytes_ref(routes));
  return routes;
}

static void free_group(gpointer group) { g_bytes_unref(((Group *)group)->routes); }

/* By stage and group; their links join the others. NULL: too many to keep. */
static GArray *find_groups(Refinement *r, OrrOperatorGroup group) {
  const OrrJob *job = r->job;
  const OrrGrouping grouping = orr_grouping_of(job, group);
  const gint64 n_ranks = orr_job_replica_ranks(job) * job->dp, n = grouping.size;
  if (n == 1 || !job->world->plans || job->pp * n_ranks * (n - 1) > (gint64)MOST_PAIRS) return NULL;
  GArray *groups = g_array_new(FALSE, FALSE, sizeof(Group));
  g_array_set_clear_func(groups, free_group);
  g_autofree gint64 *key = g_new(gint64, n + 1);
  key[0] = -1;
  for (gint64 i = 0; i < job->pp * n_ranks / n; i++) {
    const gint64 stage = i / (n_ranks / n), g = i % (n_ranks / n);
    const gint64 first = g / grouping.stride * grouping.stride * n + g % grouping.stride;
    for (gint64 k = 0; k < n; k++)
      key[1 + k] = orr_job_gpu(job, stage, first + k * grouping.stride);
    const Group found = {find_routes(job->world, key, n), r->links->len};
    gsize size = 0;
    const Hop *hops = g_bytes_get_data(found.routes, &size);
    g_array_append_vals(r->links, hops + n * (n - 1),
                        (size - n * (n - 1) * sizeof *hops) / sizeof(guint32));
    g_array_append_val(groups, found);
  }
  return groups;
}

static void add_member(Refinement *r, guint32 replica, guint32 boundary, const Group *group,
                       gint64 member, gint64 n_peers) {
  const Hop *hops = (const Hop *)g_bytes_get_data(group->routes, NULL) + member * n_peers;
  const guint before = r->crossings->len;
  g_array_set_size(r->crossings, before + (guint)n_peers);
  Crossing *crossings = &g_array_index(r->crossings, Crossing, before);
  for (gint64 i = 0; i < n_peers; i++)
    crossings[i] =
        (Crossing){replica, boundary, group->first + hops[i].first, hops[i].n, hops[i].latency_s};
}

/* Context and expert groups: any rank can send to any other of its group. */
static void add_all_pairs(Refinement *r, guint32 replica, gint64 stage, OrrOperatorGroup group) {
  const OrrJob *job = r->job;
  const OrrGrouping grouping = orr_grouping_of(job, group);
  const gint64 n = orr_job_replica_ranks(job), stride = grouping.stride;
  const gint64 block = stride * grouping.size;
  const guint32 boundary = (2 + group) * job->pp + stage;
  if (grouping.size == 1) return;
  for (gint64 rank = replica * n; rank < (replica + 1) * n; rank++) {
    const gint64 first = rank / block * block + rank % stride, member = rank % block / stride;
    if (r->groups[group]) {
      const gint64 g =
          stage * (n * job->dp / grouping.size) + rank / block * stride + rank % stride;
      add_member(r, replica, boundary, &g_array_index(r->groups[group], Group, g), member,
                 grouping.size - 1);
      continue;
    }
    for (gint64 k = 0; k < grouping.size; k++)
      if (k != member)
        add_route(r, replica, boundary, orr_job_gpu(job, stage, rank),
                  orr_job_gpu(job, stage, first + k * stride));
  }
}

/* The tensor-parallel groups' links: other collectives can load them at the same time. */
static void add_group_crossings(Refinement *r, guint32 replica, gint64 stage) {
  const OrrJob *job = r->job;
  const gint64 n = orr_job_replica_ranks(job), first = replica * n;
  for (gint64 t = 0; t < n && job->tp > 1; t++)
    add_route(r, replica, 2 * job->pp + stage, orr_job_gpu(job, stage, first + t),
              orr_job_gpu(job, stage, first + t / job->tp * job->tp + (t + 1) % job->tp));
  add_all_pairs(r, replica, stage, ORR_GROUP_CP);
  add_all_pairs(r, replica, stage, ORR_GROUP_EP);
}

/* The routes to the servers of each rank's file. */
static void add_storage_crossings(Refinement *r, guint32 replica, gint64 stage) {
  const OrrStorage *storage = &r->job->world->cluster->storage;
  const gint64 n = orr_job_replica_ranks(r->job);
  const gint64 stripes = orr_storage_stripes(storage);
  for (gint64 rank = replica * n; rank < (replica + 1) * n; rank++) {
    const gint64 gpu = orr_job_gpu(r->job, stage, rank);
    for (gint64 i = 0; i < 2 * stripes; i++) {
      const gboolean is_read = i >= stripes;
      Crossing crossing = {replica, (2 + ORR_N_GROUPS) * r->job->pp + 2 * stage + is_read,
                           r->links->len, 0, 0};
      crossing.latency_s = orr_fabric_storage_route(r->job->world->fabric, gpu,
                                                    orr_storage_server(storage, gpu, i % stripes),
                                                    is_read, r->links);
      crossing.n = r->links->len - crossing.first;
      g_array_append_val(r->crossings, crossing);
    }
  }
}

/* Each rank's route to its host, and the host's memory. */
static void add_offload_crossings(Refinement *r, guint32 replica, gint64 stage) {
  const OrrFabric *fabric = r->job->world->fabric;
  const gint64 n = orr_job_replica_ranks(r->job);
  for (gint64 rank = replica * n; rank < (replica + 1) * n; rank++) {
    const gint64 gpu = orr_job_gpu(r->job, stage, rank);
    const guint32 memory = orr_fabric_memory_link(fabric, gpu);
    Crossing crossing = {replica, (4 + ORR_N_GROUPS) * r->job->pp + stage, r->links->len, 0, 0};
    for (int back = 0; back < 2; back++) orr_fabric_host_route(fabric, gpu, back, r->links);
    g_array_append_val(r->links, memory);
    crossing.n = r->links->len - crossing.first;
    g_array_append_val(r->crossings, crossing);
  }
}

/* Whether the last stage sends to the first. */
static gboolean wraps(const OrrJob *job) {
  return job->schedule->blocks == ORR_BLOCKS_LOOP && job->shape.chunks > 1;
}

static void add_replica(Refinement *r, guint32 replica) {
  const gint64 pp = r->job->pp;
  const gint64 boundaries = pp == 1 ? 0 : wraps(r->job) ? pp : pp - 1;
  for (gint64 stage = 0; stage < boundaries; stage++) {
    const gint64 next = (stage + 1) % pp;
    add_crossings(r, replica, stage, next, 2 * stage);
    add_crossings(r, replica, next, stage, 2 * stage + 1);
  }
  for (gint64 stage = 0; stage < pp; stage++) add_group_crossings(r, replica, stage);
  for (gint64 stage = 0; stage < pp && orr_job_uses_storage(r->job->params); stage++)
    add_storage_crossings(r, replica, stage);
  for (gint64 stage = 0; stage < pp && orr_training_offload_is_on(r->job->params); stage++)
    add_offload_crossings(r, replica, stage);
}

static guint64 mark_of(const Refinement *r, guint32 link) {
  const OrrMarks *marks = r->job->world->marks;
  return marks && marks->links
             ? (guint64)GPOINTER_TO_SIZE(g_hash_table_lookup(marks->links, GUINT_TO_POINTER(link)))
             : 0;
}

static guint64 load_of(const Refinement *r, guint32 link) { return r->load ? r->load[link] : 0; }

/* Crossings of one boundary and replica follow each other: their mark is hashed once. A link that
 * nothing crosses needs no colour. */
static void colour_links(const Refinement *r) {
  const OrrFabric *fabric = r->job->world->fabric;
  const gint64 n = orr_fabric_n_links(fabric);
  const Crossing *before = NULL;
  guint64 mark = 0;
  memset(r->face, 0, (gsize)n * sizeof *r->face);
  ORR_EACH(const Crossing, crossing, r->crossings) {
    if (!before || crossing->boundary != before->boundary || crossing->replica != before->replica)
      mark = orr_random_hash3(crossing->boundary, r->colour[crossing->replica], 1);
    before = crossing;
    for (guint i = 0; i < crossing->n; i++)
      r->face[g_array_index(r->links, guint32, crossing->first + i)] += mark;
  }
  for (gint64 link = 0; link < n; link++)
    if (r->face[link])
      r->face[link] = orr_random_hash3(orr_number_bits(orr_fabric_link_bandwidth(fabric, link)),
                                       r->face[link] + load_of(r, link) + mark_of(r, link), 3);
}

/* The links in order: a polynomial in an odd number, whose coefficients are hashes. */
static guint64 colour_crossing(const Refinement *r, const Crossing *crossing) {
  const guint64 odd = G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
  guint64 route = 0;
  for (guint i = 0; i < crossing->n; i++)
    route = route * odd + r->face[g_array_index(r->links, guint32, crossing->first + i)];
  return orr_random_hash3(crossing->boundary, orr_number_bits(crossing->latency_s), route);
}

/* Adds the colours of the replicas that each one meets in its expert groups, in any order. */
static void colour_groups(const Refinement *r, guint64 *next) {
  const gint64 span = orr_grouping_span(r->job, ORR_GROUP_EP);
  for (gint64 first = 0; span > 1 && first < r->job->dp; first += span) {
    guint64 sum = 0;
    for (gint64 d = first; d < first + span; d++) sum += orr_random_hash3(r->colour[d], 0, 5);
    for (gint64 d = first; d < first + span; d++) next[d] += orr_random_hash3(sum, 1, 5);
  }
}

static void refine(Refinement *r, guint64 *next) {
  colour_links(r);
  for (gint64 i = 0; i < r->job->dp; i++) next[i] = r->colour[i];
  ORR_EACH(const Crossing, crossing, r->crossings)
    next[crossing->replica] += colour_crossing(r, crossing);
  colour_groups(r, next);
}

/* Numbers the classes in the order of their first replicas. */
static guint number_classes(const guint64 *colour, guint32 n, guint32 *class_of) {
  g_autoptr(GHashTable) known = g_hash_table_new(g_int64_hash, g_int64_equal);
  for (guint32 i = 0; i < n; i++) {
    const gpointer class = g_hash_table_lookup(known, &colour[i]);
    class_of[i] = class ? GPOINTER_TO_UINT(class) - 1 : g_hash_table_size(known);
    if (!class) g_hash_table_insert(known, (gpointer)&colour[i], GUINT_TO_POINTER(class_of[i] + 1));
  }
  return g_hash_table_size(known);
}

/* Marks of the GPUs, each at its rank; and of the first replica, where it alone writes
 * checkpoints. */
static void colour_by_marks(const OrrJob *job, guint64 *colour) {
  const OrrMarks *marks = job->world->marks;
  const gint64 n = orr_job_replica_ranks(job);
  if (orr_job_uses_storage(job->params) && !job->params->checkpoint.sharded)
    colour[0] += orr_random_hash3(1, 1, 7);
  for (gint64 stage = 0; marks && marks->gpus && stage < job->pp; stage++)
    for (gint64 rank = 0; rank < n * job->dp; rank++) {
      const guint64 mark = marks->gpus[orr_job_gpu(job, stage, rank)];
      if (mark) colour[rank / n] += orr_random_hash3(mark, (guint64)(stage * n + rank % n), 6);
    }
}

static void fold_by_colour(OrrFold *fold, const OrrJob *job, const guint64 *load) {
  g_autofree guint64 *colour = g_new0(guint64, job->dp);
  g_autofree guint64 *next = g_new0(guint64, job->dp);
  g_autoptr(GArray) crossings = g_array_new(FALSE, FALSE, sizeof(Crossing));
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autofree guint64 *face = g_new(guint64, orr_fabric_n_links(job->world->fabric));
  Refinement r = {job, load, face, crossings, links, colour, {NULL}};
  const OrrOperatorGroup shared[] = {ORR_GROUP_CP, ORR_GROUP_EP};
  for (guint i = 0; i < G_N_ELEMENTS(shared); i++) r.groups[shared[i]] = find_groups(&r, shared[i]);
  for (gint64 i = 0; i < job->dp; i++) add_replica(&r, i);
  for (guint i = 0; i < G_N_ELEMENTS(shared); i++)
    g_clear_pointer(&r.groups[shared[i]], g_array_unref);
  colour_by_marks(job, colour);
  guint before = 0;
  fold->n = 1;
  while (fold->n > before) {
    before = fold->n;
    refine(&r, next);
    memcpy(colour, next, job->dp * sizeof *next);
    fold->n = number_classes(colour, job->dp, fold->class_of);
  }
}

/* --- classes that are kept --- */

/* All that the classes follow from on a machine as built, without files or hosts: where the ranks
 * are, how they are grouped, and what else loads the links. NULL: something else matters, too. */
static GBytes *key_of(const OrrJob *job, const guint64 *load) {
  const OrrMarks *marks = job->world->marks;
  const gint64 n_ranks = orr_job_replica_ranks(job) * job->dp;
  const gint64 n_links = load ? orr_fabric_n_links(job->world->fabric) : 0;
  const OrrGrouping cp = orr_grouping_of(job, ORR_GROUP_CP),
                    ep = orr_grouping_of(job, ORR_GROUP_EP);
  guint64 hash = 0;
  if ((marks && (marks->gpus || marks->links)) || orr_job_uses_storage(job->params) ||
      orr_training_offload_is_on(job->params))
    return NULL;
  for (gint64 link = 0; link < n_links; link++)
    if (load[link]) hash += orr_random_hash3(load[link], (guint64)link, 8);
  const gint64 shape[] = {job->pp, job->dp,   job->tp, job->cp,    cp.stride,
                          cp.size, ep.stride, ep.size, wraps(job), (gint64)hash};
  const gsize n = G_N_ELEMENTS(shape) + (gsize)(job->pp * n_ranks);
  gint64 *key = g_new(gint64, n), *at = key + G_N_ELEMENTS(shape);
  memcpy(key, shape, sizeof shape);
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (gint64 rank = 0; rank < n_ranks; rank++) *at++ = orr_job_gpu(job, stage, rank);
  return g_bytes_new_take(key, n * sizeof *key);
}

/* Neighbouring points of a sweep differ in what does not move the classes. */
static void find_classes(OrrFold *fold, const OrrJob *job, const guint64 *load) {
  OrrCollectiveCache *cache = job->world->plans;
  const gsize size = job->dp * sizeof *fold->class_of;
  GBytes *key = cache ? key_of(job, load) : NULL;
  GBytes *known = key ? orr_collective_cache_find(cache, job->world->fabric, key) : NULL;
  if (known) {
    memcpy(fold->class_of, g_bytes_get_data(known, NULL), size);
    g_bytes_unref(key);
    fold->n = 0;
    for (gint64 i = 0; i < job->dp; i++) fold->n = MAX(fold->n, fold->class_of[i] + 1);
    return;
  }
  fold_by_colour(fold, job, load);
  if (key)
    orr_collective_cache_keep(cache, job->world->fabric, key, g_bytes_new(fold->class_of, size));
}

static void list_classes(OrrFold *fold, gint64 dp) {
  memset(fold->size, 0, dp * sizeof *fold->size);
  for (gint64 i = dp - 1; i >= 0; i--) {
    fold->first[fold->class_of[i]] = i;
    fold->size[fold->class_of[i]]++;
  }
}

/* The least class in @replica's group: groups of equal classes have the same. */
static guint32 least_class(const OrrFold *fold, gint64 replica) {
  const gint64 begin = replica / fold->span * fold->span;
  guint32 least = fold->class_of[begin];
  for (gint64 d = begin; d < begin + fold->span; d++) least = MIN(least, fold->class_of[d]);
  return least;
}

/* Numbers the groups in the order of their least classes. */
static void list_groups(OrrFold *fold) {
  fold->n_groups = 0;
  fold->uniform = TRUE;
  memset(fold->group_size, 0, fold->n * sizeof *fold->group_size);
  for (guint class = 0; class < fold->n; class ++) {
    const guint32 least = least_class(fold, fold->first[class]);
    fold->group_of[class] = least == class ? fold->n_groups++ : fold->group_of[least];
    if (++fold->group_size[fold->group_of[class]] > 1) fold->uniform = FALSE;
  }
}

void orr_fold_init(OrrFold *fold, const OrrJob *job, OrrFidelity fidelity, const guint64 *load) {
  *fold = (OrrFold){
      .n = job->dp,
      .class_of = g_new0(guint32, job->dp),
      .first = g_new0(guint32, job->dp),
      .size = g_new0(guint32, job->dp),
      .span = orr_grouping_span(job, ORR_GROUP_EP),
      .group_of = g_new0(guint32, job->dp),
      .group_size = g_new0(guint32, job->dp),
  };
  if (fidelity != ORR_FIDELITY_FULL || fold->span > 1) {
    find_classes(fold, job, load);
    list_classes(fold, job->dp);
    list_groups(fold);
  }
  if (fidelity != ORR_FIDELITY_FULL) return;
  const gboolean uniform = fold->span == 1 || fold->uniform;
  fold->n = job->dp;
  for (gint64 i = 0; i < job->dp; i++) fold->class_of[i] = i;
  list_classes(fold, job->dp);
  list_groups(fold);
  fold->uniform = uniform;
}

void orr_fold_clear(OrrFold *fold) {
  guint32 *const lists[] = {fold->class_of, fold->first, fold->size, fold->group_of,
                            fold->group_size};
  for (guint i = 0; i < G_N_ELEMENTS(lists); i++) g_free(lists[i]);
  *fold = (OrrFold){0};
}

gint64 *orr_fold_class_ranks(const OrrFold *fold, const OrrJob *job, guint class) {
  gint64 *firsts = g_new(gint64, fold->size[class]);
  guint n = 0;
  for (gint64 d = fold->first[class]; n < fold->size[class]; d++)
    if (fold->class_of[d] == class) firsts[n++] = d * orr_job_replica_ranks(job);
  return firsts;
}

gint64 *orr_fold_group_ranks(const OrrFold *fold, const OrrJob *job, guint class, guint *ret_n) {
  gint64 *firsts = g_new(gint64, job->dp);
  *ret_n = 0;
  for (gint64 d = 0; d < job->dp; d += fold->span)
    if (fold->group_of[fold->class_of[d]] == fold->group_of[class])
      firsts[(*ret_n)++] = d * orr_job_replica_ranks(job);
  return firsts;
}

guint orr_fold_leader(const OrrFold *fold, guint lane, gint64 span) {
  const guint class = lane % fold->n;
  if (span == 1) return lane;
  for (guint leader = 0; leader < class; leader++)
    if (fold->group_of[leader] == fold->group_of[class]) return lane - class + leader;
  return lane;
}

gboolean orr_fold_meets_none(const OrrFold *fold, gint64 span) {
  return span == 1 || fold->n_groups == fold->n;
}
