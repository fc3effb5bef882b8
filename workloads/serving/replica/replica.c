/*
 * replica.c - one engine on the clock: steps, one after another, or (pp > 1) as many under
 * way as stages.
 *
 *   pp = 1    plan at t, run to t + d, finish, plan again
 *   pp > 1    a batch takes pp stage times; others, with other requests, follow it a stage time
 *             apart
 *
 * Steps that are alike are taken at once. While every running request decodes, nobody waits, the
 * cache has room and no request ends, a step differs from the one before in context lengths alone:
 * up to the first of these (and to the next arrival that is known) the ends of all steps are worked
 * out together, and the requests are brought forward in one go. An arrival in between cuts the run
 * of steps at the first end that is not before it. The answer equals single steps', to the last bit
 * (tests/workloads/serving/test_serving.c); `fidelity: full` takes single steps.
 */
#include "workloads/serving/replica/replica_private.h"

enum { LONGEST_RUN = 1024 };

/* --- life --- */

static void report_blocks(const OrrTextBlocks *blocks, gboolean is_there, void *user) {
  const OrrReplica *replica = user;
  replica->reports->blocks(replica->reports->user, (guint)replica->index, blocks, is_there);
}

void orr_serving_run_open_core(const OrrServingRun *run, guint group, gint64 ranks, OrrCore *core) {
  const OrrServedGroup *alike = &g_array_index(run->work->groups, OrrServedGroup, group);
  const OrrEngineParams *engine = &alike->params.engine;
  const OrrCoreLimits limits = {
      .max_sequences = ranks * engine->max_num_seqs,
      .max_batched_tokens = ranks * engine->max_num_batched_tokens,
      .longest = run->work->longest,
      .watermark_blocks = ranks * (gint64)ceil(engine->watermark * (double)alike->n_blocks),
      .reserve_prompt = engine->reserve_prompt,
      .preemption = (OrrPreemption)engine->preemption,
      .groups = alike->params.parallel.dp_attention / ranks,
  };
  const GPtrArray *classes = run->work->params.classes;
  OrrKv *kv = orr_kv_new(ranks * alike->n_blocks, engine->block_size,
                         (OrrPrefixCaching)engine->prefix_caching);
  orr_kv_lay_out(kv, &alike->kv_layout);
  orr_core_init(core, &limits, (const OrrScheduler *)engine->scheduler.entry,
                engine->scheduler.params, classes ? classes->len : 1, kv);
}

void orr_replica_open_cores(OrrReplica *replica) {
  for (guint i = 0; i < replica->n_cores; i++) {
    OrrCore *core = &replica->cores[i];
    orr_serving_run_open_core(replica->run, replica->books->group, 1, core);
    if (replica->reports->blocks) orr_kv_observe(core->kv, report_blocks, replica);
    orr_kv_back(core->kv, &replica->tiers);
    core->drafter = replica->run->drafters[replica->books->group];
    replica->reports->opened(replica->reports->user, replica, i);
  }
}

OrrReplica *orr_replica_new(OrrServingRun *run, gint index, OrrTierStore *remote,
                            const OrrReplicaReports *reports) {
  OrrReplica *replica = g_new0(OrrReplica, 1);
  *replica = (OrrReplica){.run = run,
                          .reports = reports,
                          .index = index,
                          .slow = 1,
                          .group = orr_serving_group(run->work, (guint)index),
                          .books = &run->work->replicas[index],
                          .step_end_s = G_MAXDOUBLE,
                          .flights = orr_replica_pipeline_flights(),
                          .ends = g_array_new(FALSE, FALSE, sizeof(Step)),
                          .new_blocks = g_array_new(FALSE, FALSE, sizeof(gint64))};
  replica->n_cores = (guint)replica->group->params.parallel.dp_attention;
  replica->cores = g_new0(OrrCore, replica->n_cores);
  const OrrCacheTiers *tiers = &run->work->params.engine.tiers;
  const guint group = replica->books->group;
  replica->tiers.stores[ORR_TIER_HOST] =
      orr_tier_store_new(orr_serving_run_tier_blocks(run, group, tiers->host_bytes));
  replica->tiers.stores[ORR_TIER_SSD] =
      orr_tier_store_new(orr_serving_run_tier_blocks(run, group, tiers->ssd_bytes));
  replica->tiers.stores[ORR_TIER_REMOTE] = remote;
  orr_replica_spill(replica);
  replica->tiers.host_alone = tiers->prefetch != ORR_PREFETCH_NONE;
  orr_replica_open_cores(replica);
  orr_replica_open_front(replica);
  return replica;
}

