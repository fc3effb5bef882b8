/*
 * task_run.c - tasks on the clock.
 */
#include "workloads/serving/tasks/task_run.h"

#include "workloads/serving/tasks/steps/task_step.h"

typedef enum { RUNNING, DONE, TIMEOUT, TURNS, TOKENS, CONTEXT, REJECTED } Outcome;
static const char *const outcome_words[] = {"running", "done",    "timeout", "turns",
                                            "tokens",  "context", "rejected"};

typedef struct {
  OrrTaskRun *run;
  OrrRequest arrival;
  OrrServingTaskRow row;
  Outcome outcome;
  guint n_branches; /* alive */
  guint n_numbered;
} Task;

/* The program that a branch is in. */
typedef struct {
  const GPtrArray *steps;
  guint at;
  gint64 left; /* repetitions, this one among them */
  double again;
} Frame;

/* What a branch's prompts consist of. */
typedef struct {
  guint64 stream, shared;
  gint32 tokens, shared_tokens;
  const OrrTextFork *fork;
} Context;

struct OrrTaskBranch {
  Task *task;
  OrrTaskBranch *parent;
  guint number;
  GArray *frames;
  Context context;
  guint n_children;
  OrrLengths adds; /* to the parent's context, at its end */
  const OrrTaskStep *step;
  OrrServingTaskStepRow row; /* of the step under way */
  OrrTaskJob job;
  OrrRequest turn; /* of a replayed session: the next, while its wait is spent */
  int wait_pool;
};

typedef struct {
  const OrrTaskPoolKind *kind;
  gpointer state;
  OrrTaskGpus *gpus; /* its own; NULL: it has none, or another pool's */
  OrrTaskPoolBooks books;
} Pool;

struct OrrTaskRun {
  OrrServingRun *run;
  const OrrTasks *tasks;
  OrrTaskReports reports;
  OrrRandom random;
  Pool *pools;
  guint n_pools;
  GPtrArray *all;       /* Task* */
  GPtrArray *forks;     /* OrrTextFork* */
  GHashTable *branches; /* OrrTaskBranch*, owned: those that have not stopped */
  gint64 active;
  guint64 n_streams;
};

static double now(const OrrTaskRun *run) { return orr_serving_run_now(run->run); }

OrrRandom *orr_task_branch_random(OrrTaskBranch *branch) { return &branch->task->run->random; }

const OrrTasks *orr_task_branch_document(const OrrTaskBranch *branch) {
  return branch->task->run->tasks;
}

/* --- branches --- */

static void go_on(OrrTaskBranch *branch);

static void branch_free(gpointer data) {
  OrrTaskBranch *branch = data;
  g_array_unref(branch->frames);
  g_free(branch);
}

static OrrTaskBranch *branch_new(Task *task, OrrTaskBranch *parent, const GPtrArray *steps) {
  OrrTaskBranch *branch = g_new0(OrrTaskBranch, 1);
  const Frame frame = {.steps = steps, .left = 1};
  *branch = (OrrTaskBranch){.task = task,
                            .parent = parent,
                            .number = task->n_numbered++,
                            .frames = g_array_new(FALSE, FALSE, sizeof(Frame))};
  g_array_append_val(branch->frames, frame);
  g_hash_table_add(task->run->branches, branch);
  task->n_branches++;
  return branch;
}

/* For its client. */
static void end_task(Task *task, Outcome outcome) {
  OrrTaskRun *run = task->run;
  if (task->outcome != RUNNING) return;
  task->outcome = outcome;
  task->row.outcome = (char *)outcome_words[outcome];
  task->row.e2e_s = now(run) - task->arrival.arrival_s;
  run->reports.moved(run->reports.user);
  run->reports.ended(run->reports.user, &task->arrival);
}

static void end_branch(OrrTaskBranch *branch) {
  Task *task = branch->task;
  OrrTaskBranch *parent = branch->parent;
  if (parent)
    parent->context.tokens += orr_tasks_draw(&branch->adds, orr_task_branch_random(branch));
  else
    end_task(task, DONE);
  g_hash_table_remove(task->run->branches, branch);
  if (--task->n_branches == 0) task->run->active--;
  if (parent && --parent->n_children == 0) go_on(parent);
}

