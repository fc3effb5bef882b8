/*
 * training_bound - what a step takes at least.
 *
 * Block b of the model, on some stage, computes a micro-batch forward in f_b seconds and backward
 * in g_b. A stage s computes all micro-batches of all its blocks, one after the other. Its first
 * pass is a forward, before which the blocks below have computed theirs; after its last pass, a
 * backward, the blocks below compute theirs:
 *
 *   stage 0    f0                                       g0          head of stage 2: f0 + f1
 *   stage 1        f1                               g1              tail of stage 2: g1 + g0
 *   stage 2            f2 f2 g2 f2 g2 f2 g2 g2 ...
 *
 *   step >= max over stages of head + work + tail, then norm, optimizer, and the parameters' gather
 *
 * For 1F1B and interleaved schedules on equal stages this is the time without communication between
 * stages. Where a schedule splits backwards, any block can have the last pass: there is no tail.
 *
 * A collective that blocks its lane counts with its time on an idle fabric; one that overlaps a
 * segment with what it takes longer than that. Contention, the host, stragglers and storage only
 * add to it. So do the reductions of gradients; of those the one after the last backward counts,
 * or all where they do not overlap.
 */
#include "workloads/training/training_compile.h"

#include "workloads/training/comm/training_plan.h"
#include "workloads/training/comm/training_sharding.h"
#include "workloads/training/cost/training_packing.h"
#include "workloads/training/emit/training_noise.h"

/* Rounding: a replay adds the same numbers in another order. */
#define SLACK 1e-9

typedef struct {
  gint64 place; /* where the group lies, by place_of */
  int group, comm;
  double bytes, seconds;
} KnownComm;

/* A block of one copy of the model, what one micro-batch takes there, and its transfers to the next
 * block and back to the one before. */
typedef struct {
  gint64 stage;
  double forward_s, backward_s;
  double sent_s, returned_s;
} Block;

typedef struct {
  const OrrJob *job;
  OrrTrainingCosts *costs;
  OrrTraffic traffic;
  gboolean interleaves; /* exchanges between experts hide behind another pass */
  GArray *comms;        /* of KnownComm */
  gint64 n_blocks;      /* of one copy */
  Block *blocks;        /* by direction * n_blocks + block */
  double *transfers;    /* by from * stages + to; 0: not asked yet */
} Bound;

/* --- layers --- */

/* Groups inside one scale-up domain that begin at the same of its GPUs take the same time. Others
 * differ by stage: below 0. */
static gint64 place_of(const OrrJob *job, gint64 stage, OrrGrouping grouping) {
  const OrrFabric *fabric = job->world->fabric;
  const gint64 first = orr_job_gpu(job, stage, 0), domain = job->world->cluster->node.gpus;
  for (gint64 k = 1; k < grouping.size; k++)
    if (!orr_fabric_same_domain(fabric, first, orr_job_gpu(job, stage, k * grouping.stride)))
      return -1 - stage;
  return first % domain;
}

static double comm_s(Bound *bound, gint64 stage, const OrrSegment *segment) {
  const OrrGrouping grouping = orr_grouping_of(bound->job, segment->group);
  if (grouping.size == 1 || (segment->group == ORR_GROUP_EP && bound->interleaves)) return 0;
  KnownComm one = {place_of(bound->job, stage, grouping), segment->group, segment->comm,
                   segment->comm_bytes, 0};
  ORR_EACH(const KnownComm, known, bound->comms)
    if (known->place == one.place && known->group == one.group && known->comm == one.comm &&
        known->bytes == one.bytes)
      return known->seconds;
  one.seconds = orr_layer_traffic_alone_s(&bound->traffic, stage, segment);
  g_array_append_val(bound->comms, one);
  return one.seconds;
}

