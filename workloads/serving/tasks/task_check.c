/*
 * task_check.c - checks a document of tasks.
 */
#include "workloads/serving/tasks/task_run.h"

#include "workloads/serving/tasks/pools/task_pool.h"
#include "workloads/serving/tasks/steps/task_step.h"

/* --- what steps call --- */

static void report_unknown(const OrrTaskCheck *check, const char *what, const char *name,
                           const GPtrArray *known) {
  g_autoptr(GString) names = g_string_new(NULL);
  for (guint i = 0; known && i < known->len; i++) /* both structs begin with their name */
    g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", *(char *const *)known->pdata[i]);
  orr_diags_error(check->diags, check->place, "there is no %s '%s' in tasks (there is: %s)", what,
                  name, names->len > 0 ? names->str : "none");
}

void orr_task_check_pool(const OrrTaskCheck *check, const char *name, const char *kind) {
  const int index = orr_tasks_pool_index(check->tasks, name);
  if (index < 0) return report_unknown(check, "pool", name, check->tasks->pools);
  OrrTaskPool *pool = check->tasks->pools->pdata[index];
  const OrrEntry *entry = pool->of.entry;
  g_hash_table_add(check->named, pool);
  if (entry && strcmp(entry->name, kind) != 0)
    orr_diags_error(check->diags, check->place, "pool '%s' is of %s: this step needs one of %s",
                    name, entry->name, kind);
}

void orr_task_check_reading(const OrrTaskCheck *check, const char *name, const char *kind,
                            const OrrLengths *lengths) {
  const int index = orr_tasks_pool_index(check->tasks, name);
  const OrrTaskPool *pool = index < 0 ? NULL : check->tasks->pools->pdata[index];
  const OrrTaskPoolKind *reader = pool ? (const OrrTaskPoolKind *)pool->of.entry : NULL;
  orr_task_check_pool(check, name, kind);
  orr_task_check_lengths(check, lengths, "tokens", TRUE);
  if (!reader || !reader->longest) return;
  const gint64 longest = reader->longest(pool->of.params), largest = orr_lengths_largest(lengths);
  if (longest > 0 && largest < G_MAXINT32 && largest > longest)
    orr_diags_error(check->diags, check->place,
                    "a sequence of up to %ld tokens is longer than what pool '%s' can read, %ld",
                    largest, name, longest);
}

void orr_task_check_program(const OrrTaskCheck *check, const char *name) {
  const OrrTaskProgram *program = orr_tasks_program(check->tasks, name);
  if (!program) return report_unknown(check, "program", name, check->tasks->programs);
  g_hash_table_add(check->named, (gpointer)program);
}

void orr_task_check_lengths(const OrrTaskCheck *check, const OrrLengths *lengths, const char *what,
                            gboolean is_required) {
  if (is_required || lengths->tokens > 0 || lengths->kind != 0)
    orr_lengths_check(lengths, G_MAXINT32, what, check->place, check->diags);
}

/* --- steps --- */

/* The place of entry @i of the list @path below the workload. */
static OrrPlace entry_place(OrrPlace place, const char *path, guint i) {
  const OrrPlace list = orr_node_place_in(place, path);
  const OrrNode *node = list.node;
  if (!node || node->kind != ORR_NODE_LIST || i >= node->items->len) return list;
  return orr_node_place(node->items->pdata[i]);
}

static void check_steps(const OrrTasks *tasks, const GPtrArray *steps, OrrPlace place,
                        const char *path, GHashTable *named, OrrDiags *diags) {
  if (!steps || steps->len == 0) orr_diags_error(diags, place, "%s: there is no step", path);
  ORR_EACH_POINTER_AT(i, const OrrTaskStep, step, steps) {
    const OrrTaskStepKind *kind = (const OrrTaskStepKind *)step->does.entry;
    const OrrTaskCheck check = {tasks, entry_place(place, path, i), diags, named};
    if (kind && kind->check) kind->check(step->does.params, &check);
  }
}

static const char *program_of(const OrrTaskStep *step) {
  const OrrTaskStepKind *kind = (const OrrTaskStepKind *)step->does.entry;
  return kind && kind->program ? kind->program(step->does.params) : NULL;
}

/* Whether @program calls itself, through at most @depth others. */
static gboolean reaches(const OrrTasks *tasks, const OrrTaskProgram *from,
                        const OrrTaskProgram *program, guint depth) {
  for (guint i = 0; from && from->steps && i < from->steps->len; i++) {
    const char *name = program_of(from->steps->pdata[i]);
    const OrrTaskProgram *next = name ? orr_tasks_program(tasks, name) : NULL;
    if (next && (next == program || (depth > 0 && reaches(tasks, next, program, depth - 1))))
      return TRUE;
  }
  return FALSE;
}

static void check_names(const GPtrArray *list, OrrPlace place, const char *path, OrrDiags *diags) {
  for (guint i = 0; list && i < list->len; i++)
    for (guint k = 0; k < i; k++)
      if (strcmp(*(char *const *)list->pdata[i], *(char *const *)list->pdata[k]) == 0)
        orr_diags_error(diags, entry_place(place, path, i), "%s: duplicate name '%s'", path,
                        *(char *const *)list->pdata[i]);
}

static void check_programs(const OrrTasks *tasks, OrrPlace place, GHashTable *named,
                           OrrDiags *diags) {
  ORR_EACH_POINTER_AT(i, const OrrTaskProgram, program, tasks->programs) {
    const OrrPlace own = entry_place(place, "tasks.programs", i);
    check_steps(tasks, program->steps, own, "steps", named, diags);
    if (reaches(tasks, program, program, tasks->programs->len))
      orr_diags_error(diags, own, "program '%s' calls itself: it would never end", program->name);
  }
}

