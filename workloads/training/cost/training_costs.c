/*
 * training_costs - turns the operators of each layer into runs, and adds up what they cost.
 *
 * Each operator's cost goes to its kind of time. Where the host cannot launch kernels and
 * collectives as fast as the GPU finishes them, the GPU's queue runs dry: the run takes as long as
 * the launches (the profile's host-launch, or eager-operators times eager-operator, for each), and
 * the difference is host time. Blocking launches add up with the GPU's work, and all of them are
 * host time. A graph is one launch.
 */
#include "workloads/training/cost/training_costs.h"

#include "workloads/training/job/training_offload.h"

OrrTimeKind orr_training_costs_kind(const OrrOperator *op) {
  if (op->pass == ORR_PASS_OPTIMIZER) return ORR_TIME_OPTIMIZER;
  if (op->kind == ORR_OPERATOR_ATTENTION) return ORR_TIME_ATTENTION;
  if (g_str_has_prefix(op->name, "attention-")) return ORR_TIME_ATTENTION;
  return op->kind == ORR_OPERATOR_GEMM || op->kind == ORR_OPERATOR_MOE ? ORR_TIME_GEMM
                                                                       : ORR_TIME_MEMORY;
}

/* Adds @times operators per step to the rows of the phase. */
static void remember(OrrTrainingCosts *costs, const char *phase, guint times, const OrrOperator *op,
                     OrrCost cost) {
  ORR_EACH(OrrCostedOperator, known, costs->operators) {
    if (known->phase != phase || known->op.pass != op->pass || known->op.name != op->name ||
        known->each_s != cost.time_s)
      continue;
    known->count += times;
    return;
  }
  ORR_APPEND(costs->operators, OrrCostedOperator, {phase, *op, times, cost.time_s, cost.how});
  if (cost.how == ORR_HOW_OUTSIDE) costs->outside++;
}

static OrrSegment *new_segment(OrrRun *run) {
  g_array_append_vals(run->segments, &(OrrSegment){.comm = -1}, 1);
  return &g_array_index(run->segments, OrrSegment, run->segments->len - 1);
}

/* Tokens of the fullest rank over a balanced one's, where @comm is an exchange between
 * experts under imbalance; else 1. */
static double fullest_rank(const OrrJob *job, const OrrOperator *comm) {
  const gint64 group = job->ep * job->etp;
  if (comm->comm.group != ORR_GROUP_EP || !(job->shard.imbalance > 0) || comm->comm.topk <= 0)
    return 1;
  double pairs = 0, active = 0;
  const OrrMoeShape shape = {.tokens = comm->comm.tokens * group,
                             .hidden = comm->comm.hidden,
                             .inter = 1,
                             .topk = comm->comm.topk,
                             .experts = comm->comm.experts,
                             .tp = 1,
                             .ep = job->ep,
                             .imbalance = job->shard.imbalance};
  orr_cost_moe_load(&shape, &pairs, &active);
  return MAX(1, pairs * (double)job->ep / ((double)shape.tokens * (double)shape.topk));
}

/* Which operators overlap a collective: as many as the model gives. Else, in the tensor-parallel
 * group, the weight gradients after an input gradient's collective, and the input gradient after a
 * re-gather for the weight gradient (Megatron's LinearWithGradAccumulationAndAsyncCommunication).
 * Else none: the collective blocks. */
typedef struct {
  int pass;   /* operators of this pass; -1: none */
  guint left; /* or this many operators of any pass */
} Overlap;

static const Overlap no_overlap = {-1, 0};

static Overlap overlap_of(const OrrJob *job, const OrrOperator *comm) {
  if (comm->comm.n_overlap > 0) return (Overlap){-1, comm->comm.n_overlap};
  if (comm->comm.group != ORR_GROUP_TP || !job->params->parallel.async_tp_all_reduce)
    return no_overlap;
  if (comm->pass == ORR_PASS_DGRAD) return (Overlap){ORR_PASS_WGRAD, 0};
  return (Overlap){comm->pass == ORR_PASS_WGRAD ? ORR_PASS_DGRAD : -1, 0};
}

static gboolean is_open(Overlap overlap) { return overlap.pass >= 0 || overlap.left > 0; }

