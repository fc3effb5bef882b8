/*
 * diffusion_compile.c - a batch of pictures as a program.
 *
 * Streams of a rank's lane. The host launches a segment's kernels while the one before them runs; a
 * segment ends no earlier than its last launch. Host and GPU meet at the end of a step, where the
 * sampler looks at its own.
 *
 *   kernels  |--WORK--|--all-to-all--|--part 1--|--part 2--|..
 *   ring                             |--sends--|
 *   host     |-launches-|-launches-|
 *
 * A ring's sends are one transfer that loads the links of all its neighbours, since they move in
 * step.
 *
 * Weights that come from elsewhere (`offload: prefetch`, `fsdp`) come one block ahead:
 *
 *   kernels  |--block 1--|--block 2--|      weights  |--1--|--2--|   |--3--|
 *
 * PipeFusion: stage p has a part of the blocks, patch j of step t goes through all stages, and
 * begins once the last stage has ended the same patch of step t - 1 and sent it back.
 *
 *   stage 0  |1|2|3|4|1|2|..      with M patches, N stages, a patch c on each of them, in T steps:
 *   stage 1    |1|2|3|4|1|..      T max(M, N) c + (min(M, N) - 1) c
 *
 * Displaced patches: a layer needs of the other GPUs what they gathered in the step before, so the
 * gathers of a step run during it on the stream of a ring. With compute c and gathers g of a step,
 * T steps after the warm-up take T c where c > g, and g each in the long run where g > c.
 *
 *   kernels  |--layer 1--|--layer 2--|--layer 1--|--layer 2--|
 *   ring     |1 |--|2 |--|1 |            ^ waits for gather 1 of the step before
 */
#include "workloads/collectives/collective_cache.h"
#include "workloads/collectives/collective_phases.h"
#include "workloads/diffusion/diffusion.h"

typedef struct {
  OrrDiffusionWork *work;
  const OrrDiffusion *params;
  const OrrWorld *world;
  OrrCollectivePhases phases;
  guint32 n;                                /* ranks */
  guint32 *kernels, *ring, *host, *weights; /* streams by rank */
  gint64 part, part_stride; /* the stage of a pipeline that is put, -1: all ranks; between two */
  gint64 stride[ORR_N_GROUPS], size[ORR_N_GROUPS];
  GHashTable *plans; /* "op group first bytes" -> GArray of OrrPhase */
  /* Displaced patches: events of the gathers of the step before + 1, by gather and rank (0: none);
   * the next gather of the step; whether kernels wait for it. */
  GArray *gathered; /* of guint32 */
  guint gather;
  gboolean is_warm;
} Compile;

static OrrProgram *program_of(const Compile *c) { return c->work->work.program; }

/* --- Collectives --- */

/* One step of a ring: every rank sends to the next one. */
static gboolean plan_ring(Compile *c, const OrrCollectiveCall *call, GArray *phases,
                          GError **error) {
  OrrCollectivePhase longest = {.bytes = call->bytes};
  g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  for (guint i = 0; i < call->n; i++) {
    const gint64 pair[] = {call->gpus[i], call->gpus[(i + 1) % call->n]};
    const OrrCollectiveCall send = {
        .op = ORR_SEND_RECV, .bytes = call->bytes, .gpus = pair, .n = 2};
    g_autoptr(OrrCollectivePlan) plan =
        orr_collective_cache_plan(c->world->plans, &c->phases.context, &send, NULL, error);
    if (!plan) return FALSE;
    double latency_s = 0;
    ORR_EACH_AT(k, const OrrCollectivePhase, phase, plan->phases) {
      latency_s += phase->latency_s;
      orr_collective_phases_use(&c->phases, uses, phase);
      longest.bytes = fmax(k > 0 ? longest.bytes : 0, phase->bytes);
    }
    longest.latency_s = fmax(longest.latency_s, latency_s);
  }
  orr_collective_phases_append(&c->phases, phases, longest.latency_s, longest.bytes, uses);
  return TRUE;
}

static OrrCollectiveOp collective_of(const OrrOperator *op) {
  static const OrrCollectiveOp ops[] = {[ORR_COMM_ALL_REDUCE] = ORR_ALL_REDUCE,
                                        [ORR_COMM_ALL_GATHER] = ORR_ALL_GATHER,
                                        [ORR_COMM_REDUCE_SCATTER] = ORR_REDUCE_SCATTER,
                                        [ORR_COMM_ALL_TO_ALL] = ORR_ALL_TO_ALL,
                                        [ORR_COMM_SEND_RECV] = ORR_SEND_RECV};
  return ops[op->comm.op];
}