void orr_replica_spill(OrrReplica *replica) {
  OrrTierStore *const *stores = replica->tiers.stores;
  if (replica->run->work->params.engine.tiers.ssd_writes == ORR_WRITE_BACK && stores[ORR_TIER_HOST])
    orr_tier_store_spill(stores[ORR_TIER_HOST], stores[ORR_TIER_SSD]);
}

void orr_replica_free(OrrReplica *replica) {
  if (!replica) return;
  for (guint i = 0; i < replica->n_cores; i++) orr_core_clear(&replica->cores[i]);
  g_free(replica->cores);
  orr_tier_store_free(replica->tiers.stores[ORR_TIER_HOST]);
  orr_tier_store_free(replica->tiers.stores[ORR_TIER_SSD]);
  orr_pool_free(replica->flights);
  orr_serving_cost_free(replica->price);
  orr_pool_free(replica->deliveries);
  g_queue_clear(&replica->expected);
  g_queue_clear(&replica->joined);
  g_queue_clear(&replica->newcomers);
  g_queue_clear(&replica->parsing);
  g_free(replica->front_free_s);
  g_array_unref(replica->ends);
  g_array_unref(replica->new_blocks);
  g_free(replica);
}

gint64 orr_replica_n_requests(const OrrReplica *replica) { return replica->n_requests; }

gint64 orr_replica_n_waiting(const OrrReplica *replica) {
  gint64 sum = 0;
  for (guint i = 0; i < replica->n_cores; i++) sum += replica->cores[i].n_waiting;
  return sum;
}

gint64 orr_replica_claimed_blocks(const OrrReplica *replica) {
  gint64 waiting = 0;
  for (guint i = 0; i < replica->n_cores; i++) waiting += replica->cores[i].waiting_tokens;
  return orr_replica_held_blocks(replica) + waiting / orr_kv_block_size(replica->cores[0].kv);
}

gint64 orr_replica_prompt_tokens(const OrrReplica *replica) { return replica->prompt_tokens; }

/* --- what a step takes --- */

/* A slow GPU slows its group's kernels: they meet in every layer. */
OrrStepTime orr_replica_step_time(const OrrReplica *replica, const OrrStepShape *shape) {
  OrrStepTime time =
      orr_serving_run_step_time(replica->run, replica->books->group, replica->price, shape);
  if (replica->slow == 1) return time;
  const double more_s = (replica->slow - 1) * (time.gpu_s - time.comm_s);
  time.gpu_s += more_s;
  time.stage_s += more_s / (double)replica->group->params.parallel.pp;
  return time;
}

/* GPUs and host, one after the other or at once. */
static Step step_from(OrrReplica *replica, double begin_s, const OrrStepShape *shape,
                      double extra_s) {
  const OrrStepTime time = orr_replica_step_time(replica, shape);
  const double host_s = orr_serving_run_host_seconds(replica->run, replica->books->group,
                                                     shape->sequences),
               gpu_s = time.gpu_s + extra_s;
  const double step_s =
      orr_serving_run_step_seconds(replica->run, replica->books->group, gpu_s, host_s);
  const double busy_s = gpu_s - time.idle_s;
  Step step = {begin_s + step_s,      busy_s,       time.comm_s, step_s - busy_s,
               (gint64)shape->tokens, shape->chunk, host_s};
  step.joules = orr_replica_joules(replica, &time, step_s);
  return step;
}

static double end_of(const OrrReplica *replica, guint k) {
  return g_array_index(replica->ends, Step, k).end_s;
}

static void count_work(OrrReplica *replica, guint n_steps) {
  double begin_s = replica->begin_s;
  for (guint k = 0; k < n_steps; k++) {
    const Step *step = &g_array_index(replica->ends, Step, k);
    replica->books->busy_s += step->gpu_s;
    replica->books->comm_s += step->comm_s;
    replica->books->host_s += step->wait_s;
    replica->books->host_busy_s += step->host_s;
    replica->books->tokens += step->tokens;
    orr_replica_note_energy(replica, &(OrrReplicaDraw){begin_s, step->end_s, step->chunk,
                                                       (double)step->tokens, step->joules});
    begin_s = step->end_s;
  }
}