/* Notes the step under way, which has ended. */
static void note_step(OrrTaskBranch *branch) {
  OrrTaskRun *run = branch->task->run;
  OrrServingTaskStepRow *row = &branch->row;
  if (!branch->step) return;
  row->seconds = now(run) - run->run->start_s - row->begin_s;
  g_array_append_val(run->run->work->task_steps, *row);
  if (branch->step->answers && isnan(branch->task->row.first_s))
    branch->task->row.first_s = now(run) - branch->task->arrival.arrival_s;
  branch->step = NULL;
  run->reports.moved(run->reports.user);
}

static void begin_note(OrrTaskBranch *branch, const OrrTaskStep *step) {
  const OrrTaskRun *run = branch->task->run;
  branch->step = step;
  branch->row = (OrrServingTaskStepRow){.task = branch->task->row.task,
                                        .branch = branch->number,
                                        .step = (char *)g_intern_string(step->name),
                                        .kind = (char *)step->does.entry->name,
                                        .begin_s = now(run) - run->run->start_s};
}

/* The next step of @branch; NULL: its program is over. */
static const OrrTaskStep *next_step(OrrTaskBranch *branch) {
  while (branch->frames->len > 0) {
    Frame *frame = &g_array_index(branch->frames, Frame, branch->frames->len - 1);
    if (frame->left > 0 && frame->at < frame->steps->len) return frame->steps->pdata[frame->at++];
    frame->at = 0;
    if (--frame->left > 0) continue;
    if (frame->left == 0 && frame->again > 0 &&
        orr_random_unit(orr_task_branch_random(branch)) < frame->again)
      frame->left = 1;
    else
      g_array_set_size(branch->frames, branch->frames->len - 1);
  }
  return NULL;
}

static void go_on(OrrTaskBranch *branch) {
  note_step(branch);
  while (branch->task->outcome == RUNNING && !branch->task->run->run->error) {
    const OrrTaskStep *step = next_step(branch);
    if (!step) break;
    const OrrTaskStepKind *kind = (const OrrTaskStepKind *)step->does.entry;
    begin_note(branch, step);
    if (!kind->begin(step->does.params, branch)) return;
    branch->step = NULL;
  }
  end_branch(branch);
}

void orr_task_branch_repeat(OrrTaskBranch *branch, const OrrTaskProgram *program, gint64 times,
                            double again) {
  const Frame frame = {.steps = program->steps, .left = times, .again = again};
  if (times > 0) g_array_append_val(branch->frames, frame);
}

/* --- parallel --- */

static const OrrTextFork *fork_of(OrrTaskRun *run, const Context *context) {
  OrrTextFork *fork = g_new(OrrTextFork, 1);
  *fork = (OrrTextFork){context->fork, context->stream, context->tokens};
  g_ptr_array_add(run->forks, fork);
  return fork;
}

static Context context_of(OrrTaskBranch *parent, const OrrTaskFork *fork) {
  OrrTaskRun *run = parent->task->run;
  Context context = parent->context;
  if (fork->is_forked)
    context.fork = fork_of(run, &parent->context);
  else
    context = (Context){.shared = orr_random_hash3(g_str_hash(fork->program->name), 1, 0),
                        .shared_tokens = fork->system,
                        .tokens = fork->system};
  context.stream = ++run->n_streams;
  context.tokens += orr_tasks_draw(fork->prompt, &run->random);
  return context;
}

static void resume(void *user) { go_on(user); }

void orr_task_branch_fork(OrrTaskBranch *branch, const OrrTaskFork *fork) {
  g_autoptr(GPtrArray) children = g_ptr_array_new();
  for (gint64 i = 0; i < fork->n; i++) {
    OrrTaskBranch *child = branch_new(branch->task, branch, fork->program->steps);
    child->context = context_of(branch, fork);
    child->adds = *fork->adds;
    g_ptr_array_add(children, child);
  }
  branch->n_children = children->len + 1; /* none ends the step before all have begun */
  for (guint i = 0; i < children->len; i++) go_on(children->pdata[i]);
  if (--branch->n_children == 0)
    orr_engine_after(branch->task->run->run->engine, 0, resume, branch);
}

