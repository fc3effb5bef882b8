/*
 * training_size - counts the operations that a job will be, and the bytes that they take.
 *
 *   a transfer between stages   3 operations to receive, 5 to send; one comm, 3 events
 *   a segment and its comm      3 on average, in each pass; one comm per group of replicas, 1 event
 *                               at most. Where passes repeat: stored once, and a pass is one call
 *   weights or activations      20 per move of a layer; 4 comms, 8 events
 *   a reduction                 6; one comm of all replicas, 2 events
 *
 * Memory, by what the structs take (program_private.h, executor_private.h, ledger.c):
 *
 *   process + lanes * LANE + links * LINK + uses * USE + operations * (OP or SHARED_OP)
 *     + routines' operations * OP + comms * COMM + events * EVENT [+ spans * SPAN, where stored]
 *
 * An operation takes SHARED_OP on all replicas but the first, unless noise or packed documents make
 * them differ (program_share.c). tests/workloads/training/test_training_size.c compares estimates
 * with the peaks of processes: they are 0.9 to 2.2 times as much.
 */
#include "workloads/training/emit/training_emitter.h"

#include "workloads/training/cost/training_packing.h"
#include "workloads/training/emit/training_noise.h"

#define PROCESS 50e6  /* the program, its libraries, the profile: measured */
#define LANE 3.5e3    /* eight streams, their states, lists and accounts: measured */
#define LINK 150.0    /* in the program, the engine and its solver, with the name: measured */
#define USE 24.0      /* of a link by a path: as given, over kept links, in the engine's numbers */
#define OP 30.0       /* OrrOp, and what its array has in reserve */
#define SHARED_OP 4.0 /* a target */
#define COMM 120.0    /* OrrComm, a phase, OrrCommState, the emitter's table */
#define EVENT 16.0    /* OrrEventState */
#define SPAN 140.0    /* OrrSpan and OrrSpanRow */

/* Segments of the layers of @stage, forward and back. */
static double segments_of(const OrrJob *job, const OrrTrainingCosts *costs,
                          const OrrTrainingPlan *plan, gint64 stage) {
  double segments = 0;
  for (guint spec = 0; spec < costs->n_specs && !plan->layers.all_alone; spec++)
    segments += (double)orr_job_n_layers(job, stage, spec) *
                (orr_job_forwards(job) * costs->layers[spec].runs[ORR_RUN_FORWARD].segments->len +
                 costs->layers[spec].runs[ORR_RUN_BACKWARD].segments->len);
  return segments;
}

/* How often a step moves weights or activations of a layer of @stage: in each pass, or once where
 * weights that were gathered are kept. */
static double moves_of(const OrrJob *job, gint64 stage) {
  double layers = 0;
  const gboolean offloads = orr_training_offload_is_on(job->params);
  const gboolean each_pass = offloads || job->sharding.weights;
  for (gint64 chunk = 0; chunk < job->shape.chunks; chunk++)
    layers += orr_job_layers(job, stage, chunk)->len;
  const gint64 passes = orr_job_forwards(job) * orr_job_passes(job);
  return offloads || orr_job_gathers(job) ? layers * (each_pass ? passes : 1) : 0;
}

/* Adds one step of one replica's @stage. */
static void add_stage(OrrTrainingSize *size, const OrrJob *job, const OrrTrainingCosts *costs,
                      const OrrTrainingPlan *plan, gint64 stage) {
  const double segments = segments_of(job, costs, plan, stage), moves = moves_of(job, stage);
  const gboolean is_repeated = orr_training_runs_are_repeated(job, &plan->layers);
  const double passes = orr_job_passes(job), sent = 2 * job->shape.chunks * passes;
  const double blocks = sent * (1 + orr_job_forwards(job)) / 2;
  const double transfers = job->pp * job->shape.chunks > 1 ? sent : 0;
  const double n_buckets = plan->sharding.buckets[ORR_WEIGHTS_DENSE][stage]->len +
                           plan->sharding.buckets[ORR_WEIGHTS_EXPERTS][stage]->len;
  const double reductions = (job->sharding.reduces_each_pass ? passes : 1) * n_buckets;
  const double emitted = is_repeated ? 0 : segments * passes;
  size->ops += 8 * transfers + blocks + 3 * emitted + 20 * moves + 6 * reductions + 8;
  size->called += is_repeated ? 3 * segments : 0;
  size->comms += transfers + (is_repeated ? segments : emitted / (double)plan->fold.span) +
                 4 * moves + reductions / plan->fold.n;
  size->events += 3 * transfers + emitted + 8 * moves + 2 * reductions;
  size->spans += 2 * transfers + blocks + 2 * segments * passes + 6 * moves + reductions;
}

static gboolean replicas_differ(const OrrJob *job) {
  return orr_training_noise_is_on(&job->params->noise) ||
         orr_training_packing_is_on(&job->params->packing);
}

static double bytes_of(const OrrTrainingSize *size, const OrrJob *job,
                       const OrrTrainingPlan *plan) {
  const OrrProgram *program = plan->traffic.program;
  const double classes = plan->fold.n;
  /* of the operations of a stage, how many are stored whole */
  const double whole = replicas_differ(job) ? 1 : 1 / classes;
  return PROCESS + LANE * (double)job->pp * classes + LINK * orr_program_n_links(program) +
         USE * orr_program_n_uses(program) + size->ops * (whole * OP + (1 - whole) * SHARED_OP) +
         size->called * OP + size->comms * COMM + size->events * EVENT +
         (job->world->keeps_spans ? size->spans * SPAN : 0);
}

OrrTrainingSize orr_training_size(const OrrJob *job, const OrrTrainingCosts *costs,
                                  const OrrTrainingPlan *plan) {
  OrrTrainingSize size = {0};
  const double steps = plan->fold.n * (double)job->params->steps;
  for (gint64 stage = 0; stage < job->pp; stage++) add_stage(&size, job, costs, plan, stage);
  size = (OrrTrainingSize){size.ops * steps,    size.called * plan->fold.n, size.comms * steps,
                           size.events * steps, size.spans * steps,         0};
  size.bytes = bytes_of(&size, job, plan);
  return size;
}