/* The phases of @op among the group whose first rank is @first. */
static const GArray *phases_of(Compile *c, const OrrOperator *op, gint64 first, GError **error) {
  g_autofree char *key =
      g_strdup_printf("%d %d %ld %.0f", op->comm.op, op->comm.group, first, op->bytes);
  GArray *phases = g_hash_table_lookup(c->plans, key);
  if (phases) return phases;
  const gint64 n = c->size[op->comm.group], stride = c->stride[op->comm.group];
  g_autofree gint64 *gpus = g_new(gint64, n);
  for (gint64 i = 0; i < n; i++) gpus[i] = first + i * stride;
  const OrrCollectiveCall call = {
      .op = collective_of(op), .bytes = op->bytes, .gpus = gpus, .n = (guint)n};
  phases = g_array_new(FALSE, FALSE, sizeof(OrrPhase));
  const gboolean ok = op->comm.op == ORR_COMM_SEND_RECV
                          ? plan_ring(c, &call, phases, error)
                          : orr_collective_phases_plan(&c->phases, &call, phases, error);
  if (!ok) {
    g_array_unref(phases);
    return NULL;
  }
  g_hash_table_insert(c->plans, g_steal_pointer(&key), phases);
  return phases;
}

/* Whether @rank is of the stage that is put. */
static gboolean takes_part(const Compile *c, gint64 rank) {
  return c->part < 0 || rank / c->part_stride % c->params->parallel.pipefusion == c->part;
}

static gboolean is_first(const Compile *c, int group, gint64 rank) {
  return takes_part(c, rank) && rank / c->stride[group] % c->size[group] == 0;
}

/* Every group of @op's kind joins one communication of its own, each member on its stream of
 * @streams. */
static gboolean join(Compile *c, const OrrOperator *op, const guint32 *streams, GError **error) {
  const int group = op->comm.group;
  const char *category = group == ORR_GROUP_TP    ? "tp-comm"
                         : group == ORR_GROUP_ETP ? "dp-comm"
                                                  : "cp-comm";
  const guint32 label = orr_program_label(program_of(c), op->name, category);
  for (gint64 rank = 0; rank < c->n; rank++) {
    if (!is_first(c, group, rank)) continue;
    const GArray *phases = phases_of(c, op, rank, error);
    if (!phases) return FALSE;
    const guint32 comm =
        orr_program_comm(program_of(c), (guint32)c->size[group],
                         (const OrrPhase *)(const void *)phases->data, phases->len);
    for (gint64 i = 0; i < c->size[group]; i++)
      orr_program_join(program_of(c), streams[rank + i * c->stride[group]], comm, label, -1);
  }
  return TRUE;
}

/* --- Segments --- */

static guint32 record(Compile *c, guint32 stream) {
  const guint32 event = orr_program_event(program_of(c));
  orr_program_record(program_of(c), stream, event);
  return event;
}

static void launch(Compile *c, double host_s) {
  OrrProgram *program = program_of(c);
  const guint32 label = orr_program_label(program, "launches", "host");
  for (guint32 r = 0; host_s > 0 && r < c->n; r++) {
    if (!takes_part(c, r)) continue;
    orr_program_work(program, c->host[r], host_s, label, -1);
    orr_program_wait(program, c->kernels[r], record(c, c->host[r]));
  }
}

static void work_on_all(Compile *c, double seconds, guint32 label) {
  for (guint32 r = 0; seconds > 0 && r < c->n; r++)
    if (takes_part(c, r)) orr_program_work(program_of(c), c->kernels[r], seconds, label, -1);
}

/* Part i runs while the keys of part i + 1 come. */
static gboolean put_ring(Compile *c, const OrrDiffusionSegment *segment, guint32 label,
                         GError **error) {
  OrrProgram *program = program_of(c);
  for (gint64 part = 0; part < segment->parts; part++) {
    const gboolean sends = part + 1 < segment->parts;
    g_autofree guint32 *events = g_new0(guint32, c->n);
    for (guint32 r = 0; sends && r < c->n; r++)
      orr_program_wait(program, c->ring[r], record(c, c->kernels[r]));
    if (sends && !join(c, &segment->comm, c->ring, error)) return FALSE;
    for (guint32 r = 0; sends && r < c->n; r++) events[r] = record(c, c->ring[r]);
    work_on_all(c, segment->part_s, label);
    for (guint32 r = 0; sends && r < c->n; r++) orr_program_wait(program, c->kernels[r], events[r]);
  }
  return TRUE;
}