/* --- generate --- */

/* The outcome that a generation of @output tokens would have; RUNNING: none. */
static Outcome budget(const OrrTaskBranch *branch, gint32 output) {
  const Task *task = branch->task;
  const OrrTasks *tasks = task->run->tasks;
  if (tasks->most_turns > 0 && task->row.turns >= tasks->most_turns) return TURNS;
  if (tasks->most_tokens > 0 && task->row.output_tokens + output > tasks->most_tokens)
    return TOKENS;
  if ((gint64)branch->context.tokens + output > task->run->run->work->longest) return CONTEXT;
  return RUNNING;
}

static void submit(OrrTaskBranch *branch, OrrRequest *request) {
  OrrTaskRun *run = branch->task->run;
  request->arrival_s = now(run);
  request->task = branch;
  request->adapter = branch->task->arrival.adapter;
  branch->task->row.turns++;
  run->reports.submit(run->reports.user, request);
  branch->task->arrival.adapter = request->adapter; /* drawn with the first */
}

static void stop(void *user) {
  OrrTaskBranch *branch = user;
  branch->step = NULL;
  go_on(branch);
}

void orr_task_branch_generate(OrrTaskBranch *branch, gint32 input, gint32 output) {
  OrrTaskRun *run = branch->task->run;
  Context *context = &branch->context;
  if (output == 0) output = (gint32)orr_lengths_draw(&run->run->work->params.output, &run->random);
  context->tokens = MAX(context->tokens + input, 1);
  const Outcome outcome = budget(branch, output);
  if (outcome != RUNNING) {
    end_task(branch->task, outcome);
    orr_engine_after(run->run->engine, 0, stop, branch);
    return;
  }
  OrrRequest *request = run->reports.new_request(run->reports.user);
  request->prompt = context->tokens;
  request->output = output;
  request->stream = context->stream;
  request->shared = context->shared;
  request->shared_tokens = MIN(context->shared_tokens, context->tokens);
  request->fork = context->fork;
  submit(branch, request);
}

/* --- replay --- */

static void submit_turn(OrrTaskBranch *branch, const OrrRequest *turn) {
  OrrTaskRun *run = branch->task->run;
  OrrRequest *request = run->reports.new_request(run->reports.user);
  *request = *turn;
  submit(branch, request);
}

void orr_task_branch_replay(OrrTaskBranch *branch, int pool) {
  branch->wait_pool = pool;
  submit_turn(branch, &branch->task->arrival);
}

static void next_turn(OrrTaskBranch *branch) {
  const Task *task = branch->task;
  const OrrTaskStep *step = branch->step;
  note_step(branch);
  if (task->outcome != RUNNING) return go_on(branch);
  begin_note(branch, step);
  submit_turn(branch, &branch->turn);
}

static void waited(void *user) { next_turn(user); }

static void wait_for_turn(OrrTaskBranch *branch, OrrRequest *ended) {
  OrrTaskRun *run = branch->task->run;
  const OrrTaskStep *step = branch->step;
  if (branch->task->outcome != RUNNING ||
      !run->reports.next_turn(run->reports.user, ended, &branch->turn))
    return go_on(branch);
  const double wait_s = fmax(branch->turn.arrival_s - now(run), 0);
  note_step(branch);
  begin_note(branch, step);
  branch->row.kind = (char *)"tool";
  if (branch->wait_pool < 0) {
    branch->row.service_s = wait_s;
    orr_engine_after(run->run->engine, wait_s, waited, branch);
    return;
  }
  const OrrTaskJob job = {.service_s = wait_s, .is_turn = TRUE};
  orr_task_branch_use(branch, &job, branch->wait_pool, 0);
}

/* --- pools --- */

