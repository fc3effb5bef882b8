/*
 * program_contention.c - decides whether two transfers can meet on a link.
 *
 * Comms joined by one stream follow one another, since a stream executes them in order. So a link
 * is safe when all comms that use it have a stream in common. The sets of streams are intersected,
 * first over the comms of a path, then over the paths of a link, in time linear in joins and uses.
 *
 * The test is sufficient but not necessary: comms that only events separate count as meeting.
 */
#include "sim/engine/program_private.h"

/* Streams by comm, ascending: compressed rows. A stream that joins a comm twice is listed
 * twice, which is harmless. */
typedef struct {
  guint32 *starts;
  guint32 *streams;
} Members;

static void count_joins(const OrrProgram *program, guint32 *starts) {
  for (guint32 comm = 0; comm < program->comms->len; comm++)
    starts[comm + 1] = starts[comm] + orr_program_comm_members(program, comm);
}

static void add_joins(const OrrProgram *program, guint32 stream, Members *members, guint32 *next) {
  guint n;
  const OrrOp *ops = orr_program_ops(program, stream, &n);
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == ORR_OP_COMM)
      members->streams[next[orr_program_target(program, stream, i)]++] = stream;
}

static void add_called(const OrrProgram *program, guint32 routine, Members *members,
                       guint32 *next) {
  guint n;
  const OrrOp *ops = orr_program_routine_ops(program, routine, &n);
  const OrrRoutine *it = orr_program_routine(program, routine);
  for (guint i = 0; i < n; i++) {
    if (ops[i].kind == ORR_OP_COMM) members->streams[next[ops[i].target]++] = it->stream;
    if (ops[i].kind == ORR_OP_BESIDE) members->streams[next[ops[i].target]++] = it->helper;
  }
}

static void fill_members(const OrrProgram *program, Members *members) {
  g_autofree guint32 *next =
      g_memdup2(members->starts, (program->comms->len + 1) * sizeof(guint32));
  g_autofree gboolean *seen = g_new0(gboolean, program->routines->len + 1);
  for (guint32 stream = 0; stream < program->streams->len; stream++) {
    guint n;
    const OrrOp *ops = orr_program_ops(program, stream, &n);
    add_joins(program, stream, members, next);
    for (guint i = 0; i < n; i++) {
      if (ops[i].kind != ORR_OP_CALL || seen[ops[i].target]) continue;
      seen[ops[i].target] = TRUE; /* one stream calls it, so its comms follow one another */
      add_called(program, ops[i].target, members, next);
    }
  }
}

/* @set := @set and @other, both ascending; NULL stands for "all streams so far". */
static void intersect(GArray **set, const guint32 *other, guint n) {
  if (*set == NULL) {
    *set = g_array_sized_new(FALSE, FALSE, sizeof(guint32), n);
    g_array_append_vals(*set, other, n);
    return;
  }
  guint32 *mine = (guint32 *)(void *)(*set)->data;
  guint kept = 0;
  for (guint i = 0, j = 0; i < (*set)->len && j < n;) {
    if (mine[i] == other[j])
      mine[kept++] = mine[i++];
    else if (mine[i] < other[j])
      i++;
    else
      j++;
  }
  g_array_set_size(*set, kept);
}

static void clear_sets(GArray **sets, guint n) {
  for (guint i = 0; i < n; i++) g_clear_pointer(&sets[i], g_array_unref);
  g_free(sets);
}

static GArray **streams_of_paths(const OrrProgram *program, const Members *members) {
  GArray **sets = g_new0(GArray *, orr_use_rows_n(&program->kept) + 1);
  for (guint32 comm = 0; comm < program->comms->len; comm++) {
    guint n;
    const OrrPhase *phases = orr_program_phases(program, comm, &n);
    for (guint i = 0; i < n; i++)
      if (phases[i].path != ORR_NO_PATH && phases[i].bytes > 0)
        intersect(&sets[phases[i].path], members->streams + members->starts[comm],
                  members->starts[comm + 1] - members->starts[comm]);
  }
  return sets;
}

static gboolean links_are_safe(const OrrProgram *program, GArray *const *path_sets) {
  GArray **sets = g_new0(GArray *, program->links->len + 1);
  gboolean safe = TRUE;
  for (guint32 path = 0; safe && path < orr_use_rows_n(&program->kept); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->kept, path, &n);
    const GArray *set = path_sets[path];
    for (guint i = 0; set != NULL && safe && i < n; i++) {
      intersect(&sets[uses[i].link], (const guint32 *)(void *)set->data, set->len);
      safe = sets[uses[i].link]->len > 0;
    }
  }
  clear_sets(sets, program->links->len);
  return safe;
}

gboolean orr_program_find_uncontended(const OrrProgram *program) {
  g_autofree guint32 *starts = g_new0(guint32, program->comms->len + 1);
  count_joins(program, starts);
  g_autofree guint32 *streams = g_new(guint32, starts[program->comms->len] + 1);
  Members members = {starts, streams};
  fill_members(program, &members);
  GArray **path_sets = streams_of_paths(program, &members);
  gboolean safe = links_are_safe(program, path_sets);
  clear_sets(path_sets, orr_use_rows_n(&program->kept));
  return safe;
}
