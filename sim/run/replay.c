#include "sim/run/replay.h"

/* The engine's links, by link of the part's program. */
static OrrLink *links_of(const OrrExecutor *executor, const OrrLivePart *part) {
  const guint n = orr_program_n_links(part->work->program);
  OrrLink *links = g_new0(OrrLink, n + 1);
  for (guint32 i = 0; i < n; i++)
    links[i] = orr_executor_link(executor, part->links ? part->links[i] : i);
  return links;
}

static gboolean begin_all(const OrrExecutor *executor, const OrrLivePart *parts, guint n_parts,
                          OrrEngine *engine, GPtrArray *links, GError **error) {
  for (guint i = 0; i < n_parts; i++) {
    OrrLink *own = links_of(executor, &parts[i]);
    g_ptr_array_add(links, own);
    const OrrLivePlace place = {engine, own, parts[i].start_s};
    if (!parts[i].work->kind->begin(parts[i].work, &place, error)) return FALSE;
  }
  return TRUE;
}

gboolean orr_replay(const OrrProgram *program, const OrrLivePart *parts, guint n_parts,
                    OrrEngine *engine, OrrSpanSink sink, void *user, double *link_bytes,
                    OrrReplay *ret_replay, GError **error) {
  g_autoptr(GPtrArray) links = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(OrrExecutor) executor = orr_executor_begin(program, engine, sink, user, error);
  if (!executor || !begin_all(executor, parts, n_parts, engine, links, error)) return FALSE;
  const gboolean has_run = orr_engine_run(engine, error);
  if (!orr_executor_end(executor, has_run, link_bytes, ret_replay, error)) return FALSE;
  for (guint i = 0; i < n_parts; i++)
    if (!parts[i].work->kind->finish(parts[i].work, error)) return FALSE;
  return TRUE;
}
