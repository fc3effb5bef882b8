/*
 * simulate_jobs.c - jobs next to each other on one machine.
 *
 * Each job is compiled as if its GPUs were a machine of their own: a slice of the fabric, on the
 * same links. The programs are merged and replayed once; live works run at the same time, on the
 * same clock and the same links. The stream of a span says which job it belongs to. Each replayed
 * job has its own ledger, on a clock that starts with the job. Before the parent makes its engine,
 * each job also runs alone (alone.c); one run serves all jobs that replay alike. The slowdown is
 * the quotient of the two: of the job's time, or, for a live job, of the time that its users wait
 * for an answer.
 */
#include "sim/run/run_private.h"
#include "workloads/training/training.h"

typedef struct {
  const OrrJobSpec *spec;
  OrrScenario scenario;
  OrrFabric *fabric;
  OrrWork *work;
  OrrProgramOffset offset;
  guint32 n_streams;
  GArray *spans;      /* of OrrSpan; NULL: not kept */
  OrrLedger *ledger;  /* NULL: the job is live */
  guint32 *links;     /* number in the merged program of each link of the job */
  double *link_bytes; /* by link of the job's program: what the job sent */
  gboolean *sent;     /* by comm */
  double end_s;       /* since its start */
  guint64 n_spans;    /* ended */
  OrrAlone alone;
  const OrrOutage *loss; /* the outage that stopped it; NULL: none */
} Job;

typedef struct {
  const OrrScenario *scenario;
  OrrRunWorld *world;
  Job *jobs;
  guint n;
  OrrProgram *program;
  OrrReplay replay;
  char *engine;           /* orr_engine_settings */
  OrrEngineChoice choice; /* of that engine */
  GPtrArray *places;      /* of gint64 *: the machine's GPUs of each job */
  GPtrArray *outages;     /* of OrrOutage */
  GArray *detours;        /* of OrrDetour */
  OrrWork **works;        /* per detour and job; NULL: as built */
  gboolean keep_spans;
} Together;

static void together_clear(Together *all) {
  for (guint i = 0; all->jobs && i < all->n; i++) {
    Job *job = &all->jobs[i];
    if (job->spans) g_array_unref(job->spans);
    g_clear_pointer(&job->ledger, orr_ledger_free);
    g_clear_pointer(&job->work, orr_work_free);
    g_clear_pointer(&job->fabric, orr_fabric_free);
    ORR_FREE(job->links, job->link_bytes, job->sent);
  }
  for (guint i = 0; all->works && i < all->detours->len * all->n; i++) orr_work_free(all->works[i]);
  g_free(all->works);
  if (all->detours) g_array_unref(all->detours);
  if (all->outages) g_ptr_array_unref(all->outages);
  if (all->places) g_ptr_array_unref(all->places);
  ORR_FREE(all->jobs, all->engine);
  orr_program_free(all->program);
  g_clear_pointer(&all->world, orr_run_world_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Together, together_clear)

/* --- Compilation --- */

/* @fabric is a slice of the machine's fabric, or of one that avoids dead links. The parts that
 * outages affect are marked. */
static OrrWork *compile_on(const Together *all, const Job *job, const OrrFabric *fabric,
                           const gint64 *gpus, GError **error) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)job->spec->workload.entry;
  g_autoptr(OrrMarks) marks = orr_outages_marks(all->outages, gpus, job->spec->gpus);
  const OrrWorld world = {
      .model = &job->spec->model,
      .cluster = &job->scenario.cluster,
      .fabric = fabric,
      .cost = all->world->cost,
      .cost_of = orr_run_world_cost_of,
      .machines = all->world,
      .fidelity = kind->begin ? (OrrFidelity)all->scenario->fidelity : ORR_FIDELITY_FULL,
      .on_missing = (OrrOnMissing)all->scenario->on_missing,
      .seed = all->scenario->seed,
      .folders = all->scenario->folders,
      .is_faulty = orr_scenario_has_faults(all->scenario),
      .is_shared = all->n > 1 || (marks && g_hash_table_size(marks->links) > 0),
      .marks = marks,
  };
  OrrWork *work = kind->compile(job->spec->workload.params, &world, error);
  if (!work) g_prefix_error(error, "job %s: ", job->spec->name);
  return work;
}