/* --- blocks --- */

gint64 orr_replica_held_blocks(const OrrReplica *replica) {
  gint64 sum = 0;
  for (guint i = 0; i < replica->n_cores; i++)
    sum += orr_kv_n_blocks(replica->cores[i].kv) - orr_kv_n_free(replica->cores[i].kv);
  return sum;
}

/* --- runs of alike steps --- */

/* How many steps may be taken at once from the batch that was planned: 1 where they are not
 * alike. */
static guint run_length(const OrrReplica *replica) {
  const OrrCore *core = &replica->cores[0];
  if (replica->run->work->work.fidelity == ORR_FIDELITY_FULL || replica->run->dates_blocks ||
      replica->n_cores > 1 || core->n_waiting > 0 || core->has_preempted || core->shape.chunk > 0 ||
      core->batch->len != core->running->len || core->shape.decodes != core->batch->len ||
      core->drafter || orr_kv_keeps_states(core->kv))
    return 1;
  return (guint)CLAMP(orr_core_least_left(core), 1, LONGEST_RUN);
}

static void plan_run(OrrReplica *replica, guint steps) {
  OrrCore *core = &replica->cores[0];
  const OrrServingRun *run = replica->run;
  const guint n = core->batch->len;
  guint known = MIN(steps, 8); /* steps whose blocks are counted: most runs are cut before */
  guint room = steps > 1 ? orr_core_run_blocks(core, known, replica->new_blocks) : 1;
  double end_s = replica->begin_s;
  g_array_set_size(replica->ends, 0);
  for (guint k = 0; k < room; k++) {
    if (k > 0 && end_s >= fmin(run->next_arrival_s, run->next_look_s)) break;
    OrrStepShape shape = core->shape;
    shape.key_sum += (double)n * k;
    shape.keys_least += k;
    shape.keys_most += k;
    const Step step = step_from(
        replica, end_s, &shape,
        k == 0 ? orr_serving_run_move_seconds(replica->run, replica->books->group, core) : 0);
    g_array_append_val(replica->ends, step);
    end_s = step.end_s;
    if (k + 1 == known && known < steps) {
      known = MIN(steps, 4 * known);
      room = orr_core_run_blocks(core, known, replica->new_blocks);
    }
  }
  replica->is_run = replica->ends->len > 1;
}

/* The first steps of a run: requests are brought forward to where the step after them begins. */
static void take_steps(OrrReplica *replica, guint n_steps) {
  OrrCore *core = &replica->cores[0];
  const gboolean at_once = !replica->run->streams || orr_replica_streams_at_once(replica);
  double begin_s = replica->begin_s;
  guint n_counted = 0;
  for (guint i = 0; i < core->batch->len; i++)
    n_counted += orr_serving_run_counts(replica->run, core->batch->pdata[i]);
  for (guint k = 0; k < n_steps; k++) {
    const double end_s = end_of(replica, k);
    OrrStepShape shape = core->shape;
    if (k > 0) replica->used_blocks += g_array_index(replica->new_blocks, gint64, k);
    orr_replica_note_step(replica, begin_s, end_s, &shape);
    if (k > 0 && at_once)
      orr_serving_run_note_gaps(replica->run, end_s - begin_s, n_counted, n_counted);
    for (guint i = 0; !at_once && i < core->batch->len; i++) {
      OrrRequest *request = core->batch->pdata[i];
      orr_replica_show(replica, request, request->generated + (gint32)k + 1, end_s);
    }
    begin_s = end_s;
  }
  const double first_end_s = end_of(replica, 0);
  ORR_EACH_POINTER(OrrRequest, request, core->batch) {
    if (at_once) {
      const guint counts = orr_serving_run_counts(replica->run, request);
      orr_serving_run_note_gaps(replica->run, first_end_s - request->last_token_s, counts, counts);
      request->streamed = request->generated + (gint32)n_steps;
      request->seen_s = begin_s;
    }
    orr_core_advance(core, request, (gint32)n_steps);
    request->last_token_s = begin_s;
  }
  if (core->n_queues > 1)
    for (guint i = 0; i < core->batch->len; i++)
      core->served[((const OrrRequest *)core->batch->pdata[i])->client % core->n_queues] +=
          2.0 * n_steps;
  replica->begin_s = begin_s;
  orr_replica_count_steps(replica, n_steps, FALSE);
}

