/*
 * training_program - the schedule's steps, and what follows them, as streams of ops
 * (training_emit.h).
 */
#include <string.h>

#include "workloads/training/emit/training_emitter.h"

/* --- steps
 * ------------------------------------------------------------------------------------------------------ */

/* A block under way on a lane. */
typedef struct {
  gint64 chunk, micro_batch;
  OrrPipelinePlace place;
  const GArray *units; /* in forward order */
} Pass;

static Pass pass_of(const OrrEmitter *e, const OrrLaneAt *lane, gint64 chunk, gint64 micro_batch) {
  const OrrJob *job = e->job;
  return (Pass){chunk, micro_batch,
                orr_pipeline_place(job->schedule, &job->shape, lane->stage, chunk),
                orr_job_units(job, lane->stage, chunk)};
}

/* What the units [from, to) of @pass do, in order: that of the forward, or from the last one
 * back. */
static GArray *runs_of(const OrrEmitter *e, const Pass *pass, OrrRunKind kind, gint64 from,
                       gint64 to) {
  GArray *runs = g_array_new(FALSE, FALSE, sizeof(OrrRuns));
  for (gint64 i = from; i < to; i++) {
    const gint64 unit = kind == ORR_RUN_FORWARD ? i : pass->units->len - 1 - i;
    const OrrRun *run = &e->costs->parts[g_array_index(pass->units, guint, unit)].runs[kind];
    OrrRuns *last = runs->len > 0 ? &g_array_index(runs, OrrRuns, runs->len - 1) : NULL;
    if (last && last->run == run)
      last->count++;
    else
      g_array_append_vals(runs, &(OrrRuns){run, 1}, 1);
  }
  return runs;
}

static gboolean has_unit(const OrrEmitter *e, const Pass *pass, OrrUnitKind unit) {
  const guint end = unit == ORR_UNIT_EMBEDDING ? 0 : pass->units->len - 1;
  return pass->units->len > 0 &&
         orr_job_part(e->job, g_array_index(pass->units, guint, end))->unit == unit;
}

static const char *const run_names[] = {"forward", "backward", "backward-input", "backward-weight"};

static char *name_of(const OrrEmitter *e, const Pass *pass, OrrRunKind kind, gint64 from,
                     gint64 to) {
  if (to - from < (gint64)pass->units->len)
    return g_strdup_printf("%s units %d-%d of block %d", run_names[kind], (int)from, (int)to,
                           (int)pass->place.block);
  const char *embedding = has_unit(e, pass, ORR_UNIT_EMBEDDING) ? "+embedding" : "";
  const char *head = has_unit(e, pass, ORR_UNIT_HEAD) ? "+head" : "";
  const gboolean forward = kind == ORR_RUN_FORWARD;
  return g_strconcat(run_names[kind], forward ? embedding : head, forward ? head : embedding, NULL);
}

/* The boundary that @pass comes from, or goes to. */
static OrrHandover handover_of(const Pass *pass, gboolean backward, gboolean enters) {
  const gboolean above =
      backward == enters; /* the boundary after the block, not the one before it */
  return (OrrHandover){pass->place.chain, pass->place.block - !above, pass->micro_batch, backward};
}

static gboolean is_there(const OrrEmitter *e, const OrrHandover *handover) {
  return handover->boundary >= 0 && handover->boundary < e->blocks - 1 &&
         orr_emit_crosses(e, handover);
}

static void emit_units(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, OrrRunKind kind,
                       gint64 from, gint64 to) {
  const gboolean backward = kind != ORR_RUN_FORWARD;
  const OrrHandover in = handover_of(pass, backward, TRUE);
  const gboolean receives = from == 0 && kind != ORR_RUN_WEIGHT && is_there(e, &in);
  const OrrPassKey key = {lane->lane, kind, (guint32)pass->chunk, (guint32)from, (guint32)to};
  if (orr_emit_again(e, lane, &key, pass->micro_batch)) return;
  g_autoptr(GArray) runs = runs_of(e, pass, kind, from, to);
  g_autofree char *name = name_of(e, pass, kind, from, to);
  orr_emit_runs(e, lane, &key, name, (const OrrRuns *)(gpointer)runs->data, runs->len,
                receives ? e->plan->gather_s : 0, pass->micro_batch);
}