static gboolean compile_job(Together *all, guint i, GError **error) {
  Job *job = &all->jobs[i];
  const gint64 *gpus = all->places->pdata[i];
  if (!job->fabric) job->fabric = orr_fabric_slice(all->world->fabric, gpus, job->spec->gpus);
  g_clear_pointer(&job->work, orr_work_free);
  job->work = compile_on(all, job, job->fabric, gpus, error);
  if (job->work && i > 0) /* jobs of one kind often follow one another */
    orr_program_share_built(job->work->program, all->jobs[i - 1].work->program);
  return job->work != NULL;
}

static gboolean compile_all(Together *all, GError **error) {
  for (guint i = 0; i < all->n; i++) {
    all->jobs[i].spec = all->scenario->jobs->pdata[i];
    all->jobs[i].scenario = orr_jobs_scenario(all->scenario, i);
    if (!compile_job(all, i, error)) return FALSE;
  }
  return TRUE;
}

static gboolean compile_detour(Together *all, guint d, const OrrFabric *fabric, GError **error) {
  for (guint i = 0; fabric && i < all->n; i++) {
    const gint64 *gpus = all->places->pdata[i];
    OrrFabric *slice = orr_fabric_slice(fabric, gpus, all->jobs[i].spec->gpus);
    OrrWork *work = compile_on(all, &all->jobs[i], slice, gpus, error);
    all->works[d * all->n + i] = work;
    if (work) orr_program_name_links(work->program); /* the slice knows them */
    orr_fabric_free(slice);
    if (!work) return FALSE;
  }
  return TRUE;
}

static gboolean compile_detours(Together *all, GError **error) {
  g_autoptr(GPtrArray) fabrics = orr_detours_fabrics(all->detours, all->world->fabric);
  all->works = g_new0(OrrWork *, all->detours->len * all->n + 1);
  for (guint d = 0; d < all->detours->len; d++)
    if (!compile_detour(all, d, fabrics->pdata[d], error)) return FALSE;
  return TRUE;
}

static OrrOutageJob outage_job(const Together *all, guint i) {
  return (OrrOutageJob){all->jobs[i].work, all->places->pdata[i], all->jobs[i].spec->gpus,
                        all->jobs[i].offset, all->scenario->cluster.node.gpus};
}

/* A job that loses a node stops: all its lanes are lost. */
static void lose_job(Together *all, guint i) {
  const OrrOutageJob job = outage_job(all, i);
  all->jobs[i].loss = orr_outages_loss(all->outages, &job);
  for (guint lane = 0; all->jobs[i].loss && lane < orr_program_n_lanes(job.work->program); lane++)
    orr_program_lose_lane(all->program, all->jobs[i].loss->begin_s, job.offset.first_lane + lane);
}

static void strike(Together *all) {
  g_autofree OrrOutageJob *jobs = g_new0(OrrOutageJob, all->n);
  for (guint i = 0; i < all->n; i++) jobs[i] = outage_job(all, i);
  orr_outages_apply(all->program, jobs, all->n, all->outages, all->detours, all->works);
  for (guint i = 0; i < all->n; i++)
    if (orr_work_is_live(all->jobs[i].work))
      all->jobs[i].work->gpu_changes = orr_outages_gpu_changes(all->outages, &jobs[i]);
  for (guint i = 0; i < all->n; i++) lose_job(all, i);
}

static gboolean merge(Together *all, GError **error) {
  g_autofree OrrProgramPart *parts = g_new0(OrrProgramPart, all->n);
  g_autofree OrrProgramOffset *offsets = g_new0(OrrProgramOffset, all->n);
  for (guint i = 0; i < all->n; i++) {
    Job *job = &all->jobs[i];
    job->links = g_new0(guint32, job->work->links->len + 1);
    parts[i] = (OrrProgramPart){job->spec->name, job->work->program,
                                (const guint32 *)(void *)job->work->links->data, job->spec->start_s,
                                job->links};
  }
  all->program = orr_program_merge(parts, all->n, offsets);
  for (guint i = 0; i < all->n; i++) all->jobs[i].offset = offsets[i];
  if (all->outages->len > 0) strike(all);
  return orr_program_seal(all->program, error);
}