/* What of the run has ended is taken; the rest of it goes on. */
void orr_replica_catch_up(OrrReplica *replica) {
  const double now_s = orr_engine_now(replica->run->engine);
  guint done = 0;
  if (replica->step_end_s == G_MAXDOUBLE || !replica->is_run) return;
  while (done + 1 < replica->ends->len && end_of(replica, done) <= now_s) done++;
  if (done == 0) return;
  count_work(replica, done);
  take_steps(replica, done);
  g_array_remove_range(replica->ends, 0, done);
  g_array_remove_range(replica->new_blocks, 0, done);
  replica->used_blocks = orr_replica_held_blocks(replica);
}

/* --- one step --- */

void orr_replica_finish_step(OrrReplica *replica, guint i, const GPtrArray *batch) {
  OrrCore *core = &replica->cores[i];
  OrrServingRun *run = replica->run;
  orr_core_finish_step(core, batch, orr_serving_run_now(run), orr_replica_on_token,
                       orr_replica_on_finish, replica);
  if (!orr_core_conserves(core) && !run->error)
    g_set_error_literal(&run->error, ORR_FAULT, ORR_FAULT_INTERNAL,
                        "blocks of the key-value cache were lost or made");
}

static void step_ends(void *user) {
  OrrReplica *replica = user;
  const double now_s = orr_serving_run_now(replica->run);
  if (replica->run->error || !orr_engine_same_date(now_s, replica->step_end_s))
    return; /* the run was cut since then */
  count_work(replica, replica->ends->len);
  if (replica->ends->len > 1) take_steps(replica, replica->ends->len - 1);
  replica->used_blocks = orr_replica_held_blocks(replica);
  OrrStepShape shape = {0};
  for (guint i = 0; i < replica->n_cores; i++) {
    shape.tokens += replica->cores[i].shape.tokens;
    shape.chunk += replica->cores[i].shape.chunk;
    shape.decodes += replica->cores[i].shape.decodes;
  }
  orr_replica_note_step(replica, replica->begin_s, now_s, &shape);
  replica->step_end_s = G_MAXDOUBLE;
  for (guint i = 0; i < replica->n_cores; i++) orr_replica_finish_unseen(replica, i);
  orr_replica_plan(replica);
}

void orr_replica_report_chunks(const OrrReplica *replica, double step_s) {
  const OrrReplicaReports *reports = replica->reports;
  for (guint c = 0; reports->chunk && c < replica->n_cores; c++) {
    const GPtrArray *batch = replica->cores[c].batch;
    ORR_EACH_POINTER(OrrRequest, request, batch)
      reports->chunk(reports->user, request, request->scheduled, step_s);
  }
}

/* The step that is planned. All cores step together, as long as the slowest; a core without a
 * batch waits. */
static void launch(OrrReplica *replica) {
  const double now_s = orr_engine_now(replica->run->engine);
  replica->begin_s = now_s;
  replica->used_blocks = orr_replica_held_blocks(replica);
  if (replica->n_cores == 1) {
    plan_run(replica, run_length(replica));
  } else {
    Step longest = {now_s};
    OrrJoules joules = {0};
    gint64 tokens = 0;
    double chunk = 0, host_s = 0;
    orr_serving_run_sum_experts(replica->run, replica->books->group, replica->cores,
                                replica->n_cores);
    for (guint i = 0; i < replica->n_cores; i++) {
      OrrCore *core = &replica->cores[i];
      if (core->batch->len == 0) continue;
      const Step step =
          step_from(replica, now_s, &core->shape,
                    orr_serving_run_move_seconds(replica->run, replica->books->group, core));
      tokens += step.tokens;
      chunk += step.chunk;
      host_s += step.host_s;
      orr_joules_add(&joules, step.joules, 1);
      if (step.end_s >= longest.end_s) longest = step;
    }
    longest.tokens = tokens;
    longest.chunk = chunk;
    longest.host_s = host_s;
    longest.joules = joules;
    g_array_set_size(replica->ends, 0);
    g_array_append_val(replica->ends, longest);
    replica->is_run = FALSE;
  }
  orr_replica_report_chunks(replica, end_of(replica, 0) - now_s);
  replica->step_end_s = end_of(replica, replica->ends->len - 1);
  orr_engine_at(replica->run->engine, replica->step_end_s, step_ends, replica);
}