void orr_task_branch_use(OrrTaskBranch *branch, const OrrTaskJob *job, int pool, gint32 adds) {
  OrrTaskRun *run = branch->task->run;
  branch->job = *job;
  branch->job.branch = branch;
  branch->job.asked_s = now(run);
  branch->job.adds = adds;
  run->pools[pool].kind->add(run->pools[pool].state, &branch->job);
}

static void job_done(void *user, OrrTaskJob *job) {
  OrrTaskBranch *branch = job->branch;
  branch->row.wait_s = fmax(job->begin_s - job->asked_s, 0);
  branch->row.service_s = job->work_s;
  branch->row.tokens = job->adds;
  branch->context.tokens += job->adds;
  if (job->is_turn)
    next_turn(branch);
  else
    go_on(branch);
}

/* The pool whose GPUs pool @i uses. */
static guint owner_of(const OrrTasks *tasks, guint i) {
  const OrrTaskPool *pool = tasks->pools->pdata[i];
  return pool->shares ? (guint)orr_tasks_pool_index(tasks, pool->shares) : i;
}

static gboolean open_pools(OrrTaskRun *run, GError **error) {
  const OrrServingWork *work = run->run->work;
  const guint n = run->tasks->pools ? run->tasks->pools->len : 0;
  run->pools = g_new0(Pool, n);
  for (guint i = 0; i < n; i++) {
    const OrrTaskPool *params = run->tasks->pools->pdata[i];
    const guint owner = owner_of(run->tasks, i);
    Pool *pool = &run->pools[i];
    pool->kind = (const OrrTaskPoolKind *)params->of.entry;
    if (owner == i && pool->kind->gpus)
      pool->gpus = orr_task_gpus_new(run->run->engine, pool->kind->gpus(params->of.params));
    const OrrTaskPoolHost host = {.world = work->world,
                                  .engine = run->run->engine,
                                  .first_gpu =
                                      work->first_task_gpu + orr_tasks_gpus(run->tasks, owner),
                                  .gpus = run->pools[owner].gpus,
                                  .nccl = &work->params.engine.nccl,
                                  .books = &pool->books,
                                  .user = run,
                                  .done = job_done};
    pool->state = pool->kind->open(params->of.params, &host, error);
    if (!pool->state) return FALSE;
    run->n_pools++;
  }
  return TRUE;
}

/* --- the run --- */

/* Faults of GPUs reach replicas; pools do not know them. */
static gboolean check_changes(const OrrServingWork *work, GError **error) {
  const GArray *changes = work->work.gpu_changes;
  for (guint i = 0; changes && i < changes->len; i++) {
    const gint64 gpu = g_array_index(changes, OrrGpuChange, i).gpu;
    if (gpu >= work->first_task_gpu && gpu < work->work.n_gpus)
      return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                           "GPU %ld belongs to a pool of tasks: faults of pools "
                           "are not simulated",
                           gpu);
  }
  return TRUE;
}

OrrTaskRun *orr_task_run_new(OrrServingRun *serving, const OrrTaskReports *reports,
                             GError **error) {
  OrrTaskRun *run = g_new0(OrrTaskRun, 1);
  *run = (OrrTaskRun){.run = serving,
                      .tasks = &serving->work->params.tasks,
                      .reports = *reports,
                      .random = orr_random_stream((guint64)serving->work->world->seed, "tasks"),
                      .all = g_ptr_array_new_with_free_func(g_free),
                      .forks = g_ptr_array_new_with_free_func(g_free),
                      .branches = g_hash_table_new_full(NULL, NULL, branch_free, NULL)};
  if (check_changes(serving->work, error) && open_pools(run, error)) return run;
  orr_task_run_free(run);
  return NULL;
}

void orr_task_run_free(OrrTaskRun *run) {
  if (!run) return;
  for (guint i = 0; i < run->n_pools; i++) run->pools[i].kind->close(run->pools[i].state);
  for (guint i = 0; run->pools && run->tasks->pools && i < run->tasks->pools->len; i++)
    orr_task_gpus_free(run->pools[i].gpus);
  g_free(run->pools);
  g_hash_table_unref(run->branches);
  g_ptr_array_unref(run->all);
  g_ptr_array_unref(run->forks);
  g_free(run);
}

