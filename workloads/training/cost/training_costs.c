/*
 * training_costs - operators to seconds.
 *
 * A run is what a lane does for one unit (a layer, the embedding, the head) in one direction:
 * segments of work between collectives of the lane's groups. Each operator's cost goes to its kind
 * of time. Where the host cannot launch kernels and collectives as fast as the GPU ends them, the
 * run lasts as long as the launches (the profile's host-launch, or eager-operators times
 * eager-operator for each) and the difference is host time: the GPU's queue runs dry. Where
 * launches are blocking the two add up, and all launches are host time; a graph is one launch.
 */
#include "workloads/training/training_private.h"

static OrrTimeKind time_of(const OrrOperator *op) {
  if (op->pass == ORR_PASS_OPTIMIZER) return ORR_TIME_OPTIMIZER;
  if (op->kind == ORR_OPERATOR_ATTENTION) return ORR_TIME_ATTENTION;
  if (g_str_has_prefix(op->name, "attention-")) return ORR_TIME_ATTENTION;
  return op->kind == ORR_OPERATOR_GEMM || op->kind == ORR_OPERATOR_MOE ? ORR_TIME_GEMM
                                                                       : ORR_TIME_MEMORY;
}

/* @times a step, on a rank that has the phase. */
static void remember(OrrTrainingCosts *costs, const char *phase, guint times, const OrrOperator *op,
                     OrrCost cost) {
  for (guint i = 0; i < costs->operators->len; i++) {
    OrrCostedOperator *known = &g_array_index(costs->operators, OrrCostedOperator, i);
    if (known->phase != phase || known->op.pass != op->pass || known->op.name != op->name ||
        known->each_s != cost.time_s)
      continue;
    known->count += times;
    return;
  }
  const OrrCostedOperator row = {phase, *op, times, cost.time_s, cost.how};
  g_array_append_val(costs->operators, row);
  if (cost.how == ORR_HOW_OUTSIDE) costs->outside++;
}

static OrrSegment *new_segment(OrrRun *run) {
  g_array_append_vals(run->segments, &(OrrSegment){.comm = -1}, 1);
  return &g_array_index(run->segments, OrrSegment, run->segments->len - 1);
}

/* What may run beside a collective: as many operators as the model says; else, in the
 * tensor-parallel group, after an input gradient's the weight gradients that follow, after a
 * re-gather for the weight gradient the input gradient that follows (Megatron's
 * LinearWithGradAccumulationAndAsyncCommunication). Else nothing: it blocks. */
typedef struct {
  int pass;   /* -1: none */
  guint left; /* operators of any pass */
} Beside;

static Beside beside_of(const OrrJob *job, const OrrOperator *comm) {
  if (comm->comm.n_overlap > 0) return (Beside){-1, comm->comm.n_overlap};
  if (comm->comm.group != ORR_GROUP_TP || !job->params->parallel.async_tp_all_reduce)
    return (Beside){-1, 0};
  if (comm->pass == ORR_PASS_DGRAD) return (Beside){ORR_PASS_WGRAD, 0};
  return (Beside){comm->pass == ORR_PASS_WGRAD ? ORR_PASS_DGRAD : -1, 0};
}

static gboolean is_beside(Beside beside, const OrrOperator *op) {
  return op->kind != ORR_OPERATOR_COMM && (beside.left > 0 || (int)op->pass == beside.pass);
}

static OrrSegment *end_segment(OrrRun *run, const OrrOperator *comm, gboolean beside) {
  OrrSegment *segment = &g_array_index(run->segments, OrrSegment, run->segments->len - 1);
  segment->comm = comm->comm.op;
  segment->group = comm->comm.group;
  segment->comm_bytes = comm->bytes;
  segment->beside = beside;
  return new_segment(run);
}

static void add_launches(const OrrJob *job, const OrrOperator *op, OrrRun *run) {
  const guint n = op->launched                    ? 0
                  : op->kind == ORR_OPERATOR_COMM ? 1
                                                  : orr_training_operators(job, op);
  run->launched += op->launched;
  run->kernels += n;
  if (op->kind == ORR_OPERATOR_MOE) run->expert_kernels += n;
}