static void open_ledgers(Together *all) {
  for (guint i = 0; i < all->n; i++) {
    Job *job = &all->jobs[i];
    if (orr_work_is_live(job->work)) continue;
    job->n_streams = orr_program_n_streams(job->work->program);
    if (all->keep_spans) job->spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
    job->ledger = orr_ledger_new(job->work, job->spans);
    job->link_bytes = g_new0(double, orr_program_n_links(job->work->program) + 1);
    job->sent = g_new0(gboolean, orr_program_n_comms(job->work->program) + 1);
  }
}

/* --- Replay --- */

/* The last job whose streams begin at or before @stream. */
static Job *job_of(Together *all, guint32 stream) {
  guint low = 0, high = all->n;
  while (high - low > 1) {
    const guint middle = (low + high) / 2;
    if (all->jobs[middle].offset.first_stream <= stream)
      low = middle;
    else
      high = middle;
  }
  return &all->jobs[low];
}

/* Adds what the job's communication @comm sends over each link that its program keeps. */
static void note_bytes(Job *job, guint32 comm) {
  const OrrProgram *program = job->work->program;
  guint n_phases = 0, n_uses = 0;
  if (job->sent[comm]) return;
  job->sent[comm] =
      orr_program_comm_members(program, comm) > 1; /* one member may join it again and again */
  const OrrPhase *phases = orr_program_phases(program, comm, &n_phases);
  for (guint p = 0; p < n_phases; p++) {
    if (phases[p].path == ORR_NO_PATH) continue;
    const OrrLinkUse *uses = orr_program_path_uses(program, phases[p].path, &n_uses);
    for (guint u = 0; u < n_uses; u++)
      job->link_bytes[uses[u].link] += phases[p].bytes * uses[u].weight;
  }
}

/* Hands a span of the merged program to its job, in the job's numbers and on its clock. The wait
 * for a job's start is dropped. */
static void take_span(const OrrSpan *span, void *user) {
  Job *job = job_of(user, span->stream);
  const double start_s = job->spec->start_s;
  OrrSpan own = orr_program_part_span(span, &job->offset);
  if (own.label >= orr_program_n_labels(job->work->program)) return;
  if (own.comm != G_MAXUINT32) note_bytes(job, own.comm);
  own.begin_s = fmax(own.begin_s - start_s, 0);
  own.started_s = fmax(own.started_s - start_s, 0);
  own.end_s -= start_s;
  job->end_s = fmax(job->end_s, own.end_s);
  job->n_spans++;
  orr_ledger_span(&own, job->ledger);
}

/* A job that had ended before the loss was not lost; a job that was lost ends with the loss. */
static void settle_loss(Job *job) {
  const OrrProgram *program = job->work->program;
  guint64 n_all = 0;
  for (guint32 stream = 0; job->loss && stream < job->n_streams; stream++) {
    guint n = 0, n_called = 0;
    const OrrOp *ops = orr_program_ops(program, stream, &n);
    for (guint i = 0; i < n; i++) {
      n_all += ops[i].kind == ORR_OP_WORK || ops[i].kind == ORR_OP_COMM;
      const OrrOp *called = orr_program_routine_ops(program, ops[i].target, &n_called);
      for (guint k = 0; ops[i].kind == ORR_OP_CALL && k < n_called; k++)
        n_all += called[k].kind != ORR_OP_MEET;
    }
  }
  if (job->loss && job->n_spans == n_all) job->loss = NULL;
  if (job->loss) job->end_s = fmax(job->loss->begin_s - job->spec->start_s, 0);
}

static void close_ledger(Job *job) {
  if (orr_work_is_live(job->work)) return orr_work_times(job->work, &job->end_s, NULL);
  settle_loss(job);
  orr_ledger_close(job->ledger, job->end_s);
}