static void time_out(void *user) {
  Task *task = user;
  if (!task->run->run->error) end_task(task, TIMEOUT);
}

void orr_task_run_arrive(OrrTaskRun *run, const OrrRequest *arrival) {
  Task *task = g_new0(Task, 1);
  *task = (Task){.run = run, .arrival = *arrival};
  task->arrival.arrival_s = now(run);
  task->row = (OrrServingTaskRow){.task = run->all->len,
                                  .first_s = NAN,
                                  .arrival_s = now(run) - run->run->start_s,
                                  .outcome = (char *)outcome_words[RUNNING]};
  g_ptr_array_add(run->all, task);
  run->active++;
  if (run->tasks->timeout_s > 0)
    orr_engine_after(run->run->engine, run->tasks->timeout_s, time_out, task);
  OrrTaskBranch *branch = branch_new(task, NULL, run->tasks->steps);
  branch->context = (Context){.stream = ++run->n_streams,
                              .shared = arrival->shared,
                              .shared_tokens = arrival->shared_tokens,
                              .tokens = arrival->prompt};
  go_on(branch);
}

void orr_task_run_left(OrrRequest *request, const OrrServingRequestRow *row) {
  OrrTaskBranch *branch = request->task;
  Task *task = branch->task;
  const OrrTaskStepKind *kind = (const OrrTaskStepKind *)branch->step->does.entry;
  if (!row) {
    end_task(task, REJECTED);
    go_on(branch);
    return;
  }
  branch->row.wait_s = row->queue_s;
  branch->row.service_s = row->e2e_s - row->queue_s;
  branch->row.tokens = row->output_tokens;
  branch->context.tokens += (gint32)row->output_tokens;
  task->row.input_tokens += row->input_tokens;
  task->row.cached_tokens += row->cached_tokens;
  task->row.output_tokens += row->output_tokens;
  if (kind->is_replay)
    wait_for_turn(branch, request);
  else
    go_on(branch);
}

gint64 orr_task_run_active(const OrrTaskRun *run) { return run->active; }

static OrrServingTaskPoolRow pool_row(const OrrTaskRun *run, guint i) {
  const OrrServingWork *work = run->run->work;
  const OrrTaskPool *params = run->tasks->pools->pdata[i];
  const Pool *pool = &run->pools[i];
  const OrrTaskPoolBooks *books = &pool->books;
  const double jobs = fmax((double)books->jobs, 1);
  const gint64 servers = pool->kind->servers(params->of.params);
  const double server_s = (double)servers * work->end_s;
  const double cores = pool->kind->cores ? pool->kind->cores(params->of.params) : 0;
  return (OrrServingTaskPoolRow){
      .pool = (char *)g_intern_string(params->name),
      .kind = (char *)pool->kind->entry.name,
      .servers = servers,
      .gpus = pool->kind->gpus ? pool->kind->gpus(params->of.params) : 0,
      .jobs = books->jobs,
      .cut = books->cut,
      .loads = books->loads,
      .busy = server_s > 0 ? fmin(books->busy_s / server_s, 1) : NAN,
      .busy_mean = work->end_s > 0 ? books->busy_s / work->end_s : 0,
      .cpu_seconds = cores * books->busy_s,
      .service_mean_s = books->busy_s / jobs,
      .wait_mean_s = books->waited_s / jobs,
      .waiting_most = books->most_waiting,
      .bytes_per_job = books->bytes > 0 ? books->bytes / jobs : NAN,
      .flops_per_job = books->flops > 0 ? books->flops / jobs : NAN,
  };
}

void orr_task_run_close(OrrTaskRun *run) {
  OrrServingWork *work = run->run->work;
  for (guint i = 0; i < run->all->len; i++)
    g_array_append_val(work->tasks, ((const Task *)run->all->pdata[i])->row);
  for (guint i = 0; i < run->n_pools; i++) {
    ORR_APPEND(work->task_pools, OrrServingTaskPoolRow, pool_row(run, i));
    orr_joules_add(&work->task_joules, run->pools[i].books.joules, 1);
  }
}
