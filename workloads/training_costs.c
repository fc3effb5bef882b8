/*
 * training_costs - operators to seconds.
 *
 * A run is what a lane does for one layer (or the embedding, or the head) in one direction: segments of work between
 * tensor-parallel collectives. Each operator's cost goes to its kind of time. Where the host cannot launch kernels as
 * fast as the GPU ends them, the run lasts kernels * host_launch_s and the difference is host time: the GPU's queue
 * runs dry (PyTorch's eager mode; the profile gives host_launch_s).
 */
#include "workloads/training_private.h"

static OrrTimeKind time_of(const OrrOperator *op) {
  if (op->pass == ORR_PASS_OPTIMIZER) return ORR_TIME_OPTIMIZER;
  if (op->kind == ORR_OPERATOR_ATTENTION) return ORR_TIME_ATTENTION;
  if (g_str_has_prefix(op->name, "attention-")) return ORR_TIME_ATTENTION;
  return op->kind == ORR_OPERATOR_GEMM ? ORR_TIME_GEMM : ORR_TIME_MEMORY;
}

static void remember(OrrTrainingCosts *costs, const char *phase, const OrrOperator *op, OrrCost cost) {
  for (guint i = 0; i < costs->operators->len; i++) {
    OrrCostedOperator *known = &g_array_index(costs->operators, OrrCostedOperator, i);
    if (known->phase != phase || known->op.pass != op->pass || known->op.name != op->name ||
        known->each_s != cost.time_s)
      continue;
    known->count++;
    return;
  }
  const OrrCostedOperator row = {phase, *op, 1, cost.time_s, cost.how};
  g_array_append_val(costs->operators, row);
  if (cost.how == ORR_HOW_OUTSIDE) costs->outside++;
}

static OrrSegment *new_segment(OrrRun *run) {
  g_array_append_vals(run->segments, &(OrrSegment){.comm = -1}, 1);
  return &g_array_index(run->segments, OrrSegment, run->segments->len - 1);
}

/* What may run beside a collective: after an input gradient's, the weight gradients that follow; after a re-gather for
 * the weight gradient, the input gradient that follows (Megatron's LinearWithGradAccumulationAndAsyncCommunication).
 * -1: nothing, it blocks. */
static int pass_beside(const OrrJob *job, const OrrOperator *comm) {
  if (!job->params->parallel.async_tp_all_reduce) return -1;
  if (comm->pass == ORR_PASS_DGRAD) return ORR_PASS_WGRAD;
  return comm->pass == ORR_PASS_WGRAD ? ORR_PASS_DGRAD : -1;
}

static OrrSegment *end_segment(OrrRun *run, const OrrOperator *comm, gboolean beside) {
  OrrSegment *segment = &g_array_index(run->segments, OrrSegment, run->segments->len - 1);
  segment->comm = comm->comm;
  segment->comm_bytes = comm->bytes;
  segment->beside = beside;
  return new_segment(run);
}

static void append_operators(OrrTrainingCosts *costs, const OrrJob *job, const char *phase, GArray *operators,
                             OrrRun *run) {
  OrrSegment *segment = new_segment(run);
  int beside = -1; /* the pass that the open segment is for, while a collective runs beside it */
  for (guint i = 0; i < operators->len; i++) {
    OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    op->kernels = job->shard.kernels;
    const gboolean is_comm = op->kind == ORR_OPERATOR_COMM;
    if (beside >= 0 && (is_comm || op->pass != beside)) {
      beside = -1;
      segment = new_segment(run); /* waits for the collective */
    }
    if (is_comm) {
      beside = pass_beside(job, op);
      segment = end_segment(run, op, beside >= 0);
      continue;
    }
    const OrrCost cost = orr_cost_operator(job->world->cost, op);
    segment->seconds[time_of(op)] += cost.time_s;
    run->kernels++;
    remember(costs, phase, op, cost);
  }
}

static double run_seconds(const OrrRun *run) {
  double sum = 0;
  for (guint i = 0; i < run->segments->len; i++)
    for (int kind = 0; kind < ORR_N_TIMES; kind++) sum += g_array_index(run->segments, OrrSegment, i).seconds[kind];
  return sum;
}