/* The next layer needs what the other GPUs gave in the step before; this step's goes out meanwhile.
 */
static gboolean put_displaced(Compile *c, const OrrOperator *op, GError **error) {
  OrrProgram *program = program_of(c);
  const guint at = c->gather++ * c->n;
  if (!c->is_warm) return join(c, op, c->kernels, error);
  if (at >= c->gathered->len) g_array_set_size(c->gathered, at + c->n);
  guint32 *events = &g_array_index(c->gathered, guint32, at);
  for (guint32 r = 0; r < c->n; r++) {
    orr_program_wait(program, c->ring[r], record(c, c->kernels[r]));
    if (events[r] > 0) orr_program_wait(program, c->kernels[r], events[r] - 1);
  }
  if (!join(c, op, c->ring, error)) return FALSE;
  for (guint32 r = 0; r < c->n; r++) events[r] = record(c, c->ring[r]) + 1;
  return TRUE;
}

static gboolean put_segment(Compile *c, const char *stage, const OrrDiffusionSegment *segment,
                            GError **error) {
  const double seconds = orr_diffusion_segment_s(segment);
  const double part[ORR_N_TIMES] = {[ORR_TIME_ATTENTION] = segment->part_s};
  if (seconds > 0)
    work_on_all(c, seconds, orr_collective_phases_label(&c->work->work, stage, segment->seconds));
  launch(c, segment->host_s);
  if (segment->comm.kind != ORR_OPERATOR_COMM) return TRUE;
  if (c->params->parallel.displaced > 1) return put_displaced(c, &segment->comm, error);
  if (segment->parts > 0)
    return put_ring(c, segment, orr_collective_phases_label(&c->work->work, "attention", part),
                    error);
  for (double n = 0; n < segment->comm_times; n++)
    if (!join(c, &segment->comm, c->kernels, error)) return FALSE;
  return TRUE;
}

/* All of a stage's weights come from the host before it. Returns the seconds. */
static double put_copy(Compile *c, const OrrDiffusionStage *stage) {
  const double copy_s = c->params->offload == ORR_OFFLOAD_STAGES
                            ? orr_diffusion_copy_s(c->world->cluster, stage->weight_bytes)
                            : 0;
  const double seconds[ORR_N_TIMES] = {[ORR_TIME_OFFLOAD] = copy_s};
  if (copy_s > 0)
    work_on_all(c, copy_s, orr_collective_phases_label(&c->work->work, "weights", seconds));
  return copy_s;
}

/* Begins to fetch the weights of the first segment from @i on that waits for some, when kernels
 * have come so far; @events: of their arrival, by rank. */
static gboolean put_fetch(Compile *c, const OrrDiffusionStage *stage, guint i, guint32 *events,
                          GError **error) {
  const OrrDiffusionSegment *segments = (const void *)stage->segments->data;
  const double copied[ORR_N_TIMES] = {[ORR_TIME_OFFLOAD] = 1};
  while (i < stage->segments->len && segments[i].fetch_bytes <= 0) i++;
  if (i == stage->segments->len) return TRUE;
  for (guint32 r = 0; r < c->n; r++)
    orr_program_wait(program_of(c), c->weights[r], record(c, c->kernels[r]));
  if (c->params->parallel.fsdp) {
    const OrrOperator gather = orr_operator_comm("gather weights", ORR_PASS_FORWARD, ORR_GROUP_ETP,
                                                 ORR_COMM_ALL_GATHER, segments[i].fetch_bytes);
    if (!join(c, &gather, c->weights, error)) return FALSE;
  } else {
    const guint32 label = orr_collective_phases_label(&c->work->work, "fetch weights", copied);
    for (guint32 r = 0; r < c->n; r++)
      orr_program_work(program_of(c), c->weights[r],
                       orr_diffusion_copy_s(c->world->cluster, segments[i].fetch_bytes), label, -1);
  }
  for (guint32 r = 0; r < c->n; r++) events[r] = record(c, c->weights[r]);
  return TRUE;
}