/* Where the stage's gradients of @chunk begin among its buckets, when each pass reduces them. */
static void begin_buckets(const OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass,
                          OrrEmitShards *shards) {
  for (int share = 0; share < ORR_N_SHARES; share++) {
    const GArray *buckets = e->plan->buckets[share][lane->stage];
    gint64 before = 0;
    for (gint64 chunk = e->job->shape.chunks; --chunk > pass->chunk;)
      before += orr_job_units(e->job, lane->stage, chunk)->len;
    shards->unit[share] = 0;
    for (shards->bucket[share] = 0; before > 0 && buckets->len > 0; shards->bucket[share]++)
      before -= g_array_index(buckets, OrrBucket, shards->bucket[share]).units;
  }
}

/* @n more units have had their backward: the open buckets may be full. */
static void count_units(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, gint64 n) {
  for (int share = 0; share < ORR_N_SHARES; share++) {
    const GArray *buckets = e->plan->buckets[share][lane->stage];
    if (buckets->len == 0) continue;
    shards->unit[share] += n;
    if (shards->unit[share] < g_array_index(buckets, OrrBucket, shards->bucket[share]).units)
      continue;
    orr_emit_reduction(e, lane, shards, share, lane->stage, shards->bucket[share]++, 1);
    shards->unit[share] = 0;
  }
}

/* The units of the backward until the first of the open buckets is full. */
static gint64 units_to_go(const OrrEmitter *e, const OrrLaneAt *lane, const OrrEmitShards *shards,
                          gint64 most) {
  for (int share = 0; share < ORR_N_SHARES; share++) {
    const GArray *buckets = e->plan->buckets[share][lane->stage];
    if (buckets->len == 0) continue;
    most = MIN(most, g_array_index(buckets, OrrBucket, shards->bucket[share]).units -
                         shards->unit[share]);
  }
  return most;
}

/* Whether the pass completes gradients that are reduced as they come. */
static gboolean reduces(const OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass,
                        OrrRunKind kind, OrrEmitShards *shards) {
  const OrrShardingPlan *sharding = &e->job->sharding;
  if (kind != ORR_RUN_BACKWARD && kind != ORR_RUN_WEIGHT) return FALSE;
  const gboolean last = --shards->left[pass->chunk] == 0;
  if (!orr_training_reduces(e->plan, lane->stage)) return FALSE;
  if (sharding->reduces_each_pass) begin_buckets(e, lane, pass, shards);
  shards->adds =
      sharding->reduces_each_pass && shards->left[pass->chunk] + 1 < orr_job_passes(e->job);
  return sharding->reduces_each_pass || (last && sharding->overlap);
}

/* Whether the pass begins with its weights elsewhere. */
static gboolean gathers(const OrrEmitter *e, const Pass *pass, OrrRunKind kind,
                        OrrEmitShards *shards) {
  const OrrShardingPlan *sharding = &e->job->sharding;
  if (!orr_job_gathers(e->job)) return FALSE;
  if (!sharding->weights) {
    const gboolean first = kind == ORR_RUN_FORWARD && shards->first[pass->chunk];
    if (first) shards->first[pass->chunk] = FALSE;
    return first;
  }
  return kind == ORR_RUN_FORWARD || (sharding->gathers_again && kind != ORR_RUN_WEIGHT);
}

/* A pass in one piece, or cut where weights are awaited and where gradients are complete. */
static void emit_pass(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, OrrRunKind kind,
                      OrrEmitShards *shards) {
  const gboolean is_reducing = reduces(e, lane, pass, kind, shards),
                 is_gathering = gathers(e, pass, kind, shards);
  const gboolean is_stashing = e->job->params->offload.activations > 0,
                 forward = kind == ORR_RUN_FORWARD;
  const gint64 n = pass->units->len;
  for (gint64 from = 0, to = n; from < n; from = to) {
    const gint64 unit = forward ? from : n - 1 - from;
    const OrrStash stash = {pass->units, pass->chunk, pass->micro_batch, unit, forward};
    to = n;
    if (is_reducing) to = from + units_to_go(e, lane, shards, n - from);
    if (is_gathering) {
      to = from + 1;
      orr_emit_gather(e, lane, shards, g_array_index(pass->units, guint, unit), !forward);
    }
    if (is_stashing) {
      to = from + 1;
      orr_emit_stash_room(e, lane, shards, &stash);
    }
    emit_units(e, lane, pass, kind, from, to);
    if (is_stashing) orr_emit_stashed(e, lane, shards, &stash);
    if (is_gathering) orr_emit_computed(e, lane, shards);
    if (is_reducing) count_units(e, lane, shards, to - from);
  }
}

