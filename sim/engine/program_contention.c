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

/* The intersection of two ascending lists. */
static GArray *intersection(const guint32 *a, guint n_a, const guint32 *b, guint n_b) {
  GArray *both = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint i = 0, j = 0; i < n_a && j < n_b;) {
    if (a[i] == b[j]) {
      g_array_append_val(both, a[i]);
      i++;
      j++;
    } else if (a[i] < b[j]) {
      i++;
    } else {
      j++;
    }
  }
  return both;
}

static const guint32 *streams_in(const GArray *set) { return (const guint32 *)(void *)set->data; }

/* @set := @set and @n streams; NULL stands for "all streams so far". */
static void narrow(GArray **set, const guint32 *streams, guint n) {
  if (*set && (*set)->len == n && memcmp((*set)->data, streams, n * sizeof *streams) == 0) return;
  GArray *both =
      *set ? intersection(streams_in(*set), (*set)->len, streams, n)
           : g_array_append_vals(g_array_sized_new(FALSE, FALSE, sizeof *streams, n), streams, n);
  if (*set) g_array_unref(*set);
  *set = both;
}

/* @set := @set and @other, which it may become: a gradient's path has as many streams as there are
 * replicas, on each of as many links. */
static void narrow_to(GArray **set, GArray *other) {
  if (*set == other) return;
  GArray *both = *set ? intersection(streams_in(*set), (*set)->len, streams_in(other), other->len)
                      : g_array_ref(other);
  if (*set) g_array_unref(*set);
  *set = both;
}

static void clear_sets(GArray **sets, guint n) {
  for (guint i = 0; i < n; i++) g_clear_pointer(&sets[i], g_array_unref);
  g_free(sets);
}

static guint hash_set(gconstpointer key) {
  const GArray *set = key;
  guint hash = set->len;
  ORR_EACH_VALUE(const guint32, value, set) hash = hash * 31 + value;
  return hash;
}

static gboolean equal_sets(gconstpointer a, gconstpointer b) {
  const GArray *x = a, *y = b;
  if (x->len != y->len || x->len == 0) return x->len == y->len; /* an empty set may have no data */
  return memcmp(x->data, y->data, x->len * sizeof(guint32)) == 0;
}

/* Equal sets become one, so that pointers say whether two are equal. */
static void unite_equal(GArray **sets, guint n) {
  g_autoptr(GHashTable) known = g_hash_table_new(hash_set, equal_sets);
  for (guint i = 0; i < n; i++) {
    GArray *first = sets[i] ? g_hash_table_lookup(known, sets[i]) : NULL;
    if (first) {
      g_array_unref(sets[i]);
      sets[i] = g_array_ref(first);
    } else if (sets[i]) {
      g_hash_table_add(known, sets[i]);
    }
  }
}

static GArray **streams_of_paths(const OrrProgram *program, const Members *members) {
  GArray **sets = g_new0(GArray *, orr_use_rows_n(&program->kept) + 1);
  for (guint32 comm = 0; comm < program->comms->len; comm++) {
    guint n;
    const OrrPhase *phases = orr_program_phases(program, comm, &n);
    for (guint i = 0; i < n; i++)
      if (phases[i].path != ORR_NO_PATH && phases[i].bytes > 0)
        narrow(&sets[phases[i].path], members->streams + members->starts[comm],
               members->starts[comm + 1] - members->starts[comm]);
  }
  unite_equal(sets, orr_use_rows_n(&program->kept));
  return sets;
}

static gboolean links_are_safe(const OrrProgram *program, GArray *const *path_sets) {
  GArray **sets = g_new0(GArray *, program->links->len + 1);
  gboolean safe = TRUE;
  for (guint32 path = 0; safe && path < orr_use_rows_n(&program->kept); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->kept, path, &n);
    for (guint i = 0; path_sets[path] != NULL && safe && i < n; i++) {
      narrow_to(&sets[uses[i].link], path_sets[path]);
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