static double run_s(Bound *bound, gint64 stage, const OrrRun *run) {
  const GArray *segments = run->segments;
  double sum = run->serial ? run->host_s : 0;
  ORR_EACH(const OrrSegment, segment, segments) {
    sum += orr_segment_seconds(segment);
    if (segment->comm < 0) continue;
    const double blocks_s = comm_s(bound, stage, segment);
    sum += segment->overlaps ? MAX(blocks_s - orr_segment_seconds(segment + 1), 0) : blocks_s;
  }
  return sum;
}

static double transfer_s(Bound *bound, gint64 from, gint64 to) {
  double *known = &bound->transfers[from * bound->job->pp + to];
  if (*known == 0) *known = orr_stage_traffic_alone_s(&bound->traffic, from, to);
  return *known;
}

/* One micro-batch in a chunk. */
static double chunk_s(Bound *bound, gint64 stage, gint64 chunk, OrrRunKind kind) {
  const GArray *layers = orr_job_layers(bound->job, stage, chunk);
  double sum = 0, each = 0;
  ORR_EACH_VALUE_AT(i, const guint, spec, layers) {
    if (i == 0 || spec != g_array_index(layers, guint, i - 1))
      each = run_s(bound, stage, &bound->costs->layers[spec].runs[kind]);
    sum += each;
  }
  return sum;
}

/* What crosses from each block to the next, and back. The receivers' gather is part of the pass. */
static void fill_transfers(Bound *bound, gint64 direction) {
  const double gather_s = orr_stage_traffic_gather_alone_s(&bound->traffic);
  Block *copy = &bound->blocks[direction * bound->n_blocks];
  const gboolean returns = !bound->job->params->evaluation;
  for (gint64 b = 0; b + 1 < bound->n_blocks; b++) {
    if (copy[b].stage == copy[b + 1].stage) continue;
    copy[b].sent_s = transfer_s(bound, copy[b].stage, copy[b + 1].stage);
    copy[b + 1].forward_s += gather_s;
    if (!returns) continue;
    copy[b + 1].returned_s = transfer_s(bound, copy[b + 1].stage, copy[b].stage);
    copy[b].backward_s += gather_s;
  }
}

static void fill_blocks(Bound *bound) {
  const OrrJob *job = bound->job;
  for (gint64 stage = 0; stage < job->pp; stage++)
    for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++) {
      const OrrPipelinePlace at = orr_pipeline_place(job->schedule, &job->shape, stage, chunk);
      Block *block = &bound->blocks[at.direction * bound->n_blocks + at.block];
      const double forward_s = chunk_s(bound, stage, chunk, ORR_RUN_FORWARD);
      *block = (Block){.stage = stage, .forward_s = (double)orr_job_forwards(job) * forward_s};
      if (!job->params->evaluation)
        block->backward_s = chunk_s(bound, stage, chunk, ORR_RUN_BACKWARD);
    }
  for (gint64 d = 0; d < orr_pipeline_n_directions(job->schedule); d++) fill_transfers(bound, d);
}

/* --- the pipeline --- */

static gboolean splits_backwards(const OrrJob *job) {
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  orr_job_steps(job, 0, steps);
  ORR_EACH(const OrrPipelineStep, step, steps)
    if (step->kind == ORR_STEP_BACKWARD_WEIGHT) return TRUE;
  return FALSE;
}

/* What must follow block @at's last pass, for its micro-batch: the blocks below go back, or, of an
 * evaluation, those above on. Where stages wait for what they send, its own transfer is part of
 * its work. */
static double tail_s(const Bound *bound, const Block *copy, gint64 at) {
  const OrrTraining *params = bound->job->params;
  double sum = 0;
  if (params->evaluation) {
    for (gint64 b = at + 1; b < bound->n_blocks; b++) sum += copy[b].forward_s + copy[b].sent_s;
    return sum + (params->pipeline_comm.overlap_p2p ? copy[at].sent_s : 0);
  }
  for (gint64 b = 0; b < at; b++) sum += copy[b].backward_s + copy[b].returned_s;
  return sum + (params->pipeline_comm.overlap_p2p ? copy[at].returned_s : 0);
}