gboolean orr_replica_must_wait(OrrReplica *replica) {
  if (replica->reports->planned) replica->reports->planned(replica->reports->user, replica);
  return replica->n_reading > 0;
}

gboolean orr_replica_plan_seen(OrrReplica *replica, double now_s) {
  const OrrEngineParams *engine = &replica->group->params.engine;
  const OrrScheduler *scheduler = (const OrrScheduler *)engine->scheduler.entry;
  gboolean any = FALSE;
  if (replica->n_cores > 1 && scheduler->balance)
    scheduler->balance(replica->cores, replica->n_cores, engine->scheduler.params);
  for (guint i = 0; i < replica->n_cores; i++) any |= orr_core_plan(&replica->cores[i], now_s);
  return any;
}
static void begin_step(OrrReplica *replica, double now_s) {
  if (orr_replica_plan_cores(replica, now_s) && !orr_replica_must_wait(replica)) launch(replica);
}

static void launch_planned(OrrReplica *replica) {
  if (replica->group->params.parallel.pp == 1) return launch(replica);
  orr_replica_pipeline_launch(replica);
  orr_replica_plan(replica);
}

void orr_replica_wait(OrrReplica *replica, guint n) { replica->n_reading += n; }

void orr_replica_read_ends(OrrReplica *replica) {
  if (--replica->n_reading == 0) launch_planned(replica);
}

/* Of cores alike, the one with the most blocks that nobody holds. */
static OrrCore *roomiest(OrrReplica *replica) {
  OrrCore *best = &replica->cores[0];
  for (guint i = 1; i < replica->n_cores; i++)
    if (orr_kv_n_free(replica->cores[i].kv) > orr_kv_n_free(best->kv)) best = &replica->cores[i];
  return best;
}

/* Those whose cache has come; without a slot for its adapter a request is passed over. */
static void join(OrrReplica *replica) {
  for (GList *link = replica->joined.head, *next; link; link = next) {
    OrrRequest *request = link->data;
    OrrCore *core = &replica->cores[request->core];
    next = link->next;
    if (!orr_core_can_join(core, request)) continue;
    g_queue_delete_link(&replica->joined, link);
    orr_core_join(core, request);
  }
}

/* Between two steps: those whose cache has come join, and others find room. */
static void settle(OrrReplica *replica) {
  for (OrrRequest *request; (request = g_queue_pop_head(&replica->newcomers));)
    replica->reports->waits(replica->reports->user, replica, request);
  join(replica);
  for (OrrRequest *request; (request = g_queue_peek_head(&replica->expected));) {
    OrrCore *core = roomiest(replica);
    request->core = (guint16)(core - replica->cores);
    if (!orr_core_reserve(core, request)) break;
    g_queue_pop_head(&replica->expected);
    replica->reports->room(replica->reports->user, request);
  }
}

/* What can begin now, begins. */
void orr_replica_plan(OrrReplica *replica) {
  const double now_s = orr_engine_now(replica->run->engine);
  if (replica->run->error || replica->n_reading > 0 || replica->is_cut) return;
  if (replica->group->params.parallel.pp > 1) {
    do settle(replica);
    while (orr_replica_pipeline_begin_batch(replica, now_s));
  } else if (replica->step_end_s == G_MAXDOUBLE) {
    settle(replica);
    begin_step(replica, now_s);
  }
}

/* --- requests --- */

static guint load_of(const OrrCore *core) {
  return core->n_parsing + core->n_waiting + core->running->len;
}

static OrrCore *least_loaded(OrrReplica *replica) {
  OrrCore *best = &replica->cores[0];
  for (guint i = 1; i < replica->n_cores; i++)
    if (load_of(&replica->cores[i]) < load_of(best)) best = &replica->cores[i];
  return best;
}

/* The run of steps ends where the newcomer can join. */
static void cut_run(OrrReplica *replica, double now_s) {
  guint keep = 1;
  while (keep < replica->ends->len && end_of(replica, keep - 1) < now_s) keep++;
  if (keep >= replica->ends->len) return;
  g_array_set_size(replica->ends, keep);
  replica->step_end_s = end_of(replica, keep - 1);
  orr_engine_at(replica->run->engine, fmax(replica->step_end_s, now_s), step_ends, replica);
}