static void append_operators(OrrTrainingCosts *costs, const OrrJob *job, const char *phase,
                             guint times, GArray *operators, OrrRun *run) {
  OrrSegment *segment = new_segment(run);
  Beside beside = {-1, 0}; /* what the open segment is for, while a collective runs beside it */
  for (guint i = 0; i < operators->len; i++) {
    OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    op->kernels = job->shard.kernels;
    if ((beside.pass >= 0 || beside.left > 0) && !is_beside(beside, op)) {
      beside = (Beside){-1, 0};
      segment = new_segment(run); /* waits for the collective */
    }
    if (op->kind == ORR_OPERATOR_COMM) {
      beside = beside_of(job, op);
      op->bytes *= orr_training_fullest(job, op);
      add_launches(job, op, run);
      segment = end_segment(run, op, beside.pass >= 0 || beside.left > 0);
      continue;
    }
    OrrCost cost = orr_training_operator_cost(job, op);
    if (op->kind == ORR_OPERATOR_ATTENTION && costs->packed) cost.time_s *= costs->packed->mean;
    segment->seconds[time_of(op)] += cost.time_s;
    segment->squares += cost.time_s * cost.time_s;
    add_launches(job, op, run);
    if (times > 0) remember(costs, phase, times, op, cost);
    if (beside.left > 0 && --beside.left == 0) segment = new_segment(run);
  }
}

/* "layer-forward"; where the model has layers of several kinds, "layer-1-forward". */
static const char *phase_of(const OrrJob *job, const OrrPart *part, const char *what) {
  static const char *const units[] = {"embedding", "layer", "mtp", "head"};
  const gboolean numbered =
      part->unit == ORR_UNIT_LAYER && orr_model_n_layer_kinds(job->world->model) > 1;
  g_autofree char *kind = numbered ? g_strdup_printf("-%u", part->kind) : g_strdup("");
  g_autofree char *phase = g_strconcat(units[part->unit], kind, "-", what, NULL);
  return g_intern_string(phase);
}

static void list_forward(const OrrJob *job, const OrrPart *part, GArray *operators) {
  const OrrModel *model = job->world->model;
  switch (part->unit) {
  case ORR_UNIT_EMBEDDING:
    orr_transformer_embedding_forward(model, &job->shard, operators);
    break;
  case ORR_UNIT_LAYER:
    orr_transformer_layer_forward(model, part->kind, &job->shard, operators);
    orr_training_overlap(job, operators);
    break;
  case ORR_UNIT_MTP:
    orr_transformer_mtp_forward(model, &job->shard, operators);
    break;
  case ORR_UNIT_HEAD:
    orr_transformer_head_forward(model, &job->shard, operators);
    break;
  }
}

static void list_backward(const OrrJob *job, const OrrPart *part, GArray *operators) {
  const OrrModel *model = job->world->model;
  switch (part->unit) {
  case ORR_UNIT_EMBEDDING:
    orr_transformer_embedding_backward(model, &job->shard, operators);
    break;
  case ORR_UNIT_LAYER:
    orr_transformer_layer_backward(model, part->kind, &job->shard, operators);
    orr_training_overlap(job, operators);
    break;
  case ORR_UNIT_MTP:
    orr_transformer_mtp_backward(model, &job->shard, operators);
    break;
  case ORR_UNIT_HEAD:
    orr_transformer_head_backward(model, &job->shard, operators);
    break;
  }
}

static GArray *operators_new(void) { return g_array_new(FALSE, TRUE, sizeof(OrrOperator)); }

static void cost_recompute(OrrTrainingCosts *costs, const OrrJob *job, const OrrPart *part,
                           guint times, OrrRun *run) {
  if (part->unit != ORR_UNIT_LAYER) return;
  g_autoptr(GArray) operators = operators_new();
  orr_transformer_layer_recompute(job->world->model, part->kind, &job->shard, part->modules,
                                  operators);
  orr_training_overlap(job, operators);
  if (operators->len > 0)
    append_operators(costs, job, phase_of(job, part, "recompute"), times, operators, run);
}

/* The operators of a cut backward: those of weights' gradients, or all others. */
static GArray *half_of(const GArray *operators, gboolean weights) {
  GArray *half = operators_new();
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if ((op->pass == ORR_PASS_WGRAD) == weights) g_array_append_vals(half, op, 1);
  }
  return half;
}

