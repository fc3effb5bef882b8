/*
 * training_layers - plans the collectives inside layers.
 *
 * Where no other transfer can use a group's links at the time, the time of its collective on an
 * idle fabric is its time, and it becomes part of the lane's work (`alone`). Else each collective
 * is a communication of its own, which loads the links of all groups that the lane represents.
 *
 * So collectives are planned twice: first for one group per lane, which is enough for their time;
 * then, unless all are alone, for all groups of the lane's class.
 */
#include "workloads/training/comm/training_plan.h"

typedef struct {
  int group, comm; /* OrrOperatorGroup, OrrOperatorComm */
  double bytes;
  OrrCommPlan plan;
} GroupComm;

static const OrrCollectiveOp ops[] = {
    [ORR_COMM_ALL_REDUCE] = ORR_ALL_REDUCE,         [ORR_COMM_ALL_GATHER] = ORR_ALL_GATHER,
    [ORR_COMM_REDUCE_SCATTER] = ORR_REDUCE_SCATTER, [ORR_COMM_ALL_TO_ALL] = ORR_ALL_TO_ALL,
    [ORR_COMM_SEND_RECV] = ORR_SEND_RECV,
};

const char *orr_layer_traffic_name(const OrrSegment *segment) {
  g_autofree char *name = g_strconcat(orr_group_words[segment->group], "-",
                                      orr_collective_words[ops[segment->comm]], NULL);
  return g_intern_string(name);
}

static guint leader_of(const OrrLayerTraffic *layers, guint lane, int group) {
  return orr_fold_leader(layers->fold, lane, orr_grouping_span(layers->job, group));
}

const OrrCommPlan *orr_layer_traffic_of(const OrrLayerTraffic *layers, guint lane,
                                        const OrrSegment *segment) {
  const GArray *comms = layers->comms[leader_of(layers, lane, segment->group)];
  ORR_EACH(const GroupComm, known, comms)
    if (known->group == segment->group && known->comm == segment->comm &&
        known->bytes == segment->comm_bytes)
      return &known->plan;
  return NULL;
}

/* --- planning --- */

typedef struct {
  OrrLayerTraffic *layers;
  const OrrLayerInputs *inputs;
  const OrrJob *job;
  gboolean whole_class; /* all groups of the lane's class; otherwise one replica's */
} Planner;

/* What an all-to-all between experts carries. Its bytes already include the fullest rank's load,
 * the capacity and the format. */
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
                             .most_domains = job->params->experts.nodes,
                             .in_turn = job->params->experts.choice == ORR_CHOICE_IN_TURN};
}

/* The calls of @segment's group, in the replicas that @lane represents. */
static void lane_calls(const Planner *planner, guint lane, const OrrSegment *segment,
                       OrrCalls *calls) {
  const OrrJob *job = planner->job;
  const OrrFold *fold = planner->layers->fold;
  const guint class = lane % fold->n;
  const gint64 span = orr_grouping_span(job, segment->group);
  guint n = fold->size[class];
  g_autofree gint64 *firsts = span > 1 ? orr_fold_group_ranks(fold, job, class, &n)
                                       : orr_fold_class_ranks(fold, job, class);
  const OrrCallSpec spec = {ops[segment->comm], segment->comm_bytes,
                            orr_grouping_of(job, segment->group)};
  const OrrRankRanges ranges = {lane / fold->n, firsts, planner->whole_class ? n : 1,
                                span * orr_job_replica_ranks(job)};
  orr_calls_within(calls, job, &spec, &ranges);
}

/* Between experts: not the gather of their routing map. */
static gboolean is_exchange(const OrrSegment *segment) {
  return segment->group == ORR_GROUP_EP && segment->comm == ORR_COMM_ALL_TO_ALL;
}

static gboolean is_same(const OrrSegment *a, const OrrSegment *b) {
  return a->comm == b->comm && a->group == b->group && a->comm_bytes == b->comm_bytes;
}

double orr_layer_traffic_alone_s(const OrrTraffic *traffic, gint64 stage,
                                 const OrrSegment *segment) {
  const OrrJob *job = traffic->job;
  const gint64 first = 0;
  const OrrGrouping grouping = orr_grouping_of(job, segment->group);
  const OrrCallSpec spec = {ops[segment->comm], segment->comm_bytes, grouping};
  const OrrExpertExchange exchange = exchange_of(job, segment);
  OrrCalls calls;
  orr_calls_within(&calls, job, &spec, &(OrrRankRanges){stage, &first, 1, grouping.size});
  if (is_exchange(segment) && exchange.topk > 0) calls.calls[0].exchange = &exchange;
  const double seconds = orr_traffic_alone_s(traffic, &calls.calls[0]);
  orr_calls_clear(&calls);
  return seconds;
}

