/*
 * gang_queue.c - the tree of queues: its document, its limits, and who borrows.
 */
#include "workloads/cluster_jobs/core/gang_queue.h"

const char *const orr_reclaim_words[] = {
    "policy", "never", "lower-priority", "over-quota", "over-fair-share", "fair-sharing", NULL};

#define LIMIT(type_, key_, member_, sentence_)                                                     \
  ORR_FIELD_INT(type_, key_, member_, "-1", sentence_, .min = -1, .max = 1e9)
static const OrrFieldTable quota_table = ORR_FIELDS(
    "queue-quota", "Limits on one kind of GPU.", OrrGangQuota,
    ORR_FIELD_TEXT(OrrGangQuota, "kind", kind, NULL, "The kind of GPU (workload.kinds)."),
    LIMIT(OrrGangQuota, "quota", quota, "GPUs of this kind that are the queue's; -1: all."),
    LIMIT(OrrGangQuota, "borrow", borrow, "Most that it may use beyond; -1: no limit."),
    LIMIT(OrrGangQuota, "lend", lend, "Most of its quota that others may use; -1: all."));

const OrrFieldTable orr_gang_queue_table = ORR_FIELDS(
    "cluster-queue", "A queue, or a group of queues.", OrrGangQueueParams,
    ORR_FIELD_TEXT(OrrGangQueueParams, "name", name, NULL,
                   "The queue, as the trace's column queue has it; 'default' takes the jobs of "
                   "queues that are not listed."),
    ORR_FIELD_TEXT(OrrGangQueueParams, "parent", parent, "",
                   "The queue above it; empty: the cluster."),
    LIMIT(OrrGangQueueParams, "quota", quota,
          "GPUs that are the queue's; -1: the cluster's, or of a queue with others below it, "
          "theirs."),
    LIMIT(OrrGangQueueParams, "borrow", borrow,
          "Most idle GPUs of other queues that it may use beyond its quota; -1: no limit."),
    LIMIT(OrrGangQueueParams, "lend", lend,
          "Most GPUs of its quota that others may use; -1: all of it."),
    ORR_FIELD_SECTIONS(OrrGangQueueParams, "by-kind", by_kind, &quota_table, "[]",
                       "Limits on single kinds of GPUs, in addition to those on all."),
    ORR_POSITIVE_REAL(OrrGangQueueParams, "weight", weight, ORR_UNIT_NONE, "1",
                      "Its weight among its siblings when GPUs beyond the quotas are shared.",
                      .min = 1e-9, .max = 1e9),
    ORR_FIELD_INT(OrrGangQueueParams, "priority", priority, "0",
                  "Siblings of higher priority get all that they ask for beyond quotas first.",
                  .min = -1e9, .max = 1e9),
    ORR_UNSIGNED_REAL(OrrGangQueueParams, "min-run", min_run_s, ORR_UNIT_SECONDS, "0 s",
                      "Time from its start in which a job of the queue cannot be preempted.",
                      .min = 0, .max = ORR_GANG_MOST_S),
    ORR_FIELD_WORD(OrrGangQueueParams, "reclaim", reclaim, orr_reclaim_words, "policy",
                   "What it may take from other queues while it has less than its quota (its fair "
                   "share with over-fair-share): as policy.reclaim says; nothing; jobs of lower "
                   "priority of queues above their quota; any job of such queues; any job of "
                   "queues above their fair share; or, by Kueue's fair sharing, any job of queues "
                   "that borrow more for their weight."));

/* --- Check --- */

static const OrrGangQueueParams *params_at(const GPtrArray *params, guint i) {
  return params->pdata[i];
}

static int find_params(const GPtrArray *params, const char *name) {
  for (guint i = 0; i < params->len; i++)
    if (strcmp(params_at(params, i)->name, name) == 0) return (int)i;
  return -1;
}

static void check_kinds(const OrrGangQueueParams *queue, const char *const *kinds, OrrPlace place,
                        OrrDiags *diags) {
  for (guint k = 0; kinds && k < queue->by_kind->len; k++) {
    const OrrGangQuota *quota = queue->by_kind->pdata[k];
    if (!g_strv_contains(kinds, quota->kind))
      orr_diags_error(diags, place, "queue %s: there is no kind %s in workload.kinds", queue->name,
                      quota->kind);
  }
}