static void receive(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, gboolean backward) {
  const OrrHandover in = handover_of(pass, backward, TRUE);
  if (is_there(e, &in)) orr_emit_receive(e, lane, &in);
}

static void send(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, gboolean backward) {
  const OrrHandover out = handover_of(pass, backward, FALSE);
  if (is_there(e, &out)) orr_emit_send(e, lane, &out);
}

static void emit_plain(OrrEmitter *e, const OrrLaneAt *lane, const Pass *pass, OrrRunKind kind,
                       OrrEmitShards *shards) {
  const gboolean backward = kind != ORR_RUN_FORWARD, meets = kind != ORR_RUN_WEIGHT;
  if (!backward && pass->place.block == 0) orr_emit_loaded(e, lane, pass->micro_batch);
  if (meets) receive(e, lane, pass, backward);
  emit_pass(e, lane, pass, kind, shards);
  if (meets) send(e, lane, pass, backward);
}

static double gather_s(const OrrEmitter *e, const Pass *pass, gboolean backward) {
  const OrrHandover in = handover_of(pass, backward, TRUE);
  return is_there(e, &in) ? e->plan->gather_s : 0;
}

/* Where experts' tokens travel, the one computes while the other's are under way. */
static void emit_by_turns(OrrEmitter *e, const OrrLaneAt *lane, const Pass *forward,
                          const Pass *backward) {
  g_autoptr(GArray) down = runs_of(e, forward, ORR_RUN_FORWARD, 0, forward->units->len);
  g_autoptr(GArray) up = runs_of(e, backward, ORR_RUN_BACKWARD, 0, backward->units->len);
  g_autofree char *front = name_of(e, forward, ORR_RUN_FORWARD, 0, forward->units->len);
  g_autofree char *back = name_of(e, backward, ORR_RUN_BACKWARD, 0, backward->units->len);
  const OrrPassRuns passes[2] = {
      {front, (const OrrRuns *)(gpointer)down->data, down->len, gather_s(e, forward, FALSE),
       forward->micro_batch},
      {back, (const OrrRuns *)(gpointer)up->data, up->len, gather_s(e, backward, TRUE),
       backward->micro_batch},
  };
  orr_emit_by_turns(e, lane, passes);
}

static void emit_both(OrrEmitter *e, const OrrLaneAt *lane, const Pass *forward,
                      const Pass *backward, OrrEmitShards *shards) {
  if (forward->place.block == 0) orr_emit_loaded(e, lane, forward->micro_batch);
  receive(e, lane, forward, FALSE);
  receive(e, lane, backward, TRUE);
  if (e->plan->by_turns) {
    shards->left[backward->chunk]--;
    emit_by_turns(e, lane, forward, backward);
  } else {
    emit_pass(e, lane, forward, ORR_RUN_FORWARD, shards);
    emit_pass(e, lane, backward, ORR_RUN_BACKWARD, shards);
  }
  send(e, lane, forward, FALSE);
  send(e, lane, backward, TRUE);
}

static void emit_schedule_step(OrrEmitter *e, const OrrLaneAt *lane, const OrrPipelineStep *step,
                               OrrEmitShards *shards) {
  static const OrrRunKind kinds[] = {
      [ORR_STEP_FORWARD] = ORR_RUN_FORWARD,
      [ORR_STEP_BACKWARD] = ORR_RUN_BACKWARD,
      [ORR_STEP_BACKWARD_INPUT] = ORR_RUN_INPUT,
      [ORR_STEP_BACKWARD_WEIGHT] = ORR_RUN_WEIGHT,
  };
  const Pass pass = pass_of(e, lane, step->chunk, step->micro_batch);
  if (step->kind != ORR_STEP_BOTH) {
    emit_plain(e, lane, &pass, kinds[step->kind], shards);
    return;
  }
  const Pass back = pass_of(e, lane, step->back_chunk, step->back_micro_batch);
  emit_both(e, lane, &pass, &back, shards);
}