static void called(void *user) {
  OrrReplica *replica = user;
  replica->is_called = FALSE;
  orr_replica_plan(replica);
}

/* Something has changed: what it means is seen between two steps, with all else that comes at
 * this moment. */
void orr_replica_notice(OrrReplica *replica) {
  const double now_s = orr_engine_now(replica->run->engine);
  if (replica->step_end_s != G_MAXDOUBLE) {
    if (replica->is_run) cut_run(replica, now_s);
  } else if (!replica->is_called) {
    replica->is_called = TRUE;
    orr_engine_at(replica->run->engine, now_s, called, replica);
  }
}

static void enter(OrrReplica *replica, OrrRequest *request) {
  request->replica = replica->index;
  replica->n_requests++;
}

void orr_replica_add_output(OrrReplica *replica, OrrRequest *output) {
  OrrCore *core = least_loaded(replica);
  replica->n_requests++;
  output->added_s = orr_engine_now(replica->run->engine);
  orr_core_add(core, output);
  output->core = (guint16)(core - replica->cores);
  if (replica->reports->waits) g_queue_push_tail(&replica->newcomers, output);
}

void orr_replica_seat(OrrReplica *replica, OrrRequest *request) {
  request->core = (guint16)(least_loaded(replica) - replica->cores);
}

void orr_replica_take(OrrReplica *replica, OrrRequest *request) {
  enter(replica, request);
  if (replica->run->sees_blocks) {
    request->lacking = request->prompt - (gint32)orr_replica_cached(replica, request);
    replica->prompt_tokens += request->lacking;
  }
  orr_replica_seat(replica, request);
}

void orr_replica_queue(OrrReplica *replica, OrrRequest *request) {
  if (!orr_replica_parse(replica, request)) orr_replica_admit(replica, request);
}

void orr_replica_admit(OrrReplica *replica, OrrRequest *request) {
  request->added_s = orr_serving_run_now(replica->run);
  orr_core_add(&replica->cores[request->core], request);
  if (replica->reports->waits) g_queue_push_tail(&replica->newcomers, request);
  orr_replica_notice(replica);
}

void orr_replica_count(OrrReplica *replica, int change) { replica->n_requests += change; }

guint orr_replica_index(const OrrReplica *replica) { return (guint)replica->index; }
guint orr_replica_generation(const OrrReplica *replica) { return replica->generation; }
guint orr_replica_n_cores(const OrrReplica *replica) { return replica->n_cores; }
OrrCore *orr_replica_core(OrrReplica *replica, guint i) { return &replica->cores[i]; }
const OrrTiers *orr_replica_tiers(const OrrReplica *replica) { return &replica->tiers; }

gint64 orr_replica_cached(OrrReplica *replica, const OrrRequest *request) {
  return orr_kv_lookup(least_loaded(replica)->kv, request);
}

void orr_replica_expect(OrrReplica *replica, OrrRequest *request) {
  enter(replica, request);
  g_queue_push_tail(&replica->expected, request);
  orr_replica_notice(replica);
}

void orr_replica_join(OrrReplica *replica, OrrRequest *request) {
  g_queue_push_tail(&replica->joined, request);
  orr_replica_notice(replica);
}

void orr_replica_release(OrrReplica *replica, OrrRequest *request) {
  orr_core_release(&replica->cores[request->core], request);
  orr_replica_notice(replica);
}

gboolean orr_replica_close(OrrReplica *replica, GError **error) {
  for (guint i = 0; i < replica->n_cores; i++) {
    OrrCore *core = &replica->cores[i];
    orr_replica_close_core(replica, core);
    if (!orr_kv_check(core->kv))
      return orr_fault_set(error, ORR_FAULT_INTERNAL,
                           "blocks of the key-value cache were lost or made");
  }
  if (replica->n_requests == 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_STUCK, "replica %d: %ld requests wait for ever: %s",
                       replica->index, replica->n_requests,
                       replica->is_cut ? "faults took a link that its engine needs, and no route "
                                         "goes around it"
                                       : "none of them finds room in the key-value cache");
}