/* What the stage computes and waits for, from its first pass to its last; and before and after. */
static double stage_s(const Bound *bound, gint64 stage, gboolean has_tail) {
  const OrrJob *job = bound->job;
  const gboolean waits = !job->params->pipeline_comm.overlap_p2p;
  const gint64 n = orr_pipeline_n_directions(job->schedule) * bound->n_blocks;
  double head = G_MAXDOUBLE, tail = G_MAXDOUBLE, work = 0, before = 0;
  for (gint64 i = 0; i < n; i++) {
    const gint64 at = i % bound->n_blocks;
    const Block *copy = &bound->blocks[i - at], *block = &bound->blocks[i];
    if (at == 0) before = 0;
    if (block->stage == stage) {
      head = MIN(head, before);
      tail = MIN(tail, tail_s(bound, copy, at));
      work += block->forward_s + block->backward_s;
      if (waits) work += block->sent_s + block->returned_s;
    }
    before += block->forward_s + block->sent_s;
  }
  return head + (double)orr_job_passes(job) * work + (has_tail ? tail : 0);
}

/* From the start of the step until all gradients are there. A tail ends on the first stage. */
static double passes_s(Bound *bound) {
  const OrrJob *job = bound->job;
  const gboolean has_tail = job->params->evaluation || !splits_backwards(job);
  const double reduced_s = orr_sharding_traffic_last_s(&bound->traffic, 0);
  double longest_s = 0;
  for (gint64 stage = 0; stage < job->pp; stage++) {
    const double after_s = has_tail || stage == 0 ? reduced_s : 0;
    longest_s = MAX(longest_s, stage_s(bound, stage, has_tail) + after_s);
  }
  return longest_s;
}

/* --- the step --- */

/* All stages wait for the gradients' norm, unless each goes on and validates it afterwards: then
 * the last one to end could have the shortest update. */
static double update_s(Bound *bound) {
  const OrrJob *job = bound->job;
  const gboolean waits = !job->schedule->post_validates ||
                         !job->schedule->post_validates(job->params->pipeline.params);
  double least = G_MAXDOUBLE, most = 0;
  if (job->params->evaluation) return 0;
  for (gint64 stage = 0; stage < job->pp; stage++) {
    double seconds = orr_training_costs_optimizer_s(bound->costs, job, stage);
    if (stage == 0 && waits) seconds += orr_sharding_traffic_parameters_s(&bound->traffic, stage);
    least = MIN(least, seconds);
    most = MAX(most, seconds);
  }
  return waits ? most : least;
}

double orr_training_bound_s(const OrrJob *job, OrrTrainingCosts *costs) {
  if (orr_training_noise_is_on(&job->params->noise) ||
      orr_training_packing_is_on(&job->params->packing))
    return 0;
  g_autoptr(OrrProgram) program = orr_program_new();
  g_autoptr(GArray) comms = g_array_new(FALSE, FALSE, sizeof(KnownComm));
  Bound bound = {.job = job, .costs = costs, .comms = comms};
  bound.interleaves =
      (job->schedule->blocks == ORR_BLOCKS_BIDIRECTIONAL || job->shape.pairs) && job->ep > 1;
  bound.n_blocks = orr_pipeline_n_blocks(job->schedule, &job->shape);
  g_autofree Block *blocks = bound.blocks =
      g_new0(Block, orr_pipeline_n_directions(job->schedule) * bound.n_blocks);
  g_autofree double *transfers = bound.transfers = g_new0(double, job->pp * job->pp);
  orr_traffic_init(&bound.traffic, job, program);
  fill_blocks(&bound);
  const double seconds = passes_s(&bound) + update_s(&bound);
  orr_traffic_clear(&bound.traffic);
  return seconds * (1 - SLACK);
}