/* A moment of memory has ended: training_memory.c counts the same passes. */
static void note_moment(const OrrEmitter *e, const OrrLaneAt *lane) {
  guint n_ops = 0;
  if (lane->class != 0) return;
  orr_program_ops(e->program, e->streams[lane->lane][ORR_STREAM_COMPUTE], &n_ops);
  g_array_append_val(e->work->moment_ops, n_ops);
}

static void emit_schedule(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards) {
  g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(OrrPipelineStep));
  orr_job_steps(e->job, lane->stage, steps);
  for (guint i = 0; i < steps->len; i++) {
    emit_schedule_step(e, lane, &g_array_index(steps, OrrPipelineStep, i), shards);
    note_moment(e, lane);
  }
}

/* The stages (or, held twice, the blocks) whose parameters a stage holds, in an order that all
 * stages share. */
static guint owners_of(const OrrEmitter *e, gint64 stage, gint64 ret_owners[2]) {
  ret_owners[0] = stage;
  if (e->chains == 1) return 1;
  const gint64 other = e->job->pp - 1 - stage;
  ret_owners[0] = MIN(stage, other);
  ret_owners[1] = MAX(stage, other);
  return 2;
}

static void emit_gradients(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards) {
  gint64 owners[2];
  const guint n_owners = owners_of(e, lane->stage, owners);
  const gboolean reduced_before = e->job->sharding.overlap || e->job->sharding.reduces_each_pass;
  gboolean any = FALSE;
  for (int share = 0; share < ORR_N_SHARES; share++)
    for (guint o = 0; o < n_owners; o++) {
      const guint n = e->plan->buckets[share][owners[o]]->len;
      for (guint b = 0; b < n && !reduced_before; b++)
        orr_emit_reduction(e, lane, shards, share, owners[o], b, n_owners);
      any = any || n > 0;
    }
  if (!any) return;
  const guint32 reduced = orr_program_event(e->program);
  orr_program_record(e->program, orr_emit_stream(e, lane, ORR_STREAM_DP), reduced);
  orr_program_wait(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE), reduced);
}

/* All stages wait for the norm, unless each goes on and checks it afterwards. */
static void emit_norm(OrrEmitter *e, const OrrLaneAt *lane) {
  const OrrJob *job = e->job;
  const OrrPhase phase = {e->plan->norm.predicted_s, 0, ORR_NO_PATH};
  const OrrWire wire = {(OrrPhase *)&phase, 1, phase.latency_s};
  if (job->schedule->post_validates && job->schedule->post_validates(job->params->pipeline.params))
    return;
  orr_program_join(e->program, orr_emit_stream(e, lane, ORR_STREAM_COMPUTE),
                   orr_emit_once(e, &e->norm, job->pp * e->plan->fold.n, &wire),
                   orr_emit_comm_label(e, "gradient-norm", ORR_TIME_DP_COMM), -1);
}

static void emit_parameters(OrrEmitter *e, const OrrLaneAt *lane) {
  gint64 owners[2];
  const guint n_owners = owners_of(e, lane->stage, owners);
  for (int share = 0; share < ORR_N_SHARES; share++)
    for (guint o = 0; o < n_owners; o++) orr_emit_parameters(e, lane, share, owners[o], n_owners);
}

/* What follows the last backward: reductions to their end, embedding gradients, norm, optimizer,
 * parameters. */
static void emit_update(OrrEmitter *e, const OrrLaneAt *lane, OrrEmitShards *shards, gint64 step) {
  const guint32 compute = orr_emit_stream(e, lane, ORR_STREAM_COMPUTE);
  if (e->job->params->evaluation) {
    orr_emit_refilled(e, lane, step);
    orr_program_work(e->program, compute, 0, orr_program_label(e->program, "step", "step"), -1);
    return;
  }
  emit_gradients(e, lane, shards);
  orr_emit_gradients_there(e, lane);
  const OrrWire *embedding = &e->plan->embedding[lane->class];
  if (embedding->n_phases > 0 && (lane->stage == 0 || lane->stage == e->job->pp - 1))
    orr_program_join(e->program, compute,
                     orr_emit_once(e, &e->embeddings[lane->class], 2, embedding),
                     orr_emit_comm_label(e, "embedding-gradients", ORR_TIME_DP_COMM), -1);
  emit_norm(e, lane);
  orr_emit_host_update(e, lane);
  double seconds[ORR_N_TIMES] = {[ORR_TIME_OPTIMIZER] = e->optimizer_s[lane->stage]};
  g_autofree char *name = g_strdup_printf("optimizer stage %d", (int)lane->stage);
  const double optimizer_s = e->optimizer_s[lane->stage];
  orr_noise_work(e->noise, lane->lane, optimizer_s,
                 optimizer_s * optimizer_s); /* one multi-tensor kernel */
  orr_emit_work(e, lane, name, seconds, orr_noise_meet(e->noise, lane->lane), -1);
  orr_emit_host_updated(e, lane);
  emit_parameters(e, lane);
  orr_emit_checkpoint(e, lane, step);
  orr_emit_refilled(e, lane, step);
  orr_program_work(e->program, compute, 0, orr_program_label(e->program, "step", "step"), -1);
}