/* What no step names does nothing. */
static void check_named(const GPtrArray *list, OrrPlace place, const char *path, GHashTable *named,
                        OrrDiags *diags) {
  for (guint i = 0; list && i < list->len; i++)
    if (!g_hash_table_contains(named, list->pdata[i]))
      orr_diags_warning(diags, entry_place(place, path, i), "%s: no step names '%s'", path,
                        *(char *const *)list->pdata[i]);
}

static gint64 gpus_of(const OrrTaskPool *pool) {
  const OrrTaskPoolKind *kind = (const OrrTaskPoolKind *)pool->of.entry;
  return kind && kind->has_batches ? kind->gpus(pool->of.params) : 0;
}

static void check_shares(const OrrTasks *tasks, guint i, const OrrCluster *cluster, OrrPlace place,
                         OrrDiags *diags) {
  const OrrTaskPool *pool = tasks->pools->pdata[i];
  const int at = pool->shares ? orr_tasks_pool_index(tasks, pool->shares) : -1;
  if (!pool->shares) return;
  const OrrTaskPool *other = at >= 0 && at < (int)i ? tasks->pools->pdata[at] : NULL;
  if (!other || other->shares)
    return orr_diags_error(diags, place, "shares: '%s' is not an earlier pool with GPUs of its own",
                           pool->shares);
  if (gpus_of(pool) == 0 || gpus_of(pool) != gpus_of(other))
    orr_diags_error(diags, place,
                    "shares: %s and %s must both be models, generators or recommenders, with as "
                    "many replicas",
                    pool->name, other->name);
  if (orr_cluster_host_link_bytes_per_s(cluster) <= 0)
    orr_diags_error(diags, place, "shares needs the device's host-link");
}

static void check_pools(const OrrTasks *tasks, const OrrCluster *cluster, OrrPlace place,
                        OrrDiags *diags) {
  ORR_EACH_POINTER_AT(i, const OrrTaskPool, pool, tasks->pools) {
    const OrrTaskPoolKind *kind = (const OrrTaskPoolKind *)pool->of.entry;
    if (kind && kind->check)
      kind->check(pool->of.params, cluster, entry_place(place, "tasks.pools", i), diags);
    check_shares(tasks, i, cluster, entry_place(place, "tasks.pools", i), diags);
  }
}

/* --- the workload --- */

static gboolean replays(const GPtrArray *steps) {
  ORR_EACH_POINTER(const OrrTaskStep, step, steps) {
    const OrrTaskStepKind *kind = (const OrrTaskStepKind *)step->does.entry;
    if (kind && kind->is_replay) return TRUE;
  }
  return FALSE;
}

/* A load that has lengths has whole sessions, and only `replay`, once in a task, reads them. */
static void check_load(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrTasks *tasks = &params->tasks;
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  const gboolean has_replay = replays(tasks->steps);
  const OrrPlace own = orr_node_place_in(place, "tasks.steps");
  if (!load) return;
  for (guint i = 0; tasks->programs && i < tasks->programs->len; i++)
    if (replays(((const OrrTaskProgram *)tasks->programs->pdata[i])->steps))
      orr_diags_error(diags, own, "replay in a program: a task replays its session once, in steps");
  if (has_replay && !(load->is_trace && load->after))
    orr_diags_error(diags, own,
                    "replay needs a load of sessions (sessions, mooncake-sessions), not %s",
                    load->entry.name);
  if (!has_replay && load->is_trace)
    orr_diags_error(diags, own,
                    "load %s has lengths of its own, which these steps would not use: use replay, "
                    "or a load that says only when tasks come",
                    load->entry.name);
}

static void check_excluded(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const struct {
    const char *option, *because;
    gboolean is_on;
  } all[] = {
      {"samples", "a turn goes on with one answer; use parallel", params->samples > 1},
      {"beam-search", "a turn goes on with one answer", params->beams.width > 1},
      {"images", "only the first prompt would have them", params->images > 0},
      {"classes", "they are drawn for each request, not for a task",
       params->classes && params->classes->len > 0},
      {"metrics.window", "the windows count requests, not tasks",
       params->metrics.window != ORR_WINDOW_ALL},
      {"metrics.warmup", "it leaves out requests, not tasks", params->metrics.warmup_s > 0},
      {"max-concurrency", "it counts requests: use load closed-loop, which counts tasks",
       params->max_concurrency > 0},
  };
  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    if (all[i].is_on)
      orr_diags_error(diags, orr_node_place_in(place, "tasks"),
                      "tasks and %s exclude each other: %s", all[i].option, all[i].because);
}

void orr_task_check(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                    OrrDiags *diags) {
  const OrrTasks *tasks = &params->tasks;
  if (!orr_tasks_are_on(tasks)) return;
  g_autoptr(GHashTable) named = g_hash_table_new(NULL, NULL);
  check_steps(tasks, tasks->steps, place, "tasks.steps", named, diags);
  check_names(tasks->programs, place, "tasks.programs", diags);
  check_names(tasks->pools, place, "tasks.pools", diags);
  check_programs(tasks, place, named, diags);
  check_named(tasks->programs, place, "tasks.programs", named, diags);
  check_named(tasks->pools, place, "tasks.pools", named, diags);
  check_pools(tasks, cluster, place, diags);
  check_load(params, place, diags);
  check_excluded(params, place, diags);
}
