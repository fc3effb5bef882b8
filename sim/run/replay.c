/*
 * replay.c - begins the program and the live works on the engine, runs the engine until nothing is
 * left to do, then finishes all. The executor adds the program's links to the engine; live works
 * are given the engine's numbers of the links that they use.
 */
#include "sim/run/run_private.h"

/* The engine's links, by link of the live work's program. */
static OrrLink *links_of(const OrrExecutor *executor, const OrrLivePart *part) {
  const guint n = orr_program_n_links(part->work->program);
  OrrLink *links = g_new0(OrrLink, n + 1);
  for (guint32 i = 0; i < n; i++)
    links[i] = orr_executor_link(executor, part->links ? part->links[i] : i);
  return links;
}

static gboolean begin_live(const OrrReplaySetup *setup, const OrrExecutor *executor,
                           GPtrArray *links, GError **error) {
  for (guint i = 0; i < setup->n_live; i++) {
    const OrrLivePart *part = &setup->live[i];
    OrrLink *own = links_of(executor, part);
    g_ptr_array_add(links, own);
    const OrrLivePlace place = {setup->engine, own, part->start_s};
    if (!part->work->kind->begin(part->work, &place, error)) return FALSE;
  }
  return TRUE;
}

gboolean orr_replay(const OrrReplaySetup *setup, OrrReplay *ret_replay, GError **error) {
  g_autoptr(GPtrArray) links = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(OrrExecutor) executor =
      orr_executor_begin(setup->program, setup->engine, setup->sink, setup->user, error);
  if (!executor || !begin_live(setup, executor, links, error)) return FALSE;
  const gboolean has_run = orr_engine_run(setup->engine, error);
  if (!orr_executor_end(executor, has_run, setup->link_bytes, ret_replay, error)) return FALSE;
  for (guint i = 0; i < setup->n_live; i++)
    if (!setup->live[i].work->kind->finish(setup->live[i].work, error)) return FALSE;
  return TRUE;
}
