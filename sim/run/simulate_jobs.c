/*
 * simulate_jobs.c - jobs side by side.
 *
 * Each job is compiled as if its GPUs were a machine of their own (a slice of the fabric, on the same links); the
 * programs are merged and replayed once. Spans find their way back by stream: each job has a ledger of its own, on a
 * clock that starts when the job does. Each job is replayed alone too, in a child before the parent has its engine: the
 * quotient is what the others cost it.
 */
#include "sim/run/simulate_jobs.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/fault.h"
#include "sim/engine/program_merge.h"
#include "sim/run/kinds.h"
#include "sim/run/simulate_private.h"

typedef struct {
  const OrrJobSpec *spec;
  OrrScenario scenario;
  OrrFabric *fabric;
  OrrWork *work;
  OrrProgramOffset offset;
  guint32 n_streams;
  GArray *spans; /* of OrrSpan; NULL: not kept */
  OrrLedger *ledger;
  double *link_bytes; /* by link of the job's program: what the job itself sent */
  gboolean *sent;     /* by comm */
  double end_s;       /* since its start */
  double alone_s;
} Job;

typedef struct {
  const OrrScenario *scenario;
  OrrRunWorld *world;
  Job *jobs;
  guint n;
  OrrProgram *program;
  OrrReplay replay;
  char *engine;
} Together;

static void together_clear(Together *all) {
  for (guint i = 0; all->jobs && i < all->n; i++) {
    Job *job = &all->jobs[i];
    if (job->spans) g_array_unref(job->spans);
    g_clear_pointer(&job->ledger, orr_ledger_free);
    g_clear_pointer(&job->work, orr_work_free);
    g_clear_pointer(&job->fabric, orr_fabric_free);
    g_free(job->link_bytes);
    g_free(job->sent);
  }
  g_free(all->jobs);
  g_free(all->engine);
  orr_program_free(all->program);
  g_clear_pointer(&all->world, orr_run_world_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Together, together_clear)

/* --- Compilation --- */

static gboolean compile_job(Together *all, Job *job, const gint64 *gpus, gboolean keep_spans, GError **error) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)job->spec->workload.entry;
  job->fabric = orr_fabric_slice(all->world->fabric, gpus, job->spec->gpus);
  const OrrWorld world = {
      .model = &job->spec->model,
      .cluster = &job->scenario.cluster,
      .fabric = job->fabric,
      .cost = all->world->cost,
      .fidelity = ORR_FIDELITY_FULL,
      .on_missing = (OrrOnMissing)all->scenario->on_missing,
      .is_shared = all->n > 1,
  };
  job->work = kind->compile(job->spec->workload.params, &world, error);
  if (!job->work) return FALSE;
  job->n_streams = orr_program_n_streams(job->work->program);
  if (keep_spans) job->spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  job->ledger = orr_ledger_new(job->work, job->spans);
  job->link_bytes = g_new0(double, orr_program_n_links(job->work->program) + 1);
  job->sent = g_new0(gboolean, orr_program_n_comms(job->work->program) + 1);
  return TRUE;
}

static gboolean compile_all(Together *all, gboolean keep_spans, GError **error) {
  g_autoptr(GPtrArray) places = orr_jobs_place(all->scenario, error);
  for (guint i = 0; places && i < all->n; i++) {
    Job *job = &all->jobs[i];
    job->spec = all->scenario->jobs->pdata[i];
    job->scenario = orr_jobs_scenario(all->scenario, i);
    if (compile_job(all, job, places->pdata[i], keep_spans, error)) continue;
    g_prefix_error(error, "job %s: ", job->spec->name);
    return FALSE;
  }
  return places != NULL;
}

static gboolean merge(Together *all, GError **error) {
  g_autofree OrrProgramPart *parts = g_new0(OrrProgramPart, all->n);
  g_autofree OrrProgramOffset *offsets = g_new0(OrrProgramOffset, all->n);
  for (guint i = 0; i < all->n; i++) {
    const Job *job = &all->jobs[i];
    parts[i] = (OrrProgramPart){job->spec->name, job->work->program, (const guint32 *)(void *)job->work->links->data,
                                job->spec->start_s};
  }
  all->program = orr_program_merge(parts, all->n, offsets);
  for (guint i = 0; i < all->n; i++) all->jobs[i].offset = offsets[i];
  return orr_program_seal(all->program, error);
}

/* --- Replay --- */

static Job *job_of(Together *all, guint32 stream) {
  guint i = 0;
  while (i + 1 < all->n && stream >= all->jobs[i + 1].offset.first_stream) i++;
  return &all->jobs[i];
}

/* What the job's own communication @comm put on the links that its program keeps. */
static void note_bytes(Job *job, guint32 comm) {
  const OrrProgram *program = job->work->program;
  guint n_phases = 0, n_uses = 0;
  if (job->sent[comm]) return;
  job->sent[comm] = TRUE;
  const OrrPhase *phases = orr_program_phases(program, comm, &n_phases);
  for (guint p = 0; p < n_phases; p++) {
    if (phases[p].path == ORR_NO_PATH) continue;
    const OrrLinkUse *uses = orr_program_path_uses(program, phases[p].path, &n_uses);
    for (guint u = 0; u < n_uses; u++) job->link_bytes[uses[u].link] += phases[p].bytes * uses[u].weight;
  }
}