/* A parent is known, and no chain of parents is longer than there are queues. */
static void check_parents(const GPtrArray *params, guint i, OrrPlace place, OrrDiags *diags) {
  const OrrGangQueueParams *queue = params_at(params, i), *at = queue;
  for (guint n = 0; *at->parent; n++) {
    const int parent = find_params(params, at->parent);
    if (parent < 0) {
      if (at == queue)
        orr_diags_error(diags, place, "queue %s: there is no queue %s to be its parent",
                        queue->name, at->parent);
      return;
    }
    if (n > params->len)
      return orr_diags_error(diags, place, "queue %s: its parents form a circle", queue->name);
    at = params_at(params, (guint)parent);
  }
}

void orr_gang_queues_check(const GPtrArray *params, const char *const *kinds, OrrPlace place,
                           OrrDiags *diags) {
  for (guint i = 0; i < params->len; i++) {
    const OrrGangQueueParams *queue = params_at(params, i);
    if (find_params(params, queue->name) != (int)i)
      orr_diags_error(diags, place, "there are two queues %s", queue->name);
    check_kinds(queue, kinds, place, diags);
    check_parents(params, i, place, diags);
  }
}

/* --- Limits --- */

static gint64 limit_of(gint64 stated) { return stated < 0 ? ORR_GANG_UNLIMITED : stated; }

static void set_slot(OrrGangSlot *slot, gint64 quota, gint64 borrow, gint64 lend) {
  *slot = (OrrGangSlot){.quota = quota, .borrow = limit_of(borrow), .lend = limit_of(lend)};
}

static void init_queue(OrrGangQueue *queue, const OrrGangQueueParams *params,
                       const char *const *kinds, guint n_kinds) {
  *queue = (OrrGangQueue){.params = params, .is_leaf = TRUE};
  set_slot(&queue->slots[0], params->quota, params->borrow, params->lend);
  for (guint k = 0; k < n_kinds; k++) {
    set_slot(&queue->slots[k + 1], -1, -1, -1);
    ORR_EACH_POINTER(const OrrGangQuota, of, params->by_kind)
      if (strcmp(of->kind, kinds[k]) == 0)
        set_slot(&queue->slots[k + 1], of->quota, of->borrow, of->lend);
  }
}

/* Quotas of a level from the leaves up: first each slot's quota, where none is stated; then what it
 * keeps, and what it adds to its parent's pool. */
static void settle(OrrGangQueues *queues, guint i, guint slot, gint64 capacity) {
  OrrGangSlot *own = &queues->all[i].slots[slot];
  gint64 claimed = 0, pooled = 0;
  for (guint c = 1; c < queues->n; c++) {
    if (queues->all[c].parent != (int)i) continue;
    settle(queues, c, slot, capacity);
    claimed += queues->all[c].slots[slot].quota;
    pooled += queues->all[c].slots[slot].subtree - queues->all[c].slots[slot].kept;
  }
  if (own->quota < 0) own->quota = queues->all[i].is_leaf ? capacity : claimed;
  own->subtree = MAX(0, own->quota - claimed) + pooled;
  own->kept = own->lend < ORR_GANG_UNLIMITED ? MAX(0, own->subtree - own->lend) : 0;
}

void orr_gang_queues_init(OrrGangQueues *queues, const GPtrArray *params, const char *const *kinds,
                          const gint64 *kind_gpus, guint n_kinds) {
  const guint n = params ? params->len : 0;
  *queues = (OrrGangQueues){.n = n + 1, .n_kinds = n_kinds};
  queues->all = g_new0(OrrGangQueue, n + 1);
  queues->all[0] = (OrrGangQueue){.parent = -1, .is_leaf = n == 0};
  gint64 all = 0;
  for (guint k = 0; k < n_kinds; k++) all += kind_gpus[k];
  for (guint s = 0; s <= n_kinds; s++)
    set_slot(&queues->all[0].slots[s], s == 0 ? all : kind_gpus[s - 1], -1, -1);
  for (guint i = 0; i < n; i++)
    init_queue(&queues->all[i + 1], params_at(params, i), kinds, n_kinds);
  for (guint i = 1; i <= n; i++) {
    queues->all[i].parent = find_params(params, queues->all[i].params->parent) + 1;
    queues->all[queues->all[i].parent].is_leaf = FALSE;
  }
  for (guint s = 0; s <= n_kinds; s++) settle(queues, 0, s, queues->all[0].slots[s].quota);
  queues->capacity[ORR_GANG_GPUS] = (double)all;
}