static gboolean accepts(Overlap overlap, const OrrOperator *op) {
  return op->kind != ORR_OPERATOR_COMM && (overlap.left > 0 || (int)op->pass == overlap.pass);
}

static OrrSegment *end_segment(OrrRun *run, const OrrOperator *comm, gboolean overlaps) {
  OrrSegment *segment = &g_array_index(run->segments, OrrSegment, run->segments->len - 1);
  segment->comm = comm->comm.op;
  segment->group = comm->comm.group;
  segment->comm_bytes = comm->bytes;
  segment->overlaps = overlaps;
  return new_segment(run);
}

/* A run being filled from lists of operators. */
typedef struct {
  OrrTrainingCosts *costs;
  const OrrJob *job;
  guint times; /* how often a step runs it on a rank that has it; 0: not listed in costs */
  OrrRun *run;
  OrrLaunchCounts *launches;
  OrrLaunchCounts *between; /* the part of them between two exchanges of experts */
} RunBuilder;

static gboolean is_exchange(const OrrOperator *op) {
  return op->kind == ORR_OPERATOR_COMM && op->comm.group == ORR_GROUP_EP &&
         op->comm.op == ORR_COMM_ALL_TO_ALL;
}

static void append_operators(const RunBuilder *builder, const char *phase, GArray *operators) {
  OrrTrainingCosts *costs = builder->costs;
  const OrrJob *job = builder->job;
  OrrSegment *segment = new_segment(builder->run);
  Overlap overlap = no_overlap; /* which operators the open segment accepts; all, if not open */
  gboolean between = FALSE;     /* two exchanges of experts */
  ORR_EACH(OrrOperator, op, operators) {
    op->kernels = job->shard.kernels;
    if (is_open(overlap) && !accepts(overlap, op)) {
      overlap = no_overlap;
      segment = new_segment(builder->run); /* waits for the collective */
    }
    orr_launch_counts_add(builder->launches, job, op);
    between ^= is_exchange(op);
    if (between && !is_exchange(op)) orr_launch_counts_add(builder->between, job, op);
    if (op->kind == ORR_OPERATOR_COMM) {
      overlap = overlap_of(job, op);
      op->bytes *= fullest_rank(job, op);
      segment = end_segment(builder->run, op, is_open(overlap));
      continue;
    }
    OrrCost cost = orr_training_operator_cost(job, op);
    if (op->kind == ORR_OPERATOR_ATTENTION && costs->packed && !builder->run->encodes)
      cost.time_s *= costs->packed->mean;
    segment->seconds[orr_training_costs_kind(op)] += cost.time_s;
    if (between) builder->run->experts_s += cost.time_s;
    segment->squares += cost.time_s * cost.time_s;
    if (builder->times > 0) remember(costs, phase, builder->times, op, cost);
    if (overlap.left > 0 && --overlap.left == 0) segment = new_segment(builder->run);
  }
}

/* "layer-forward", or "layer-1-forward" where the model has layers of several kinds; of wide layers
 * "layer-wide-forward". */
static const char *phase_of(const OrrJob *job, const OrrLayerSpec *spec, const char *what) {
  static const char *const types[] = {"embedding", "layer", "mtp", "head", "mtp", "mtp-head"};
  const gboolean numbered =
      spec->type == ORR_LAYER_TRANSFORMER && orr_model_n_layer_kinds(job->world->model) > 1;
  g_autofree char *kind = numbered ? g_strdup_printf("-%u", spec->kind) : g_strdup("");
  g_autofree char *phase =
      g_strconcat(types[spec->type], kind, spec->wide ? "-wide-" : "-", what, NULL);
  return g_intern_string(phase);
}

/* Whether the backward gathers the layer's inputs again. */
static gboolean replays(const OrrLayerSpec *spec) {
  return (spec->modules & (ORR_MODULE_LAYER | ORR_MODULE_OPERATORS)) != 0;
}