/* A span of the merged program, in its job's numbers and on its job's clock. The wait for the start is nobody's. */
static void take_span(const OrrSpan *span, void *user) {
  Job *job = job_of(user, span->stream);
  const double start_s = job->spec->start_s;
  OrrSpan own = *span;
  own.stream -= job->offset.first_stream;
  own.label -= job->offset.first_label;
  if (own.label >= orr_program_n_labels(job->work->program)) return;
  if (own.comm != G_MAXUINT32) {
    own.comm -= job->offset.first_comm;
    note_bytes(job, own.comm);
  }
  own.begin_s = fmax(own.begin_s - start_s, 0);
  own.started_s = fmax(own.started_s - start_s, 0);
  own.end_s -= start_s;
  job->end_s = fmax(job->end_s, own.end_s);
  orr_ledger_span(&own, job->ledger);
}

static gboolean replay(Together *all, GError **error) {
  g_autoptr(OrrEngine) engine = orr_simulate_engine(all->scenario, all->program, error);
  if (!engine) return FALSE;
  all->engine = g_strdup(orr_engine_settings(engine));
  if (!orr_executor_run(all->program, engine, take_span, all, NULL, &all->replay, error)) return FALSE;
  for (guint i = 0; i < all->n; i++) orr_ledger_close(all->jobs[i].ledger, all->jobs[i].end_s);
  return TRUE;
}

/* --- Alone --- */

static void keep_end(const OrrSpan *span, void *user) { *(double *)user = fmax(*(double *)user, span->end_s); }

/* In a child: the end of the job's own program, or NAN, into @fd. */
static void G_GNUC_NORETURN replay_in_child(const OrrScenario *scenario, const OrrWork *work, int fd) {
  double end_s = 0;
  g_autoptr(OrrEngine) engine = orr_simulate_engine(scenario, work->program, NULL);
  if (!engine || !orr_executor_run(work->program, engine, keep_end, &end_s, NULL, NULL, NULL)) end_s = NAN;
  _exit(write(fd, &end_s, sizeof end_s) == (gssize)sizeof end_s ? 0 : 1);
}

/* A process has one SimGrid engine: each job has a process. */
static gboolean replay_alone(const Together *all, Job *job, GError **error) {
  int ends[2], status = 0;
  double end_s = NAN;
  if (pipe(ends) == 0) {
    const pid_t child = fork();
    if (child == 0) replay_in_child(all->scenario, job->work, ends[1]);
    close(ends[1]);
    if (child > 0 && read(ends[0], &end_s, sizeof end_s) != (gssize)sizeof end_s) end_s = NAN;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (!isnan(end_s)) {
    job->alone_s = end_s;
    return TRUE;
  }
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "job %s could not be replayed alone", job->spec->name);
  return FALSE;
}

static gboolean replay_each_alone(Together *all, GError **error) {
  for (guint i = 0; i < all->n; i++)
    if (!replay_alone(all, &all->jobs[i], error)) return FALSE;
  return TRUE;
}

/* --- Answers --- */

static OrrOutcome *outcome_of(const Together *all, Job *job) {
  OrrOutcome *outcome = orr_outcome_new();
  OrrReplayed replayed = {.work = job->work,
                          .fabric = job->fabric,
                          .ledger = job->ledger,
                          .spans = job->spans,
                          .link_bytes = job->link_bytes,
                          .replay = {job->end_s, all->replay.n_events, all->replay.n_transfers}};
  for (guint i = 0; i < all->world->warnings->len; i++)
    g_ptr_array_add(outcome->warnings, g_strdup(all->world->warnings->pdata[i]));
  outcome->engine = g_strdup(all->engine);
  outcome->fidelity = orr_fidelity_words[job->work->fidelity];
  orr_outcome_fill(outcome, &job->scenario, &replayed);
  return outcome;
}

static void job_outcome_free(gpointer data) {
  OrrJobOutcome *answer = data;
  orr_outcome_free(answer->outcome);
  g_free(answer->row.gpus);
  g_free(answer);
}

static void add_answer(const Together *all, guint index, const gint64 *gpus, GPtrArray *answers) {
  Job *job = &all->jobs[index];
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
                            .alone_s = job->alone_s};
  answer->row.slowdown = job->alone_s > 0 ? job->end_s / job->alone_s : 1;
}

static GPtrArray *answer_all(const Together *all, gint64 begin_us, GError **error) {
  g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(job_outcome_free);
  g_autoptr(GPtrArray) places = orr_jobs_place(all->scenario, error);
  if (!places) return NULL;
  for (guint i = 0; i < all->n; i++) add_answer(all, i, places->pdata[i], answers);
  for (guint i = 0; i < answers->len; i++)
    orr_outcome_fill_wall_time(((OrrJobOutcome *)answers->pdata[i])->outcome, begin_us);
  return g_steal_pointer(&answers);
}

GPtrArray *orr_simulate_jobs(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans, GError **error) {
  const gint64 begin = g_get_monotonic_time();
  g_auto(Together) all = {.scenario = scenario, .n = scenario->jobs->len};
  all.jobs = g_new0(Job, all.n);
  all.world = orr_run_world_new(library, scenario, error);
  if (!all.world || !compile_all(&all, keep_spans, error) || !merge(&all, error) || !replay_each_alone(&all, error) ||
      !replay(&all, error))
    return NULL;
  return answer_all(&all, begin, error);
}

gboolean orr_job_outcomes_store(const GPtrArray *jobs, const char *file, OrrStore *store, gint64 *ret_run_id,
                                GError **error) {
  gint64 first = 0;
  for (guint i = 0; i < jobs->len; i++) {
    OrrJobOutcome *job = jobs->pdata[i];
    gint64 run_id = 0;
    job->outcome->job = &job->row;
    job->row.first_run = first;
    if (!orr_outcome_store(job->outcome, &job->scenario, file, store, &run_id, error)) return FALSE;
    if (!first) first = run_id;
  }
  *ret_run_id = first;
  return TRUE;
}
