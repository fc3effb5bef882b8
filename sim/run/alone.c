/*
 * alone.c - replays the work with the machine to itself, and takes its end.
 *
 * A program is only read by its replay, so where SimGrid was not asked for it is replayed here, as
 * the points of a sweep are: a child would copy the page tables of all other jobs' programs. A live
 * work changes, and a process has one SimGrid engine: these are replayed in a child.
 */
#include "sim/run/run_private.h"

#include "sim/base/children.h"

typedef struct {
  const OrrScenario *scenario;
  OrrWork *work;
} Task;

static void keep_end(const OrrSpan *span, void *user) {
  *(double *)user = fmax(*(double *)user, span->end_s);
}

static gboolean replay(const OrrScenario *scenario, OrrWork *work, OrrAlone *ret_alone,
                       GError **error) {
  const OrrLivePart live = {.work = work};
  const gboolean is_live = orr_work_is_live(work);
  g_autoptr(OrrEngine) engine =
      orr_run_work_engine(scenario, work->program, work->contends, NULL, error);
  if (!engine) return FALSE;
  const OrrReplaySetup setup = {.program = work->program,
                                .live = &live,
                                .n_live = is_live ? 1 : 0,
                                .engine = engine,
                                .sink = keep_end,
                                .user = &ret_alone->end_s};
  if (!orr_replay(&setup, NULL, error)) return FALSE;
  if (is_live) orr_work_times(work, &ret_alone->end_s, &ret_alone->answer_s);
  return TRUE;
}

static GBytes *work(guint index, void *user, GError **error) {
  const Task *task = user;
  OrrAlone alone = {0};
  return replay(task->scenario, task->work, &alone, error) ? g_bytes_new(&alone, sizeof alone)
                                                           : NULL;
}

static gboolean replay_in_child(const OrrScenario *scenario, OrrWork *own, OrrAlone *ret_alone,
                                GError **error) {
  Task task = {scenario, own};
  const OrrChildren children = {.n = 1, .work = work, .user = &task};
  return orr_run_work_prepare(scenario, own, error) &&
         orr_children_collect(&children, sizeof *ret_alone, ret_alone, NULL, error);
}

static gboolean replay_here(OrrEngineKind kind, const OrrWork *own, OrrAlone *ret_alone,
                            GError **error) {
  OrrReplay brief = {0};
  g_autoptr(OrrEngine) engine = orr_engine_new(kind, error);
  if (!engine ||
      !orr_executor_run_briefly(own->program, engine, NULL, NULL, NULL, NULL, &brief, error))
    return FALSE;
  *ret_alone = (OrrAlone){.end_s = brief.end_s};
  return TRUE;
}

gboolean orr_alone_simulate(const OrrScenario *scenario, OrrWork *own, OrrAlone *ret_alone,
                            GError **error) {
  const OrrEngineKind kind = orr_engine_choice(scenario, own->program, own->contends, TRUE).kind;
  if (orr_work_is_live(own) || kind == ORR_ENGINE_SIMGRID
          ? replay_in_child(scenario, own, ret_alone, error)
          : replay_here(kind, own, ret_alone, error))
    return TRUE;
  g_prefix_error(error, "%s alone: ", scenario->name);
  return FALSE;
}
