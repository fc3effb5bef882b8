/*
 * executor_groups.c - which lanes concern each other: they share an event, have joined a common
 * communication, or their transfers share a link that can bind (executor_bind.c).
 *
 * Groups only grow. While a group skips ahead, nothing outside it may touch its links before the
 * date it skips to; otherwise the leap was wrong: is_broken.
 */
#include "sim/engine/executor_leap.h"

typedef struct {
  guint32 stream, path;
} PathUse;

guint32 orr_leaper_group(const OrrLeaper *leaper, guint32 lane) {
  guint32 *parent = leaper->groups.parent;
  while (parent[lane] != lane) lane = parent[lane] = parent[parent[lane]];
  return lane;
}

/* Whether the lane has been taken to a date after the span that shows it to share something. */
static gboolean has_leapt_over(const OrrLeaper *leaper, guint32 lane) {
  const OrrLeap *leap = leaper->lanes[lane].leap;
  return leap->times > 0 && leaper->groups.started_s < leap->at_s + leap->later_s;
}

/* The lowest lane names the group. */
static void unite(OrrLeaper *leaper, guint32 a, guint32 b) {
  a = orr_leaper_group(leaper, a);
  b = orr_leaper_group(leaper, b);
  if (a == b) return;
  if (has_leapt_over(leaper, a) || has_leapt_over(leaper, b)) leaper->groups.is_broken = TRUE;
  leaper->groups.parent[MAX(a, b)] = MIN(a, b);
}

static void meet(OrrLeaper *leaper, guint32 *known, guint32 lane) {
  if (*known == ORR_NOBODY)
    *known = lane;
  else
    unite(leaper, *known, lane);
}

/* --- links --- */

static void use_path(OrrExecutor *executor, guint32 stream, guint32 path) {
  OrrLeapGroups *groups = &executor->leaper->groups;
  const PathUse use = {stream, path};
  const guint64 key = (guint64)stream << 32 | path;
  if (groups->last_path[stream] == path) return;
  groups->last_path[stream] = path;
  if (g_hash_table_contains(groups->seen, &key)) return;
  g_hash_table_add(groups->seen, g_memdup2(&key, sizeof key));
  g_array_append_val(groups->uses, use);
  groups->is_new = TRUE;
}

/* The uses of each link, by link: rows as in OrrUseRows. */
typedef struct {
  guint32 *starts;
  PathUse *uses;
} ByLink;

static ByLink sort_by_link(const OrrExecutor *executor) {
  const GArray *uses = executor->leaper->groups.uses;
  const guint n_links = executor->program->links->len;
  ByLink by = {g_new0(guint32, n_links + 2), NULL};
  guint n;
  for (guint pass = 0; pass < 2; pass++) {
    ORR_EACH(const PathUse, use, uses) {
      const OrrLinkUse *links = orr_program_path_kept(executor->program, use->path, &n);
      for (guint k = 0; k < n; k++)
        if (pass == 0)
          by.starts[links[k].link + 2]++;
        else
          by.uses[by.starts[links[k].link + 1]++] = *use;
    }
    for (guint link = 2; pass == 0 && link < n_links + 2; link++)
      by.starts[link] += by.starts[link - 1];
    if (pass == 0) by.uses = g_new(PathUse, by.starts[n_links + 1] + 1);
  }
  return by;
}

static void meet_on_link(OrrExecutor *executor, guint32 link, const PathUse *uses, guint n) {
  OrrLeaper *leaper = executor->leaper;
  g_autoptr(GArray) paths = NULL;
  const guint32 first = executor->streams[uses[0].stream].lane;
  gboolean is_shared = FALSE;
  for (guint i = 1; i < n && !is_shared; i++)
    is_shared = orr_leaper_group(leaper, executor->streams[uses[i].stream].lane) !=
                orr_leaper_group(leaper, first);
  if (!is_shared) return;
  paths = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint i = 0; i < n; i++) g_array_append_val(paths, uses[i].path);
  if (!orr_leaper_link_can_bind(executor, link, paths)) return;
  for (guint i = 1; i < n; i++) unite(leaper, first, executor->streams[uses[i].stream].lane);
}

static void meet_on_links(OrrExecutor *executor) {
  const ByLink by = sort_by_link(executor);
  for (guint32 link = 0; link < executor->program->links->len; link++)
    if (by.starts[link + 1] > by.starts[link] + 1)
      meet_on_link(executor, link, by.uses + by.starts[link],
                   by.starts[link + 1] - by.starts[link]);
  ORR_FREE(by.starts, by.uses);
  executor->leaper->groups.is_new = FALSE;
}

/* --- communications --- */

static void use_comm(OrrExecutor *executor, guint32 stream, guint32 comm) {
  guint n;
  const OrrPhase *phases = orr_program_phases(executor->program, comm, &n);
  meet(executor->leaper, &executor->leaper->groups.comm_lane[comm], executor->streams[stream].lane);
  for (guint i = 0; i < n; i++)
    if (phases[i].path != ORR_NO_PATH && phases[i].bytes > 0)
      use_path(executor, stream, phases[i].path);
}

/* Only one stream calls a routine. */
static void use_routine(OrrExecutor *executor, guint32 stream, guint32 routine) {
  OrrLeapGroups *groups = &executor->leaper->groups;
  guint n;
  const OrrOp *ops = orr_program_routine_ops(executor->program, routine, &n);
  if (groups->seen_routines[routine]) return;
  groups->seen_routines[routine] = TRUE;
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == ORR_OP_COMM || ops[i].kind == ORR_OP_BESIDE)
      use_comm(executor, stream, ops[i].target);
}

void orr_leap_groups_update(OrrExecutor *executor) {
  OrrLeapGroups *groups = &executor->leaper->groups;
  double earliest_s = G_MAXDOUBLE;
  for (; groups->n_spans < executor->spans.n_kept; groups->n_spans++) {
    const OrrSpan *span = &executor->spans.kept[groups->n_spans].span;
    groups->started_s = span->started_s;
    if (span->n_ops > 0) use_routine(executor, span->stream, span->routine);
    if (span->comm != G_MAXUINT32) use_comm(executor, span->stream, span->comm);
    if (groups->is_new) earliest_s = MIN(earliest_s, span->started_s);
  }
  groups->started_s = earliest_s;
  if (groups->is_new) meet_on_links(executor);
}

/* --- life --- */

static guint32 *nobodies(gsize n) {
  guint32 *list = g_new(guint32, n + 1);
  memset(list, 0xff, (n + 1) * sizeof *list);
  return list;
}

void orr_leap_groups_init(OrrExecutor *executor) {
  const OrrProgram *program = executor->program;
  OrrLeapGroups *groups = &executor->leaper->groups;
  const guint n_lanes = program->lanes->len;
  *groups =
      (OrrLeapGroups){.parent = g_memdup2(executor->leaper->coupled, (n_lanes + 1) * 4),
                      .comm_lane = nobodies(program->comms->len),
                      .seen_routines = g_new0(guint8, program->routines->len + 1),
                      .seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
                      .uses = g_array_new(FALSE, FALSE, sizeof(PathUse)),
                      .last_path = nobodies(program->streams->len),
                      .shares = g_new0(OrrLinkShare, program->links->len + 1)};
}

void orr_leap_groups_clear(OrrLeaper *leaper) {
  OrrLeapGroups *groups = &leaper->groups;
  ORR_FREE(groups->parent, groups->comm_lane, groups->seen_routines, groups->shares);
  g_hash_table_unref(groups->seen);
  g_array_unref(groups->uses);
  g_free(groups->last_path);
}