void orr_gang_queues_copy(OrrGangQueues *queues, const OrrGangQueues *from) {
  OrrGangQueue *all = queues->all ? queues->all : g_new(OrrGangQueue, from->n);
  *queues = *from;
  queues->all = memcpy(all, from->all, sizeof(OrrGangQueue) * from->n);
}

void orr_gang_queues_clear(OrrGangQueues *queues) { g_clear_pointer(&queues->all, g_free); }

int orr_gang_queues_find(const OrrGangQueues *queues, const char *name) {
  int other = queues->n == 1 ? 0 : -1;
  for (guint i = 1; i < queues->n; i++) {
    const OrrGangQueue *queue = &queues->all[i];
    if (!queue->is_leaf) continue;
    if (strcmp(queue->params->name, name) == 0) return (int)i;
    if (strcmp(queue->params->name, "default") == 0) other = (int)i;
  }
  return other;
}

gint64 orr_gang_queues_available(const OrrGangQueues *queues, guint i, guint slot,
                                 gboolean borrows) {
  const OrrGangQueue *queue = &queues->all[i];
  const OrrGangSlot *own = &queue->slots[slot];
  if (queue->parent < 0 || !borrows)
    return (queue->parent < 0 ? own->subtree : own->quota) - own->used;
  const gint64 above = orr_gang_queues_available(queues, (guint)queue->parent, slot, TRUE);
  const gint64 pooled = own->subtree - own->kept - MAX(0, own->used - own->kept) + own->borrow;
  return MAX(0, own->kept - own->used) + MIN(above, pooled);
}

gboolean orr_gang_queues_admit(const OrrGangQueues *queues, guint i, guint kind, gint64 gpus,
                               gboolean borrows) {
  return orr_gang_queues_available(queues, i, 0, borrows) >= gpus &&
         orr_gang_queues_available(queues, i, kind + 1, borrows) >= gpus;
}

/* GPUs that a queue keeps for itself are used first, and returned last. */
static void use(OrrGangQueues *queues, guint i, guint slot, gint64 gpus) {
  OrrGangSlot *own = &queues->all[i].slots[slot];
  const gint64 before = MAX(0, own->used - own->kept);
  own->used += gpus;
  const gint64 more = MAX(0, own->used - own->kept) - before;
  if (queues->all[i].parent >= 0 && more != 0)
    use(queues, (guint)queues->all[i].parent, slot, more);
}

static void add_resources(OrrGangQueue *queue, const OrrGangJob *job, const double *capacity,
                          int sign) {
  const double asked[ORR_GANG_RESOURCES] = {(double)job->gpus, job->cpus, job->memory_bytes};
  queue->dominant = 0;
  for (guint r = 0; r < ORR_GANG_RESOURCES; r++) {
    queue->resources[r] += sign * asked[r];
    if (capacity[r] > 0) queue->dominant = fmax(queue->dominant, queue->resources[r] / capacity[r]);
  }
}

void orr_gang_queues_run(OrrGangQueues *queues, guint i, const OrrGangJob *job, int sign) {
  if (sign > 0) g_assert(orr_gang_queues_admit(queues, i, job->kind, job->gpus, TRUE));
  use(queues, i, 0, sign * job->gpus);
  use(queues, i, job->kind + 1, sign * job->gpus);
  for (int at = (int)i; at >= 0; at = queues->all[at].parent) {
    queues->all[at].held += sign * job->gpus;
    add_resources(&queues->all[at], job, queues->capacity, sign);
  }
}

/* Whether @above is @i or a queue above it. */
static gboolean is_above(const OrrGangQueues *queues, int above, guint i) {
  for (int at = (int)i; at >= 0; at = queues->all[at].parent)
    if (at == above) return TRUE;
  return FALSE;
}