/* --- lanes
 * ------------------------------------------------------------------------------------------------------ */

/* Lane l = stage * fold.n + class. */
static void note_gpus(OrrEmitter *e, gint64 stage) {
  const OrrFold *fold = &e->plan->fold;
  const gint64 n = orr_job_replica_ranks(e->job);
  for (gint64 rank = 0; rank < n * e->job->dp; rank++)
    g_array_index(e->work->work.lane_of_gpu, guint32, orr_job_gpu(e->job, stage, rank)) =
        (guint32)stage * fold->n + fold->class_of[rank / n];
}

static void add_lanes(OrrEmitter *e) {
  const OrrFold *fold = &e->plan->fold;
  for (gint64 stage = 0; stage < e->job->pp; stage++)
    for (guint class = 0; class < fold->n; class ++) {
      const gint64 replica = fold->first[class];
      g_autofree char *name =
          fold->n == 1 ? g_strdup_printf("stage %d", (int)stage)
                       : g_strdup_printf("stage %d, replica %d", (int)stage, (int)replica);
      const guint32 n_ranks = orr_job_replica_ranks(e->job) * fold->size[class];
      const OrrLaneAt lane = {orr_program_lane(e->program, name, n_ranks), class, stage};
      orr_program_slow_beside(e->program, lane.lane,
                              orr_cost_overlap_slowdown(e->job->world->cost));
      for (int s = 0; s < ORR_N_STREAMS; s++) e->streams[lane.lane][s] = G_MAXUINT32;
      for (int s = 0; s <= ORR_STREAM_TP; s++) orr_emit_stream(e, &lane, s);
      g_array_append_val(e->work->lane_stage, stage);
      g_array_append_val(e->work->lane_replica, replica);
    }
  for (gint64 stage = 0; stage < e->job->pp; stage++) note_gpus(e, stage);
}

/* A pass of a block: receive and send are 3 and 5 ops; a segment with its collective is 3 on
 * average at most. */
double orr_training_n_ops(const OrrJob *job, const OrrTrainingCosts *costs,
                          const OrrTrainingPlan *plan) {
  const double handover = job->pp * job->shape.chunks > 1 ? 8 : 0;
  double ops = 0;
  for (gint64 stage = 0; stage < job->pp; stage++) {
    double segments = 0;
    for (guint part = 0; part < costs->n_parts && !plan->all_alone; part++)
      segments += (double)orr_job_count(job, stage, part) *
                  (costs->parts[part].runs[ORR_RUN_FORWARD].segments->len +
                   costs->parts[part].runs[ORR_RUN_BACKWARD].segments->len);
    const double n_buckets =
        plan->buckets[ORR_SHARE_DENSE][stage]->len + plan->buckets[ORR_SHARE_EXPERTS][stage]->len;
    const double reductions =
        (job->sharding.reduces_each_pass ? orr_job_passes(job) : 1) * n_buckets;
    double units = 0;
    const gboolean cuts = orr_job_gathers(job) || orr_training_offloads(job->params);
    for (gint64 chunk = 0; chunk < job->shape.chunks && cuts; chunk++)
      units += orr_job_units(job, stage, chunk)->len;
    ops +=
        (2 * (handover + 1) * job->shape.chunks + 3 * segments + 20 * units) * orr_job_passes(job) +
        6.0 * reductions + 8;
  }
  return ops * plan->fold.n * job->params->steps;
}

static void forget(guint32 *slots, gsize n) {
  for (gsize i = 0; i < n; i++) slots[i] = ORR_NO_COMM;
}