static gboolean put_stage(Compile *c, const char *name, const OrrDiffusionStage *stage,
                          GError **error) {
  g_autofree guint32 *events = g_new0(guint32, c->n);
  if (!put_fetch(c, stage, 0, events, error)) return FALSE;
  for (guint i = 0; i < stage->segments->len; i++) {
    const OrrDiffusionSegment *segment = &g_array_index(stage->segments, OrrDiffusionSegment, i);
    for (guint32 r = 0; segment->fetch_bytes > 0 && r < c->n; r++)
      orr_program_wait(program_of(c), c->kernels[r], events[r]);
    if (segment->fetch_bytes > 0 && !put_fetch(c, stage, i + 1, events, error)) return FALSE;
    if (!put_segment(c, name, segment, error)) return FALSE;
  }
  return TRUE;
}

/* All ranks meet, and the host with its GPU. @name: of the mark of a step; NULL: none. */
static guint32 meet(Compile *c, const char *name) {
  OrrProgram *program = program_of(c);
  const OrrPhase none = {0, 0, ORR_NO_PATH};
  const guint32 comm = orr_program_comm(program, c->n, &none, 1);
  const guint32 label = orr_program_label(program, "meet", "cp-comm");
  const guint32 mark = name ? orr_program_label(program, name, "step") : 0;
  for (guint32 r = 0; r < c->n; r++) {
    orr_program_join(program, c->kernels[r], comm, label, -1);
    if (name) orr_program_work(program, c->kernels[r], 0, mark, -1);
    orr_program_wait(program, c->host[r], record(c, c->kernels[r]));
  }
  return comm;
}

static double latent_bytes(const Compile *c) {
  const OrrGeneratorShape shape = orr_diffusion_shape(c->params);
  const OrrBlock *first = c->params->generator.backbone->pdata[0];
  return 2.0 * (double)shape.batch * orr_generator_positions(first, &shape) *
         (double)c->params->generator.latent_channels * 4;
}

/* The latent picture, or one of its @patches, is gathered, and the two passes of guidance meet. */
static gboolean put_gathers(Compile *c, gint64 patches, GError **error) {
  const double bytes = latent_bytes(c) / (double)patches;
  if (c->size[ORR_GROUP_CP] > 1) {
    const OrrOperator op = orr_operator_comm("gather latents", ORR_PASS_FORWARD, ORR_GROUP_CP,
                                             ORR_COMM_ALL_GATHER, bytes);
    if (!join(c, &op, c->kernels, error)) return FALSE;
  }
  if (c->size[ORR_GROUP_EP] == 1) return TRUE;
  const OrrOperator op = orr_operator_comm("gather guidance", ORR_PASS_FORWARD, ORR_GROUP_EP,
                                           ORR_COMM_ALL_GATHER, 2 * bytes);
  return join(c, &op, c->kernels, error);
}

static gboolean put_step(Compile *c, GError **error) {
  c->gather = 0;
  for (gint64 pass = 0; pass < c->work->passes; pass++)
    if (!put_stage(c, "step", &c->work->stages[ORR_STAGE_STEP], error)) return FALSE;
  return put_gathers(c, 1, error);
}

/* --- PipeFusion --- */

/* Every rank of stage @part sends @bytes to its counterpart of stage @to; events[r] - 1: when they
 * came to rank r. */
static gboolean put_send(Compile *c, gint64 part, gint64 to, double bytes, guint32 *events,
                         GError **error) {
  OrrProgram *program = program_of(c);
  const guint32 label = orr_program_label(program, "send patch", "pp-comm");
  for (gint64 rank = 0; rank < c->n; rank++) {
    if (!takes_part(c, rank)) continue;
    const gint64 other = rank + (to - part) * c->part_stride, pair[] = {rank, other};
    const OrrCollectiveCall call = {.op = ORR_SEND_RECV, .bytes = bytes, .gpus = pair, .n = 2};
    g_autoptr(GArray) phases = g_array_new(FALSE, FALSE, sizeof(OrrPhase));
    if (!orr_collective_phases_plan(&c->phases, &call, phases, error)) return FALSE;
    const guint32 comm =
        orr_program_comm(program, 1, (const OrrPhase *)(const void *)phases->data, phases->len);
    orr_program_wait(program, c->ring[rank], record(c, c->kernels[rank]));
    orr_program_join(program, c->ring[rank], comm, label, -1);
    events[other] = record(c, c->ring[rank]) + 1;
  }
  return TRUE;
}