gboolean orr_gang_queues_borrows(const OrrGangQueues *queues, guint i, guint other) {
  for (int at = (int)i; at > 0 && !is_above(queues, at, other); at = queues->all[at].parent)
    for (guint s = 0; s <= queues->n_kinds; s++) {
      const OrrGangQueue *queue = &queues->all[at];
      if (s == 0 ? queue->held > queue->slots[0].quota
                 : queue->slots[s].used > queue->slots[s].quota)
        return TRUE;
    }
  return FALSE;
}

gboolean orr_gang_queues_is_over_share(const OrrGangQueues *queues, guint i, guint other) {
  for (int at = (int)i; at > 0 && !is_above(queues, at, other); at = queues->all[at].parent)
    if ((double)queues->all[at].held > queues->all[at].share + 1e-9) return TRUE;
  return FALSE;
}

double orr_gang_queues_excess(const OrrGangQueues *queues, guint i, guint other, gint64 more) {
  guint top = i;
  for (int at = (int)i; at > 0 && !is_above(queues, at, other); at = queues->all[at].parent)
    top = (guint)at;
  const OrrGangQueue *queue = &queues->all[top];
  const double gpus = (double)MAX(0, queue->held + more - queue->slots[0].quota);
  const double weight = queue->params ? queue->params->weight : 1;
  return gpus > 0 ? gpus / weight : 0;
}

/* --- Fair shares --- */

static double filled(const OrrGangFill *fill, double level) {
  return fmax(fmin(fill->asked, fill->quota),
              fmin(fill->asked, fill->quota + fill->weight * level));
}

/* The level at which queues of @priority have taken @rest beyond what they have: levels at which
 * one is content, in rising order, and between two of them a straight line. */
static void fill_priority(OrrGangFill *fills, guint n, gint64 priority, double *rest) {
  double level = 0;
  while (*rest > 1e-12) {
    double weights = 0, next = INFINITY;
    for (guint i = 0; i < n; i++) {
      const double content = (fills[i].asked - fills[i].quota) / fills[i].weight;
      if (fills[i].priority != priority || !(content > level)) continue;
      weights += fills[i].weight;
      next = fmin(next, content);
    }
    if (!(weights > 0)) break;
    const double to = fmin(next, level + *rest / weights);
    *rest -= (to - level) * weights;
    if (!(to > level)) break;
    level = to;
  }
  for (guint i = 0; i < n; i++)
    if (fills[i].priority == priority) fills[i].share = filled(&fills[i], level);
}

static gboolean next_priority(const OrrGangFill *fills, guint n, gint64 below, gint64 *ret) {
  gboolean found = FALSE;
  for (guint i = 0; i < n; i++)
    if (fills[i].priority < below && (!found || fills[i].priority > *ret)) {
      *ret = fills[i].priority;
      found = TRUE;
    }
  return found;
}

void orr_gang_fill_shares(OrrGangFill *fills, guint n, double capacity) {
  double rest = capacity, deserved = 0;
  for (guint i = 0; i < n; i++) {
    fills[i].share = fmin(fills[i].asked, fills[i].quota);
    deserved += fills[i].share;
  }
  for (guint i = 0; deserved > capacity && i < n; i++) fills[i].share *= capacity / deserved;
  rest -= deserved;
  if (rest <= 0) return;
  gint64 priority = G_MAXINT64;
  while (next_priority(fills, n, priority, &priority)) fill_priority(fills, n, priority, &rest);
}

static void share_below(OrrGangQueues *queues, guint i) {
  g_autofree OrrGangFill *fills = g_new0(OrrGangFill, queues->n);
  guint n = 0;
  for (guint c = 1; c < queues->n; c++) {
    const OrrGangQueue *queue = &queues->all[c];
    if (queue->parent == (int)i)
      fills[n++] = (OrrGangFill){.quota = (double)queue->slots[0].quota,
                                 .asked = (double)queue->asked,
                                 .weight = queue->params->weight,
                                 .priority = queue->params->priority};
  }
  orr_gang_fill_shares(fills, n, queues->all[i].share);
  n = 0;
  for (guint c = 1; c < queues->n; c++) {
    if (queues->all[c].parent != (int)i) continue;
    queues->all[c].share = fills[n++].share;
    share_below(queues, c);
  }
}

void orr_gang_queues_share(OrrGangQueues *queues) {
  queues->all[0].share = queues->capacity[ORR_GANG_GPUS];
  share_below(queues, 0);
}