/* Units of the part on the first stage that has one, times the micro-batches that pass each. */
static guint times_of(const OrrJob *job, guint part) {
  for (gint64 stage = 0; stage < job->pp; stage++)
    if (orr_job_count(job, stage, part) > 0)
      return orr_job_count(job, stage, part) * orr_job_passes(job);
  return 0;
}

static void cost_part(OrrTrainingCosts *costs, const OrrJob *job, guint index) {
  const OrrPart *part = orr_job_part(job, index);
  OrrRun *runs = costs->parts[index].runs;
  const guint times = times_of(job, index);
  for (int kind = 0; kind < ORR_N_RUNS; kind++)
    runs[kind].segments = g_array_new(FALSE, TRUE, sizeof(OrrSegment));
  g_autoptr(GArray) forward = operators_new();
  g_autoptr(GArray) backward = operators_new();
  list_forward(job, part, forward);
  list_backward(job, part, backward);
  g_autoptr(GArray) input = half_of(backward, FALSE);
  g_autoptr(GArray) weight = half_of(backward, TRUE);
  const char *phase = phase_of(job, part, "backward");
  append_operators(costs, job, phase_of(job, part, "forward"), times, forward,
                   &runs[ORR_RUN_FORWARD]);
  cost_recompute(costs, job, part, times, &runs[ORR_RUN_BACKWARD]);
  append_operators(costs, job, phase, times, backward, &runs[ORR_RUN_BACKWARD]);
  cost_recompute(costs, job, part, 0, &runs[ORR_RUN_INPUT]);
  append_operators(costs, job, phase, 0, input, &runs[ORR_RUN_INPUT]);
  append_operators(costs, job, phase, 0, weight, &runs[ORR_RUN_WEIGHT]);
  for (int kind = 0; kind < ORR_N_RUNS; kind++) orr_training_add_host(job, &runs[kind]);
}

void orr_training_costs_init(OrrTrainingCosts *costs, const OrrJob *job) {
  *costs = (OrrTrainingCosts){.operators = g_array_new(FALSE, TRUE, sizeof(OrrCostedOperator)),
                              .n_parts = job->layout.parts->len};
  costs->packed = orr_packed_loads_new(job);
  costs->parts = g_new0(OrrPartCosts, costs->n_parts);
  for (guint part = 0; part < costs->n_parts; part++) cost_part(costs, job, part);
}

void orr_training_costs_clear(OrrTrainingCosts *costs) {
  for (guint part = 0; part < costs->n_parts; part++)
    for (int kind = 0; kind < ORR_N_RUNS; kind++)
      g_array_unref(costs->parts[part].runs[kind].segments);
  g_clear_pointer(&costs->parts, g_free);
  g_clear_pointer(&costs->operators, g_array_unref);
  g_clear_pointer(&costs->packed, orr_packed_loads_free);
}

/* Frozen weights that were cast when they were loaded. Shares of weights are gathered, and cast,
 * in the storage format. */
static gboolean holds_narrow(const OrrJob *job) {
  return orr_shard_is_frozen_narrow(&job->shard) &&
         !(job->sharding.weights && job->sharding.ranks > 1);
}

double orr_training_optimizer_seconds(OrrTrainingCosts *costs, const OrrJob *job, gint64 stage) {
  const OrrWeights weights = orr_job_stage_weights(job, stage);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_transformer_optimizer(orr_job_optimized(job, weights) - orr_offload_optimized(job, weights),
                            job->shard.dtype, orr_training_moment_bytes(job->params), operators);
  if (!holds_narrow(job)) orr_transformer_weight_cast(&job->shard, weights, operators);
  double seconds = 0;
  for (guint i = 0; i < operators->len; i++) {
    OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    op->kernels = job->shard.kernels;
    const OrrCost cost = orr_cost_operator(job->world->cost, op);
    seconds += cost.time_s;
    if (stage == 0) remember(costs, g_intern_static_string("optimizer"), 1, op, cost);
  }
  return seconds;
}

double orr_training_beside_seconds(const OrrJob *job, double work_s, double comm_s) {
  const double slowdown = orr_cost_overlap_slowdown(job->world->cost);
  return MIN(work_s * slowdown, work_s + comm_s * (1 - 1 / slowdown));
}