static void settle_host(const OrrJob *job, OrrRun *run) {
  const double host = run->kernels * orr_cost_host_launch_s(job->world->cost) - run_seconds(run);
  if (host > 0 && run->segments->len > 0)
    g_array_index(run->segments, OrrSegment, run->segments->len - 1).seconds[ORR_TIME_HOST] += host;
}

typedef void (*Decompose)(const OrrModel *model, const OrrShard *shard, GArray *operators);

/* Layers of the only kind. */
static void layer_forward(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_layer_forward(model, 0, shard, operators);
}

static void layer_backward(const OrrModel *model, const OrrShard *shard, GArray *operators) {
  orr_transformer_layer_backward(model, 0, shard, operators);
}

static void cost_run(OrrTrainingCosts *costs, const OrrJob *job, const char *phase, Decompose decompose, OrrRun *run) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  decompose(job->world->model, &job->shard, operators);
  append_operators(costs, job, phase, operators, run);
}

static void cost_recompute(OrrTrainingCosts *costs, const OrrJob *job, OrrRun *run) {
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_transformer_layer_recompute(job->world->model, 0, &job->shard, orr_recompute_modules(job->params->recompute),
                                  operators);
  if (operators->len > 0) append_operators(costs, job, "layer-recompute", operators, run);
}

void orr_training_costs_init(OrrTrainingCosts *costs, const OrrJob *job) {
  *costs = (OrrTrainingCosts){.operators = g_array_new(FALSE, TRUE, sizeof(OrrCostedOperator))};
  const struct {
    const char *phase;
    Decompose decompose;
    OrrRun *run;
  } phases[] = {
      {"layer-forward", layer_forward, &costs->layer_forward},
      {"layer-backward", layer_backward, &costs->layer_backward},
      {"embedding-forward", orr_transformer_embedding_forward, &costs->embedding_forward},
      {"embedding-backward", orr_transformer_embedding_backward, &costs->embedding_backward},
      {"head-forward", orr_transformer_head_forward, &costs->head_forward},
      {"head-backward", orr_transformer_head_backward, &costs->head_backward},
  };
  for (guint i = 0; i < G_N_ELEMENTS(phases); i++) {
    OrrRun *run = phases[i].run;
    run->segments = g_array_new(FALSE, TRUE, sizeof(OrrSegment));
    if (run == &costs->layer_backward) cost_recompute(costs, job, run);
    cost_run(costs, job, phases[i].phase, phases[i].decompose, run);
    settle_host(job, run);
  }
}

void orr_training_costs_clear(OrrTrainingCosts *costs) {
  OrrRun *const runs[] = {&costs->layer_forward,      &costs->layer_backward, &costs->embedding_forward,
                          &costs->embedding_backward, &costs->head_forward,   &costs->head_backward};
  for (guint i = 0; i < G_N_ELEMENTS(runs); i++) g_clear_pointer(&runs[i]->segments, g_array_unref);
  g_clear_pointer(&costs->operators, g_array_unref);
}

double orr_training_optimizer_seconds(OrrTrainingCosts *costs, const OrrJob *job, gint64 stage) {
  const gboolean sharded = job->params->optimizer.sharding == ORR_SHARDING_DISTRIBUTED;
  const double parameters = orr_job_stage_parameters(job, stage) / (sharded ? job->dp : 1);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  orr_transformer_optimizer(parameters, job->shard.dtype, operators);
  double seconds = 0;
  for (guint i = 0; i < operators->len; i++) {
    OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    op->kernels = job->shard.kernels;
    const OrrCost cost = orr_cost_operator(job->world->cost, op);
    seconds += cost.time_s;
    if (stage == 0) remember(costs, "optimizer", op, cost);
  }
  return seconds;
}

double orr_training_beside_seconds(const OrrJob *job, double work_s, double comm_s) {
  const double slowdown = orr_cost_overlap_slowdown(job->world->cost);
  return MIN(work_s * slowdown, work_s + comm_s * (1 - 1 / slowdown));
}