static gsize n_transfers(const OrrEmitter *e) {
  return (gsize)e->plan->fold.n * 2 * e->chains * e->blocks * e->job->shape.micro_batches;
}

static void emit_step(OrrEmitter *e, gint64 step) {
  const OrrFold *fold = &e->plan->fold;
  const gint64 pp = e->job->pp;
  e->step = step;
  forget(e->transfers, n_transfers(e));
  for (int share = 0; share < ORR_N_SHARES; share++) {
    for (gint64 stage = 0; stage < pp; stage++) {
      g_array_set_size(e->reduced[share][stage], 0);
      g_array_set_size(e->gathered[share][stage], 0);
    }
    forget(e->gathers[share], pp);
  }
  forget(e->embeddings, fold->n);
  e->norm = e->checkpoint = ORR_NO_COMM;
  for (guint team = 0; team < pp * fold->n_teams; team++) g_array_set_size(e->team_comms[team], 0);
  memset(e->team_at, 0, pp * fold->n * sizeof *e->team_at);
  for (guint l = 0; l < pp * fold->n; l++) {
    const OrrLaneAt lane = {l, l % fold->n, l / fold->n};
    OrrEmitShards shards;
    orr_emit_shards_init(&shards, e->job);
    if (step == 0) orr_emit_load(e, &lane);
    orr_emit_data(e, &lane, step);
    emit_schedule(e, &lane, &shards);
    emit_update(e, &lane, &shards, step);
    note_moment(e, &lane);
    orr_emit_shards_clear(&shards);
  }
}

void orr_training_emit(const OrrJob *job, const OrrTrainingCosts *costs,
                       const OrrTrainingPlan *plan, const double *optimizer_s,
                       OrrTrainingWork *work) {
  const guint n = plan->fold.n;
  OrrEmitter e = {.job = job,
                  .costs = costs,
                  .plan = plan,
                  .optimizer_s = optimizer_s,
                  .work = work,
                  .program = work->work.program,
                  .chains = orr_pipeline_n_chains(job->schedule),
                  .blocks = orr_job_n_blocks(job)};
  g_autoptr(OrrNoiseDraws) noise = orr_noise_draws_new(job, &plan->fold);
  e.noise = noise;
  g_autofree gpointer streams = g_malloc_n(job->pp * n, sizeof *e.streams);
  g_autofree guint32 *transfers = g_new(guint32, n_transfers(&e));
  g_autoptr(GPtrArray) comms = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  for (gint64 i = 0; i < 2 * ORR_N_SHARES * job->pp; i++)
    g_ptr_array_add(comms, g_array_new(FALSE, FALSE, sizeof(guint32)));
  g_autofree guint32 *gathers = g_new(guint32, ORR_N_SHARES * job->pp);
  g_autofree guint32 *embeddings = g_new(guint32, n);
  e.streams = streams;
  e.transfers = transfers;
  for (int share = 0; share < ORR_N_SHARES; share++) {
    e.reduced[share] = (GArray **)comms->pdata + 2 * share * job->pp;
    e.gathered[share] = e.reduced[share] + job->pp;
    e.gathers[share] = gathers + share * job->pp;
  }
  e.embeddings = embeddings;
  g_autoptr(GPtrArray) team_comms = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  for (guint team = 0; team < job->pp * plan->fold.n_teams; team++)
    g_ptr_array_add(team_comms, g_array_new(FALSE, FALSE, sizeof(guint32)));
  g_autoptr(GHashTable) passes = orr_emit_passes_new(&e);
  e.passes = passes;
  e.handover_labels[0] = e.handover_labels[1] = G_MAXUINT32;
  g_autofree guint *team_at = g_new0(guint, job->pp * n);
  e.team_comms = (GArray **)team_comms->pdata;
  e.team_at = team_at;
  g_autoptr(GPtrArray) ready = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  for (guint l = 0; l < job->pp * n; l++)
    g_ptr_array_add(ready, g_array_new(FALSE, FALSE, sizeof(guint32)));
  g_autofree gint64 *taken = g_new0(gint64, job->pp * n);
  e.ready = (GArray **)ready->pdata;
  e.taken = taken;
  add_lanes(&e);
  e.loaded = ORR_NO_COMM;
  for (gint64 step = 0; step < job->params->steps; step++) emit_step(&e, step);
}