/* How often a step of a lane of @stage calls what @segment does. */
static gint64 count_of(const Planner *planner, gint64 stage, const OrrSegment *segment) {
  const OrrJob *job = planner->job;
  const OrrTrainingCosts *costs = planner->inputs->costs;
  gint64 count = 0;
  for (guint spec = 0; spec < costs->n_specs; spec++) {
    gint64 each = 0;
    for (int kind = ORR_RUN_FORWARD; kind <= ORR_RUN_BACKWARD; kind++) {
      const GArray *segments = costs->layers[spec].runs[kind].segments;
      ORR_EACH(OrrSegment, one, segments) each += is_same(one, segment);
    }
    count += each * orr_job_n_layers(job, stage, spec) * orr_job_passes(job);
  }
  return count;
}

static gboolean plan_segment(const Planner *planner, guint lane, const OrrSegment *segment,
                             GError **error) {
  OrrLayerTraffic *layers = planner->layers;
  const guint leader = leader_of(layers, lane, segment->group);
  GroupComm comm = {segment->group, segment->comm, segment->comm_bytes, {0}};
  OrrCalls calls;
  lane_calls(planner, leader, segment, &calls);
  const OrrExpertExchange exchange =
      is_exchange(segment) ? exchange_of(planner->job, segment) : (OrrExpertExchange){0};
  for (guint c = 0; c < calls.n_calls && exchange.topk > 0; c++)
    calls.calls[c].exchange = &exchange;
  const gint64 count = count_of(planner, lane / layers->fold->n, segment);
  const gboolean planned = orr_traffic_plan(
      planner->inputs->traffic, orr_layer_traffic_name(segment), count, &calls, &comm.plan, error);
  orr_calls_clear(&calls);
  if (planned) g_array_append_val(layers->comms[leader], comm);
  return planned;
}

static gboolean plan_run(const Planner *planner, guint lane, const OrrRun *run, GError **error) {
  ORR_EACH(const OrrSegment, segment, run->segments) {
    if (segment->comm < 0 || orr_layer_traffic_of(planner->layers, lane, segment)) continue;
    if (!plan_segment(planner, lane, segment, error)) return FALSE;
  }
  return TRUE;
}

static void clear_lane(OrrLayerTraffic *layers, guint lane) {
  GArray *comms = layers->comms[lane];
  ORR_EACH(GroupComm, comm, comms) orr_comm_plan_clear(&comm->plan);
  g_array_set_size(comms, 0);
}

static gboolean plan_lanes(const Planner *planner, GError **error) {
  const OrrJob *job = planner->job;
  const OrrTrainingCosts *costs = planner->inputs->costs;
  const guint n_classes = planner->layers->fold->n;
  for (guint lane = 0; lane < job->pp * n_classes; lane++) {
    clear_lane(planner->layers, lane);
    for (guint spec = 0; spec < costs->n_specs; spec++)
      for (int kind = 0; kind < ORR_N_RUNS && orr_job_n_layers(job, lane / n_classes, spec) > 0;
           kind++)
        if (!plan_run(planner, lane, &costs->layers[spec].runs[kind], error)) return FALSE;
  }
  return TRUE;
}

/* --- who is alone --- */

/* Links of switches, and of network cards that GPUs share: other jobs can load them. */
static gboolean is_public(guint32 link, gconstpointer fabric) {
  const char *kind = orr_fabric_link_kind(fabric, link);
  return g_str_equal(kind, "nic") || g_str_equal(kind, "fabric");
}

/* Links of PCIe switches, which other lanes use, too. */
static gboolean is_node(guint32 link, gconstpointer fabric) {
  return g_str_equal(orr_fabric_link_kind(fabric, link), "node");
}

/* Links whose bandwidth can change: what uses them must not become part of a lane's work. */
static gboolean is_marked(guint32 link, gconstpointer marks) {
  return g_hash_table_contains((GHashTable *)marks, GUINT_TO_POINTER(link));
}