static gboolean replay(Together *all, GError **error) {
  g_autofree OrrLivePart *live = g_new0(OrrLivePart, all->n);
  guint n_live = 0;
  gboolean contends = FALSE;
  for (guint i = 0; i < all->n; i++) {
    const Job *job = &all->jobs[i];
    if (!orr_work_is_live(job->work)) continue;
    live[n_live++] = (OrrLivePart){job->work, job->links, job->spec->start_s};
    contends = contends || job->work->contends;
  }
  g_autoptr(OrrEngine) engine =
      orr_run_work_engine(all->scenario, all->program, contends, &all->choice, error);
  if (!engine) return FALSE;
  all->engine = g_strdup(orr_engine_settings(engine));
  const OrrReplaySetup setup = {.program = all->program,
                                .live = live,
                                .n_live = n_live,
                                .engine = engine,
                                .sink = take_span,
                                .user = all};
  if (!orr_replay(&setup, &all->replay, error)) return FALSE;
  for (guint i = 0; i < all->n; i++) close_ledger(&all->jobs[i]);
  return TRUE;
}

/* --- Alone, and without faults --- */

/* An earlier job whose replay is the same: equal jobs on places alike. @first: hash of the program
 * -> the first such job; @job is added where there is none. Live jobs have a course of their own.
 */
static const Job *find_alike(GHashTable *first, Job *job) {
  if (orr_work_is_live(job->work)) return NULL;
  guint64 hash = orr_program_replay_hash(job->work->program);
  const Job *known = g_hash_table_lookup(first, &hash);
  if (!known) g_hash_table_insert(first, g_memdup2(&hash, sizeof hash), job);
  return known && orr_program_replay_alike(known->work->program, job->work->program) ? known : NULL;
}

static gboolean replay_each_alone(Together *all, GError **error) {
  g_autoptr(GHashTable) first = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint i = 0; i < all->n; i++) {
    Job *job = &all->jobs[i];
    const Job *known = find_alike(first, job);
    if (known)
      job->alone = known->alone;
    else if (!orr_alone_simulate(&job->scenario, job->work, &job->alone, error))
      return FALSE;
  }
  return TRUE;
}

/* How long to draw faults at a rate for. */
static double horizon(const Together *all) {
  double end_s = 0;
  for (guint i = 0; i < all->n; i++)
    end_s = fmax(end_s, all->jobs[i].spec->start_s + all->jobs[i].alone.end_s);
  return ORR_FAULT_HORIZON * end_s;
}

/* Draws the outages and compiles the jobs again with the affected parts marked. Where faults have a
 * rate, the jobs run alone first, to find how long to draw for. */
static gboolean compile_again(Together *all, GError **error) {
  const OrrFaults faults = orr_scenario_faults(all->scenario);
  if (orr_faults_at_rates(&faults) && !replay_each_alone(all, error)) return FALSE;
  g_ptr_array_unref(all->outages);
  all->outages = orr_faults_draw(&faults, all->world->fabric, horizon(all), error);
  if (!all->outages) return FALSE;
  all->detours = orr_detours_find(all->outages, all->world->fabric);
  return orr_detours_check(all->detours, error) && compile_all(all, error) &&
         compile_detours(all, error);
}

/* --- Answers --- */

static OrrOutcome *outcome_of(const Together *all, Job *job) {
  OrrOutcome *outcome = orr_outcome_new();
  outcome->carried_from = orr_cost_carried_from(all->world->cost);
  OrrReplayed replayed = {.work = job->work,
                          .cluster = &job->scenario.cluster,
                          .prices = &job->scenario.prices,
                          .fabric = job->fabric,
                          .ledger = job->ledger,
                          .spans = job->spans,
                          .link_bytes = job->ledger ? job->link_bytes : job->work->link_bytes,
                          .stopped = job->loss != NULL,
                          .replay = {job->end_s, all->replay.n_events, all->replay.n_transfers}};
  for (guint i = 0; i < all->world->warnings->len; i++)
    g_ptr_array_add(outcome->warnings, g_strdup(all->world->warnings->pdata[i]));
  if (all->outages) orr_simulate_faults_warn(job->work, all->outages, outcome->warnings);
  orr_engine_choice_record(&all->choice, all->engine, outcome);
  outcome->fidelity = orr_fidelity_words[job->work->fidelity];
  orr_kinds_answer(&replayed, outcome);
  return outcome;
}

static void job_outcome_free(gpointer data) {
  OrrJobOutcome *answer = data;
  orr_outcome_free(answer->outcome);
  ORR_FREE(answer->row.gpus, answer->lost, answer);
}