/* Bytes of a patch between two stages, on one of a stage's ranks. */
static double between_bytes(const Compile *c, gint64 patches) {
  const OrrDiffusionParallel *parallel = &c->params->parallel;
  const OrrGeneratorShape shape = orr_diffusion_shape(c->params);
  const OrrBlock *first = c->params->generator.backbone->pdata[0];
  const double positions = orr_generator_positions(first, &shape) / (double)patches;
  return 2.0 * (double)(shape.batch * first->width) * (positions + (double)shape.text_tokens) /
         (double)(parallel->ulysses * parallel->tp);
}

/* One patch, and one pass of it, through all stages; @back: when its step before was sent back. */
static gboolean put_patch(Compile *c, gint64 patches, gboolean is_last_pass, guint32 *back,
                          GError **error) {
  const gint64 n = c->params->parallel.pipefusion;
  const guint first = patches > 1 ? (guint)n : 0; /* of the parts */
  g_autofree guint32 *came = g_new0(guint32, c->n);
  for (c->part = 0; c->part < n; c->part++) {
    const guint32 *events = c->part == 0 ? back : came;
    for (guint32 r = 0; r < c->n; r++)
      if (takes_part(c, r) && events[r] > 0)
        orr_program_wait(program_of(c), c->kernels[r], events[r] - 1);
    const OrrDiffusionStage *part =
        &g_array_index(c->work->parts, OrrDiffusionStage, first + (guint)c->part);
    if (!put_stage(c, "step", part, error)) return FALSE;
    if (c->part + 1 < n &&
        !put_send(c, c->part, c->part + 1, between_bytes(c, patches), came, error))
      return FALSE;
  }
  c->part = n - 1;
  if (!is_last_pass) return TRUE;
  if (!put_gathers(c, patches, error)) return FALSE;
  return put_send(c, n - 1, 0, latent_bytes(c) / (double)patches, back, error);
}

/* No rank waits for the others between two steps. */
static gboolean put_pipeline(Compile *c, GError **error) {
  const gint64 most = orr_diffusion_patches(c->params);
  const guint32 mark = orr_program_label(program_of(c), "patches", "step");
  g_autofree guint32 *back = g_new0(guint32, (gsize)(most * c->n));
  for (gint64 step = 0; step < c->work->full_steps; step++) {
    const gint64 warm_up = orr_diffusion_warm_up(c->params), n = step < warm_up ? 1 : most;
    for (gint64 pass = 0; pass < c->work->passes; pass++)
      for (gint64 patch = 0; patch < n; patch++)
        if (!put_patch(c, n, pass + 1 == c->work->passes, back + patch * c->n, error)) return FALSE;
    for (gint64 patch = n; patch < most; patch++) /* the whole picture was sent back */
      memcpy(back + patch * c->n, back, c->n * sizeof *back);
    c->part = -1;
    for (guint32 r = 0; r < c->n; r++) orr_program_work(program_of(c), c->kernels[r], 0, mark, -1);
  }
  meet(c, NULL);
  return TRUE;
}

/* Two steps stand for all, except where faults come at dates, other jobs run meanwhile, or gathers
 * of displaced patches are under way from one step to the next. */
static gboolean put_steps(Compile *c, GError **error) {
  const gint64 steps = c->work->full_steps;
  const gboolean is_displaced = c->params->parallel.displaced > 1;
  const gboolean repeats =
      !c->world->is_faulty && !c->world->is_shared && !is_displaced && steps > 2;
  guint32 from = 0, to = 0;
  if (c->work->parts) return put_pipeline(c, error);
  for (gint64 step = 0; step < (repeats ? 2 : steps); step++) {
    c->is_warm = step >= orr_diffusion_warm_up(c->params);
    if (!put_step(c, error)) return FALSE;
    from = to;
    to = meet(c, step == 0 ? "first step" : "second step");
  }
  if (repeats) orr_program_repeat(program_of(c), from, to, (guint32)(steps - 2));
  return TRUE;
}

/* The host makes pictures of pixels while the GPU waits. */
static void put_output(Compile *c) {
  const double host_s = c->params->host.output_s * c->work->pixels / 1e6;
  for (guint32 r = 0; host_s > 0 && r < c->n; r++)
    orr_program_wait(program_of(c), c->host[r], record(c, c->kernels[r]));
  launch(c, host_s);
}

