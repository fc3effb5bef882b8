/*
 * training_layers - the collectives inside layers: of the tensor-, context- and expert-parallel
 * groups of each lane.
 *
 * Where nobody else can use a group's links at the time, its time alone on the fabric is its time,
 * and it becomes part of the lane's work (plan->alone); else each is a communication of its own,
 * which loads the links of all the groups that the lane stands for.
 */
#include "workloads/training/training_private.h"

static const OrrCollectiveOp ops[] = {
    [ORR_COMM_ALL_REDUCE] = ORR_ALL_REDUCE,         [ORR_COMM_ALL_GATHER] = ORR_ALL_GATHER,
    [ORR_COMM_REDUCE_SCATTER] = ORR_REDUCE_SCATTER, [ORR_COMM_ALL_TO_ALL] = ORR_ALL_TO_ALL,
    [ORR_COMM_SEND_RECV] = ORR_SEND_RECV,
};

const char *orr_training_comm_name(int group, int comm) {
  g_autofree char *name =
      g_strconcat(orr_group_words[group], "-", orr_collective_words[ops[comm]], NULL);
  return g_intern_string(name);
}

guint orr_training_leader(const OrrTrainingPlan *plan, const OrrJob *job, guint lane, int group) {
  const OrrFold *fold = &plan->fold;
  const guint class = lane % fold->n;
  if (orr_group_span(job, group) == 1) return lane;
  for (guint leader = 0; leader < class; leader++)
    if (fold->team_of[leader] == fold->team_of[class]) return lane - class + leader;
  return lane;
}

const OrrWire *orr_training_group_wire(const OrrTrainingPlan *plan, guint lane,
                                       const OrrSegment *segment) {
  const GArray *wires =
      plan->group_wires[orr_training_leader(plan, plan->wires.job, lane, segment->group)];
  for (guint i = 0; i < wires->len; i++) {
    const OrrGroupWire *known = &g_array_index(wires, OrrGroupWire, i);
    if (known->group == segment->group && known->comm == segment->comm &&
        known->bytes == segment->comm_bytes)
      return &known->wire;
  }
  return NULL;
}

/* First ranks of the teams like that of @class; newly allocated. */
static gint64 *team_ranks(const OrrTrainingPlan *plan, const OrrJob *job, guint class,
                          guint *ret_n) {
  const OrrFold *fold = &plan->fold;
  gint64 *firsts = g_new(gint64, job->dp);
  *ret_n = 0;
  for (gint64 d = 0; d < job->dp; d += fold->span)
    if (fold->team_of[fold->class_of[d]] == fold->team_of[class])
      firsts[(*ret_n)++] = d * orr_job_replica_ranks(job);
  return firsts;
}

/* What an all-to-all between experts carries. Its bytes hold the fullest rank's share, the
 * capacity and the format. */
static OrrExpertExchange exchange_of(const OrrJob *job, const OrrSegment *segment) {
  const OrrMoe *moe = &job->world->model->moe;
  const OrrShard *shard = &job->shard;
  const double split = (double)shard->cp * (shard->sequence_parallel ? (double)shard->tp : 1);
  const double tokens = (double)(shard->micro_batch * shard->sequence) / split;
  const gint64 width = moe->latent ? moe->latent : job->world->model->hidden;
  const double each = segment->comm_bytes / (tokens * (double)(moe->topk * width));
  const double pairs =
      (shard->capacity > 0 ? shard->capacity : 1) * (shard->fullest > 0 ? shard->fullest : 1);
  return (OrrExpertExchange){.tokens = tokens,
                             .hidden = width,
                             .topk = moe->topk,
                             .experts = moe->experts,
                             .bytes_per_element = each,
                             .experts_dtype = shard->recipe->forward,
                             .is_combine = each / pairs > 0.999 * orr_dtype_bytes(shard->dtype),
                             .most_domains = job->params->experts.nodes};
}

/* The calls of @segment's group in the replicas of a lane's class or team, or in the first of
 * them alone. */
static void lane_calls(OrrCalls *calls, const OrrTrainingPlan *plan, const OrrJob *job, guint lane,
                       const OrrSegment *segment, gboolean whole_class) {
  const guint class = lane % plan->fold.n;
  const gint64 span = orr_group_span(job, segment->group);
  guint n = plan->fold.size[class];
  g_autofree gint64 *firsts =
      span > 1 ? team_ranks(plan, job, class, &n) : orr_training_class_ranks(plan, job, class);
  orr_calls_of(calls, job, ops[segment->comm], segment->comm_bytes,
               orr_group_comb(job, segment->group), lane / plan->fold.n, firsts,
               whole_class ? n : 1, span * orr_job_replica_ranks(job));
}