/* The steps of a training job that is not lost; 0: it has none. */
static gint64 planned_steps(const Job *job, const OrrOutcome *outcome) {
  if (!job->loss) return outcome->steps->len;
  return job->work->kind == &orr_training_kind
             ? ((const OrrTraining *)job->spec->workload.params)->steps
             : 0;
}

static void add_answer(const Together *all, guint index, GPtrArray *answers) {
  Job *job = &all->jobs[index];
  const gint64 *gpus = all->places->pdata[index];
  OrrJobOutcome *answer = g_new0(OrrJobOutcome, 1);
  g_ptr_array_add(answers, answer);
  answer->scenario = job->scenario;
  answer->outcome = outcome_of(all, job);
  answer->row = (OrrJobRow){.job = job->spec->name,
                            .n_gpus = job->spec->gpus,
                            .gpus = orr_job_placement_text(gpus, job->spec->gpus),
                            .start_s = job->spec->start_s,
                            .end_s = job->spec->start_s + job->end_s,
                            .together_s = job->end_s,
                            .alone_s = job->alone.end_s};
  if (orr_work_is_live(job->work)) {
    orr_work_times(job->work, NULL, &answer->row.together_s);
    answer->row.alone_s = job->alone.answer_s;
  }
  answer->row.slowdown = job->loss                 ? NAN
                         : answer->row.alone_s > 0 ? answer->row.together_s / answer->row.alone_s
                                                   : 1;
  const OrrStruckJob struck = {.outages = all->outages,
                               .steps = answer->outcome->steps,
                               .n_steps = planned_steps(job, answer->outcome),
                               .start_s = job->spec->start_s,
                               .end_s = answer->row.end_s,
                               .clean_s = job->alone.end_s};
  orr_simulate_faults_rows(&struck, answer->outcome->faults);
  if (!job->loss) return;
  const guint whole = orr_ledger_whole_steps(job->ledger);
  answer->lost = g_strdup_printf("%s at %g s: the job stopped with %u step%s complete",
                                 job->loss->what, job->loss->begin_s, whole, whole == 1 ? "" : "s");
}

static GPtrArray *answer_all(const Together *all, gint64 begin_us, GError **error) {
  g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(job_outcome_free);
  double end_s = 0;
  for (guint i = 0; i < all->n; i++)
    end_s = fmax(end_s, all->jobs[i].spec->start_s + all->jobs[i].end_s);
  if (!orr_simulate_faults_check_end(all->scenario, all->outages, end_s, error)) return NULL;
  for (guint i = 0; i < all->n; i++) add_answer(all, i, answers);
  for (guint i = 0; i < answers->len; i++)
    orr_outcome_set_wall_time(((OrrJobOutcome *)answers->pdata[i])->outcome, begin_us);
  return g_steal_pointer(&answers);
}

GPtrArray *orr_simulate_jobs(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                             GError **error) {
  const gint64 begin = g_get_monotonic_time();
  g_auto(Together) all = {.scenario = scenario, .n = scenario->jobs->len, .keep_spans = keep_spans};
  all.jobs = g_new0(Job, all.n);
  all.outages = g_ptr_array_new();
  all.world = orr_run_world_new(library, scenario, error);
  all.places = all.world ? orr_jobs_place(scenario, error) : NULL;
  if (!all.places || !compile_all(&all, error)) return NULL;
  if (orr_scenario_has_faults(scenario) && !compile_again(&all, error)) return NULL;
  if (!replay_each_alone(&all, error) || !merge(&all, error)) return NULL;
  open_ledgers(&all);
  if (!replay(&all, error)) return NULL;
  return answer_all(&all, begin, error);
}

gboolean orr_simulate_jobs_store(const GPtrArray *jobs, const char *file, OrrStore *store,
                                 gint64 *ret_run_id, GError **error) {
  gint64 first = 0;
  ORR_EACH_POINTER(OrrJobOutcome, job, jobs) {
    gint64 run_id = 0;
    job->outcome->job = &job->row;
    job->row.first_run = first;
    if (!orr_outcome_store(job->outcome, &job->scenario, file, store, &run_id, error)) return FALSE;
    if (!first) first = run_id;
  }
  *ret_run_id = first;
  return TRUE;
}