static void list_forward(const OrrJob *job, const OrrLayerSpec *spec, GArray *operators) {
  const OrrModel *model = job->world->model;
  switch (spec->type) {
  case ORR_LAYER_EMBEDDING:
    orr_transformer_embedding_forward(model, &job->shard, operators);
    break;
  case ORR_LAYER_TRANSFORMER:
    orr_transformer_layer_forward(model, spec->kind, orr_job_layer_shard(job, spec), operators);
    orr_training_overlap(job, replays(spec), operators);
    break;
  case ORR_LAYER_MTP:
    orr_transformer_mtp_forward(model, orr_job_layer_shard(job, spec), operators);
    break;
  case ORR_LAYER_MTP_BODY:
    orr_transformer_mtp_body_forward(model, orr_job_layer_shard(job, spec), operators);
    break;
  case ORR_LAYER_HEAD:
  case ORR_LAYER_MTP_HEAD:
    orr_transformer_head_forward(model, &job->shard, operators);
    break;
  }
}

static void list_backward(const OrrJob *job, const OrrLayerSpec *spec, GArray *operators) {
  const OrrModel *model = job->world->model;
  switch (spec->type) {
  case ORR_LAYER_EMBEDDING:
    orr_transformer_embedding_backward(model, &job->shard, operators);
    break;
  case ORR_LAYER_TRANSFORMER:
    orr_transformer_layer_backward(model, spec->kind, orr_job_layer_shard(job, spec), operators);
    orr_training_overlap(job, FALSE, operators);
    break;
  case ORR_LAYER_MTP:
    orr_transformer_mtp_backward(model, orr_job_layer_shard(job, spec), operators);
    break;
  case ORR_LAYER_MTP_BODY:
    orr_transformer_mtp_body_backward(model, orr_job_layer_shard(job, spec), operators);
    break;
  case ORR_LAYER_HEAD:
  case ORR_LAYER_MTP_HEAD:
    orr_transformer_head_backward(model, &job->shard, operators);
    break;
  }
}

static GArray *operators_new(void) { return g_array_new(FALSE, TRUE, sizeof(OrrOperator)); }

static void append_recompute(const RunBuilder *builder, const OrrLayerSpec *spec) {
  const OrrJob *job = builder->job;
  if (spec->type != ORR_LAYER_TRANSFORMER) return;
  g_autoptr(GArray) operators = operators_new();
  orr_transformer_layer_recompute(job->world->model, spec->kind, orr_job_layer_shard(job, spec),
                                  spec->modules, operators);
  orr_training_overlap(job, FALSE, operators);
  if (operators->len > 0) append_operators(builder, phase_of(job, spec, "recompute"), operators);
}

/* Half of a split backward: the operators of weight gradients, or all others. */
static GArray *half_of(const GArray *operators, gboolean weights) {
  GArray *half = operators_new();
  ORR_EACH(const OrrOperator, op, operators)
    if ((op->pass == ORR_PASS_WGRAD) == weights) g_array_append_vals(half, op, 1);
  return half;
}

/* How often a step runs layers of @spec, on the first stage that has one. */
static guint times_of(const OrrJob *job, guint spec) {
  for (gint64 stage = 0; stage < job->pp; stage++)
    if (orr_job_n_layers(job, stage, spec) > 0)
      return orr_job_n_layers(job, stage, spec) * orr_job_passes(job);
  return 0;
}

/* @spec: what is recomputed first; NULL: nothing. */
static void cost_run(const RunBuilder *like, OrrRun *run, const OrrLayerSpec *spec,
                     const char *phase, GArray *operators) {
  const OrrJob *job = like->job;
  OrrLaunchCounts launches = {0}, between = {0};
  RunBuilder builder = *like;
  builder.run = run;
  builder.launches = &launches;
  builder.between = &between;
  run->segments = g_array_new(FALSE, TRUE, sizeof(OrrSegment));
  if (spec) append_recompute(&builder, spec);
  append_operators(&builder, phase, operators);
  run->host_s = orr_launch_counts_host_s(&launches, job);
  run->experts_host_s = orr_launch_counts_host_s(&between, job);
  run->serial = job->params->launches == ORR_LAUNCHES_BLOCKING;
}

/* The host waits for the router of routed experts, as experts.sync has it. */
static gboolean is_synced(const OrrJob *job, const OrrLayerSpec *spec) {
  return job->params->experts.sync && spec->type == ORR_LAYER_TRANSFORMER &&
         orr_model_kind(job->world->model, spec->kind).feed == ORR_FEED_MOE;
}