/* Whether no other transfer can use @plan's links at the same time. */
static gboolean is_alone(const Planner *planner, guint class, const OrrCommPlan *plan) {
  const OrrJob *job = planner->job;
  const OrrTraffic *traffic = planner->inputs->traffic;
  const OrrFabric *fabric = job->world->fabric;
  const OrrMarks *marks = job->world->marks;
  const OrrCommPlan *transfers = &planner->inputs->stages->transfers[class * job->pp * 2];
  if (job->world->keeps_calls) return FALSE;
  if (marks && marks->links && orr_traffic_any_link(traffic, plan, is_marked, marks->links))
    return FALSE;
  if (orr_traffic_any_link(traffic, plan, is_node, fabric)) return FALSE;
  if (job->world->is_shared && orr_traffic_any_link(traffic, plan, is_public, fabric)) return FALSE;
  for (gint64 s = 0; s < 2 * job->pp; s++)
    if (orr_traffic_meet(traffic, plan, &transfers[s])) return FALSE;
  return !orr_traffic_touches(traffic, plan, planner->inputs->busy);
}

/* Whether all groups lie within scale-up domains, where every GPU has links of its own. Outside,
 * the groups of other lanes cross the same links. */
static gboolean stays_inside(const OrrJob *job, gint64 stage, OrrGrouping grouping) {
  const OrrFabric *fabric = job->world->fabric;
  const gint64 n = orr_job_replica_ranks(job) * job->dp, block = grouping.stride * grouping.size;
  for (gint64 rank = 0; rank < n; rank++) {
    const gint64 head = orr_job_gpu(job, stage, rank / block * block + rank % grouping.stride);
    if (!orr_fabric_same_domain(fabric, head, orr_job_gpu(job, stage, rank))) return FALSE;
  }
  return TRUE;
}

/* Tensor-parallel groups are judged only by the transfers that they meet. */
static gboolean can_be_alone(const OrrLayerTraffic *layers, int group) {
  const OrrJob *job = layers->job;
  if (layers->interleaves) return FALSE;
  if (orr_grouping_span(job, group) > 1 && !layers->fold->uniform) return FALSE;
  for (gint64 stage = 0; stage < job->pp && group != ORR_GROUP_TP; stage++)
    if (!stays_inside(job, stage, orr_grouping_of(job, group))) return FALSE;
  return TRUE;
}

static void find_alone(const Planner *planner) {
  OrrLayerTraffic *layers = planner->layers;
  const OrrJob *job = planner->job;
  for (int group = 0; group < ORR_N_GROUPS; group++)
    layers->alone[group] = can_be_alone(layers, group);
  for (guint lane = 0; lane < job->pp * layers->fold->n; lane++)
    ORR_EACH(const GroupComm, comm, layers->comms[lane])
      if (layers->alone[comm->group] && !is_alone(planner, lane % layers->fold->n, &comm->plan))
        layers->alone[comm->group] = FALSE;
  layers->all_alone = TRUE;
  for (int group = 0; group < ORR_N_GROUPS; group++)
    if (orr_grouping_of(job, group).size > 1 && !layers->alone[group]) layers->all_alone = FALSE;
}

gboolean orr_layer_traffic_init(OrrLayerTraffic *layers, const OrrLayerInputs *inputs,
                                GError **error) {
  const OrrJob *job = inputs->traffic->job;
  const guint n_lanes = inputs->fold->n * job->pp;
  *layers = (OrrLayerTraffic){
      .job = job,
      .fold = inputs->fold,
      .comms = g_new0(GArray *, n_lanes + 1),
      .interleaves =
          (job->schedule->blocks == ORR_BLOCKS_BIDIRECTIONAL || job->shape.pairs) && job->ep > 1,
  };
  Planner planner = {layers, inputs, job, FALSE};
  for (guint lane = 0; lane < n_lanes; lane++)
    layers->comms[lane] = g_array_new(FALSE, FALSE, sizeof(GroupComm));
  if (!plan_lanes(&planner, error)) return FALSE;
  find_alone(&planner);
  planner.whole_class = TRUE;
  return layers->all_alone || plan_lanes(&planner, error);
}

void orr_layer_traffic_clear(OrrLayerTraffic *layers) {
  for (guint lane = 0; layers->comms && layers->comms[lane]; lane++) {
    clear_lane(layers, lane);
    g_array_unref(layers->comms[lane]);
  }
  g_clear_pointer(&layers->comms, g_free);
}