static gboolean put_all(Compile *c, GError **error) {
  const OrrDiffusionStage *stages = c->work->stages;
  put_copy(c, &stages[ORR_STAGE_TEXT]);
  if (!put_stage(c, "text", &stages[ORR_STAGE_TEXT], error)) return FALSE;
  c->work->steps_copy_s = put_copy(c, &stages[ORR_STAGE_STEP]);
  meet(c, "text encoded");
  if (!put_steps(c, error)) return FALSE;
  put_copy(c, &stages[ORR_STAGE_DECODER]);
  if (!put_stage(c, "decoder", &stages[ORR_STAGE_DECODER], error)) return FALSE;
  put_output(c);
  meet(c, "decoded");
  return orr_program_seal(program_of(c), error);
}

/* --- The work --- */

static void add_lanes(Compile *c) {
  OrrProgram *program = program_of(c);
  for (guint32 r = 0; r < c->n; r++) {
    g_autofree char *name = g_strdup_printf("rank %u", r);
    const guint32 lane = orr_program_lane(program, name, 1);
    c->kernels[r] = orr_program_stream(program, lane, "kernels");
    c->ring[r] = orr_program_stream(program, lane, "ring");
    c->host[r] = orr_program_stream(program, lane, "host");
    if (c->params->parallel.fsdp || c->params->offload == ORR_OFFLOAD_PREFETCH)
      c->weights[r] = orr_program_stream(program, lane, "weights");
    orr_program_interfere(program, lane, orr_cost_interference(c->world->cost));
    g_array_index(c->work->work.lane_of_gpu, guint32, r) = lane;
  }
}

/* Groups by the order of ranks (diffusion.h). CP is ulysses and ring together; EP stands for the
 * pair of guidance, whose group no other layer uses; ETP for all ranks, which share the weights. */
static void set_groups(Compile *c) {
  const OrrDiffusionParallel *p = &c->params->parallel;
  for (int group = 0; group < ORR_N_GROUPS; group++) c->stride[group] = c->size[group] = 1;
  c->size[ORR_GROUP_TP] = p->tp;
  c->stride[ORR_GROUP_CP_INNER] = c->stride[ORR_GROUP_CP] = p->tp;
  c->size[ORR_GROUP_CP_INNER] = p->ulysses;
  c->size[ORR_GROUP_CP] = p->ulysses * p->ring;
  c->stride[ORR_GROUP_CP_OUTER] = p->tp * p->ulysses;
  c->size[ORR_GROUP_CP_OUTER] = p->ring;
  c->part_stride = p->tp * p->ulysses * p->ring;
  c->size[ORR_GROUP_CP] *= p->displaced; /* which goes with none of them */
  c->size[ORR_GROUP_ETP] = c->n;
  c->stride[ORR_GROUP_EP] = c->part_stride * p->pipefusion * p->displaced;
  c->size[ORR_GROUP_EP] = p->cfg;
}

static OrrDiffusionWork *work_new(const OrrDiffusion *params, const OrrWorld *world) {
  OrrDiffusionWork *work = g_new0(OrrDiffusionWork, 1);
  work->work.kind = &orr_diffusion_kind;
  work->work.program = orr_program_new();
  work->work.label_seconds = g_array_new(FALSE, TRUE, sizeof(double));
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  work->work.fidelity = ORR_FIDELITY_FULL;
  work->work.lane_of_gpu = orr_work_lanes_new(orr_fabric_n_gpus(world->fabric));
  orr_diffusion_counts(params, work);
  work->work.n_gpus = work->ranks;
  return work;
}

OrrWork *orr_diffusion_compile(const void *data, const OrrWorld *world, GError **error) {
  const OrrDiffusion *params = data;
  Compile c = {.work = work_new(params, world), .params = params, .world = world, .part = -1};
  orr_diffusion_costs(params, world, c.work);
  orr_collective_phases_init(&c.phases, world, &c.work->work, &params->nccl);
  c.n = (guint32)c.work->ranks;
  c.kernels = g_new0(guint32, 4 * (gsize)c.n);
  c.ring = c.kernels + c.n;
  c.host = c.ring + c.n;
  c.weights = c.host + c.n;
  c.gathered = g_array_new(FALSE, TRUE, sizeof(guint32));
  c.plans = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
  set_groups(&c);
  add_lanes(&c);
  const gboolean ok = put_all(&c, error);
  g_hash_table_unref(c.plans);
  g_array_unref(c.gathered);
  g_free(c.kernels);
  orr_collective_phases_clear(&c.phases);
  if (ok) return &c.work->work;
  orr_work_free(&c.work->work);
  return NULL;
}