static gboolean is_same(const OrrSegment *a, const OrrSegment *b) {
  return a->comm == b->comm && a->group == b->group && a->comm_bytes == b->comm_bytes;
}

/* Calls like @segment's in a step of a lane of @stage. */
static gint64 count_of(const OrrJob *job, const OrrTrainingCosts *costs, gint64 stage,
                       const OrrSegment *segment) {
  gint64 count = 0;
  for (guint part = 0; part < costs->n_parts; part++) {
    gint64 each = 0;
    for (int kind = ORR_RUN_FORWARD; kind <= ORR_RUN_BACKWARD; kind++) {
      const GArray *segments = costs->parts[part].runs[kind].segments;
      for (guint i = 0; i < segments->len; i++)
        each += is_same(&g_array_index(segments, OrrSegment, i), segment);
    }
    count += each * orr_job_count(job, stage, part) * orr_job_passes(job);
  }
  return count;
}

static gboolean plan_run(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs,
                         guint lane, const OrrRun *run, gboolean whole_class, GError **error) {
  for (guint i = 0; i < run->segments->len; i++) {
    const OrrSegment *segment = &g_array_index(run->segments, OrrSegment, i);
    if (segment->comm < 0 || orr_training_group_wire(plan, lane, segment)) continue;
    const guint leader = orr_training_leader(plan, job, lane, segment->group);
    OrrGroupWire wire = {segment->group, segment->comm, segment->comm_bytes, {0}};
    OrrCalls calls;
    lane_calls(&calls, plan, job, leader, segment, whole_class);
    const OrrExpertExchange exchange =
        segment->group == ORR_GROUP_EP ? exchange_of(job, segment) : (OrrExpertExchange){0};
    for (guint c = 0; c < calls.n_calls && exchange.topk > 0; c++)
      calls.calls[c].exchange = &exchange;
    const gboolean planned = orr_wires_join(
        &plan->wires, orr_training_comm_name(segment->group, segment->comm),
        count_of(job, costs, lane / plan->fold.n, segment), &calls, &wire.wire, error);
    orr_calls_clear(&calls);
    if (!planned) return FALSE;
    g_array_append_val(plan->group_wires[leader], wire);
  }
  return TRUE;
}

static void clear_lane(OrrTrainingPlan *plan, guint lane) {
  GArray *wires = plan->group_wires[lane];
  for (guint i = 0; i < wires->len; i++)
    orr_wire_clear(&g_array_index(wires, OrrGroupWire, i).wire);
  g_array_set_size(wires, 0);
}

static gboolean plan_lanes(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs,
                           gboolean whole_class, GError **error) {
  for (guint lane = 0; lane < job->pp * plan->fold.n; lane++) {
    clear_lane(plan, lane);
    for (guint part = 0; part < costs->n_parts; part++)
      for (int kind = 0; kind < ORR_N_RUNS && orr_job_count(job, lane / plan->fold.n, part) > 0;
           kind++)
        if (!plan_run(plan, job, costs, lane, &costs->parts[part].runs[kind], whole_class, error))
          return FALSE;
  }
  return TRUE;
}

/* Whether the wire has a link of that kind. */
static gboolean has_kind(const OrrTrainingPlan *plan, const OrrJob *job, const OrrWire *wire,
                         const char *kind) {
  for (guint p = 0; p < wire->n_phases; p++) {
    guint n = 0;
    if (wire->phases[p].path == ORR_NO_PATH) continue;
    const OrrLinkUse *uses = orr_program_path_uses(plan->wires.program, wire->phases[p].path, &n);
    for (guint i = 0; i < n; i++) {
      const guint32 link = g_array_index(plan->wires.links, guint32, uses[i].link);
      if (g_str_equal(orr_fabric_link_kind(job->world->fabric, link), kind)) return TRUE;
    }
  }
  return FALSE;
}

/* Other jobs may load what is not a GPU's own: links of switches, and of network cards that GPUs
 * share. */
static gboolean is_private(const OrrTrainingPlan *plan, const OrrJob *job, const OrrWire *wire) {
  return !has_kind(plan, job, wire, "nic") && !has_kind(plan, job, wire, "fabric");
}

/* Links whose bandwidth may change make no part of a lane's work. */
static gboolean is_marked(const OrrTrainingPlan *plan, const OrrJob *job, const OrrWire *wire) {
  const OrrMarks *marks = job->world->marks;
  for (guint p = 0; marks && marks->links && p < wire->n_phases; p++) {
    guint n = 0;
    if (wire->phases[p].path == ORR_NO_PATH) continue;
    const OrrLinkUse *uses = orr_program_path_uses(plan->wires.program, wire->phases[p].path, &n);
    for (guint i = 0; i < n; i++)
      if (g_hash_table_contains(marks->links, GUINT_TO_POINTER(g_array_index(
                                                  plan->wires.links, guint32, uses[i].link))))
        return TRUE;
  }
  return FALSE;
}