static void cost_layer(OrrTrainingCosts *costs, const OrrJob *job, guint index) {
  const OrrLayerSpec *spec = orr_job_spec(job, index);
  OrrRun *runs = costs->layers[index].runs;
  const RunBuilder listed = {.costs = costs, .job = job, .times = times_of(job, index)};
  const RunBuilder unlisted = {.costs = costs, .job = job}; /* BACKWARD lists the same operators */
  g_autoptr(GArray) forward = operators_new();
  g_autoptr(GArray) backward = operators_new();
  list_forward(job, spec, forward);
  list_backward(job, spec, backward);
  g_autoptr(GArray) input = half_of(backward, FALSE);
  g_autoptr(GArray) weight = half_of(backward, TRUE);
  const char *phase = phase_of(job, spec, "backward");
  for (int kind = 0; kind < ORR_N_RUNS; kind++)
    runs[kind].encodes = spec->type == ORR_LAYER_TRANSFORMER &&
                         (gint64)spec->kind == orr_model_encoder_kind(job->world->model);
  cost_run(&listed, &runs[ORR_RUN_FORWARD], NULL, phase_of(job, spec, "forward"), forward);
  runs[ORR_RUN_FORWARD].syncs = is_synced(job, spec);
  cost_run(&listed, &runs[ORR_RUN_BACKWARD], spec, phase, backward);
  cost_run(&unlisted, &runs[ORR_RUN_INPUT], spec, phase, input);
  cost_run(&unlisted, &runs[ORR_RUN_WEIGHT], NULL, phase, weight);
}

void orr_training_costs_init(OrrTrainingCosts *costs, const OrrJob *job) {
  *costs = (OrrTrainingCosts){.operators = g_array_new(FALSE, TRUE, sizeof(OrrCostedOperator)),
                              .n_specs = job->layout.specs->len};
  costs->packed = orr_packed_loads_new(job);
  costs->layers = g_new0(OrrLayerCosts, costs->n_specs);
  for (guint spec = 0; spec < costs->n_specs; spec++) cost_layer(costs, job, spec);
}

void orr_training_costs_clear(OrrTrainingCosts *costs) {
  for (guint spec = 0; spec < costs->n_specs; spec++)
    for (int kind = 0; kind < ORR_N_RUNS; kind++)
      g_array_unref(costs->layers[spec].runs[kind].segments);
  g_clear_pointer(&costs->layers, g_free);
  g_clear_pointer(&costs->operators, g_array_unref);
  g_clear_pointer(&costs->packed, orr_packed_loads_free);
}

/* Frozen weights that were cast when they were loaded. Shards of weights are gathered in the
 * storage format, and cast then. */
static gboolean holds_narrow(const OrrJob *job) {
  return orr_shard_is_frozen_narrow(&job->shard) &&
         !(job->sharding.weights && job->sharding.ranks > 1);
}

double orr_training_costs_optimizer_s(OrrTrainingCosts *costs, const OrrJob *job, gint64 stage) {
  const OrrWeights weights = orr_job_stage_weights(job, stage);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_transformer_optimizer(
      orr_job_optimized(job, weights) - orr_training_offload_optimized(job, weights),
      job->shard.dtype, (OrrAdamBytes){orr_job_master_bytes(job), orr_job_moment_bytes(job)},
      operators);
  if (!holds_narrow(job)) orr_transformer_weight_cast(&job->shard, weights, operators);
  double seconds = 0;
  ORR_EACH(OrrOperator, op, operators) {
    op->kernels = job->shard.kernels;
    const OrrCost cost = orr_cost_operator(job->world->cost, op);
    seconds += cost.time_s;
    if (stage == 0) remember(costs, g_intern_static_string("optimizer"), 1, op, cost);
  }
  return seconds;
}

double orr_segment_seconds(const OrrSegment *segment) {
  double sum = 0;
  for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += segment->seconds[kind];
  return sum;
}

double orr_training_costs_overlapped_s(const OrrJob *job, double work_s, double comm_s,
                                       double *ret_left_s) {
  const OrrInterference *it = orr_cost_interference(job->world->cost);
  const double x = it->compute_by_comm, y = it->comm_by_compute;
  const double slowed_s = MIN(work_s * x, work_s + comm_s * y * (1 - 1 / x));
  *ret_left_s = MAX(comm_s - slowed_s / y, 0);
  return slowed_s;
}