/* Whether no other transfer may use the wire's links: those of PCIe switches are other lanes'
 * too. */
static gboolean is_alone(const OrrTrainingPlan *plan, const OrrJob *job, guint class,
                         const OrrWire *wire) {
  if (is_marked(plan, job, wire) || has_kind(plan, job, wire, "node")) return FALSE;
  if (job->world->is_shared && !is_private(plan, job, wire)) return FALSE;
  for (gint64 s = 0; s < 2 * job->pp; s++)
    if (orr_wires_meet(&plan->wires, wire, &plan->transfers[class * job->pp * 2 + s])) return FALSE;
  return !orr_wires_touch(&plan->wires, wire, plan->beside);
}

/* Links of what all replicas do together beside their layers: asked for every wire of every
 * class, so gathered once. */
static void gather_beside(OrrTrainingPlan *plan, const OrrJob *job) {
  plan->beside = g_new0(guint8, orr_fabric_n_links(job->world->fabric));
  orr_offload_cover(plan, job, plan->beside);
  for (int share = 0; share < ORR_N_SHARES; share++) {
    for (guint i = 0; i < (guint)job->pp * job->layout.parts->len; i++)
      orr_wires_cover(&plan->wires, &plan->weights[share][i], plan->beside);
    for (gint64 s = 0; job->sharding.overlap && s < job->pp; s++)
      if (plan->buckets[share][s]->len > 0)
        orr_wires_cover(&plan->wires, g_array_index(plan->buckets[share][s], OrrBucket, 0).wire,
                        plan->beside);
  }
}

/* Outside scale-up domains, where every GPU has links of its own, other lanes' groups cross the
 * same links. */
static gboolean stays_inside(const OrrJob *job, gint64 stage, OrrComb comb) {
  const OrrFabric *fabric = job->world->fabric;
  const gint64 n = orr_job_replica_ranks(job) * job->dp, block = comb.stride * comb.size;
  for (gint64 rank = 0; rank < n; rank++) {
    const gint64 head = orr_job_gpu(job, stage, rank / block * block + rank % comb.stride);
    if (!orr_fabric_same_domain(fabric, head, orr_job_gpu(job, stage, rank))) return FALSE;
  }
  return TRUE;
}

static void find_alone(OrrTrainingPlan *plan, const OrrJob *job) {
  plan->by_turns = job->schedule->blocks == ORR_BLOCKS_BIDIRECTIONAL && job->ep > 1;
  for (int group = 0; group < ORR_N_GROUPS; group++) {
    plan->alone[group] = (orr_group_span(job, group) == 1 || plan->fold.uniform) && !plan->by_turns;
    if (group == ORR_GROUP_TP) continue; /* told by what it meets */
    for (gint64 stage = 0; stage < job->pp && plan->alone[group]; stage++)
      plan->alone[group] = stays_inside(job, stage, orr_group_comb(job, group));
  }
  for (guint lane = 0; lane < job->pp * plan->fold.n; lane++) {
    const GArray *wires = plan->group_wires[lane];
    for (guint i = 0; i < wires->len; i++) {
      const OrrGroupWire *wire = &g_array_index(wires, OrrGroupWire, i);
      if (plan->alone[wire->group] && !is_alone(plan, job, lane % plan->fold.n, &wire->wire))
        plan->alone[wire->group] = FALSE;
    }
  }
  plan->all_alone = TRUE;
  for (int group = 0; group < ORR_N_GROUPS; group++)
    if (orr_group_comb(job, group).size > 1 && !plan->alone[group]) plan->all_alone = FALSE;
}

gboolean orr_training_plan_layers(OrrTrainingPlan *plan, const OrrJob *job,
                                  const OrrTrainingCosts *costs, GError **error) {
  const guint n_lanes = plan->fold.n * job->pp;
  plan->group_wires = g_new0(GArray *, n_lanes + 1);
  for (guint lane = 0; lane < n_lanes; lane++)
    plan->group_wires[lane] = g_array_new(FALSE, FALSE, sizeof(OrrGroupWire));
  if (!plan_lanes(plan, job, costs, FALSE, error)) return FALSE;
  gather_beside(plan, job);
  find_alone(plan, job);
  return plan->all_alone || plan_lanes(plan, job, costs, TRUE, error);
}

void orr_training_clear_layers(OrrTrainingPlan *plan) {
  for (guint lane = 0; plan->group_wires && plan->group_wires[lane]; lane++) {
    clear_lane(plan, lane);
    g_array_unref(plan->group_wires[lane]);
  }
  g_clear_pointer(&plan->group_wires, g_free);
  g_clear_pointer(&plan->beside, g_free);
}
