/*
 * program_fold.c - removes links without changing the sharing.
 *
 * Max-min sharing sees link l as one inequality: sum over transfers of w(p, l) * rate <= B(l),
 * where p is the transfer's path. Write the link's weights as a vector over paths, w(., l) = g * v
 * with g their greatest common divisor; the inequality is v . rate <= B(l) / g. Links with the same
 * v differ only on the right-hand side: the smallest B / g implies all others, which can be removed
 * without changing any rate. This holds at all times, since bandwidths are constant. Links whose
 * bandwidth can change (faults, orr_program_keep_link) and links that other programs use
 * (orr_program_share_link) are neither removed nor replace others. Of equal links the first is
 * kept.
 *
 * Only paths over which a comm sends bytes count. Cost: linear in the number of uses, plus one hash
 * look-up per link.
 *
 *   paths        as columns (links)      v and B/g         kept
 *   0: a b       a: 0*2 1*4   B 10       0*1 1*2   5       a, stands for a and c
 *   1: a b c     c: 0*1 1*2   B 8        0*1 1*2   8
 */
#include "sim/engine/program_private.h"

typedef struct {
  guint32 link;
  guint32 n;
  const OrrLinkUse *column; /* .link is the path, .weight the weight divided by the gcd */
  double bandwidth;         /* divided by the gcd */
  guint32 stands_for;       /* for the kept link of its class */
  gboolean alone;           /* must not be folded */
} Column;

static gboolean *used_paths(const OrrProgram *program) {
  gboolean *used = g_new0(gboolean, orr_use_rows_n(&program->paths) + 1);
  ORR_EACH(const OrrPhase, phase, program->phases)
    if (phase->path != ORR_NO_PATH && phase->bytes > 0) used[phase->path] = TRUE;
  return used;
}

/* The start of each link's column (n_links + 1 entries), from the number of used paths over the
 * link. */
static guint32 *column_starts(const OrrProgram *program, const gboolean *used) {
  guint32 *starts = g_new0(guint32, program->links->len + 2);
  for (guint32 path = 0; path < orr_use_rows_n(&program->paths); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->paths, path, &n);
    for (guint i = 0; used[path] && i < n; i++) starts[uses[i].link + 1]++;
  }
  for (guint i = 0; i < program->links->len; i++) starts[i + 1] += starts[i];
  return starts;
}

/* The uses by link, each column in the order of paths. */
static OrrLinkUse *transpose(const OrrProgram *program, const gboolean *used,
                             const guint32 *starts) {
  g_autofree guint32 *next = g_memdup2(starts, (program->links->len + 1) * sizeof *starts);
  OrrLinkUse *entries = g_new(OrrLinkUse, starts[program->links->len] + 1);
  for (guint32 path = 0; path < orr_use_rows_n(&program->paths); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->paths, path, &n);
    for (guint i = 0; used[path] && i < n; i++)
      entries[next[uses[i].link]++] = (OrrLinkUse){path, uses[i].weight};
  }
  return entries;
}

static guint32 gcd(guint32 a, guint32 b) {
  while (b != 0) {
    guint32 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static void reduce(Column *column, OrrLinkUse *entries) {
  guint32 divisor = 0;
  for (guint32 i = 0; i < column->n; i++) divisor = gcd(entries[i].weight, divisor);
  for (guint32 i = 0; i < column->n; i++) entries[i].weight /= divisor;
  column->bandwidth /= divisor;
}

static guint hash_column(gconstpointer key) {
  const Column *column = key;
  guint64 hash = column->n;
  for (guint32 i = 0; i < column->n; i++) {
    hash = (hash ^ column->column[i].link) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    hash =
        (hash ^ (hash >> 29) ^ column->column[i].weight) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
  }
  return (guint)(hash >> 32);
}

static gboolean equal_columns(gconstpointer a, gconstpointer b) {
  const Column *x = a, *y = b;
  if (x == y) return TRUE;
  return !x->alone && !y->alone && x->n == y->n &&
         memcmp(x->column, y->column, x->n * sizeof *x->column) == 0;
}

/* The hash table is only looked up, never iterated, so its order has no effect. */
static void enter_class(GHashTable *classes, Column *column, OrrProgram *program) {
  Column *first = g_hash_table_lookup(classes, column);
  if (first == NULL) {
    first = column;
    g_hash_table_add(classes, column);
  } else if (column->bandwidth < first->bandwidth) {
    g_array_index(program->links, OrrProgramLink, first->link).stands_for = 0;
    first->bandwidth = column->bandwidth;
    first->link = column->link;
  }
  g_array_index(program->links, OrrProgramLink, first->link).stands_for = ++first->stands_for;
}

static void fold_columns(OrrProgram *program, const guint32 *starts, OrrLinkUse *entries) {
  g_autofree Column *columns = g_new0(Column, program->links->len + 1);
  g_autoptr(GHashTable) classes = g_hash_table_new(hash_column, equal_columns);
  for (guint32 i = 0; i < program->links->len; i++) {
    const OrrProgramLink *link = &g_array_index(program->links, OrrProgramLink, i);
    Column *column = &columns[i];
    *column =
        (Column){i, starts[i + 1] - starts[i], entries + starts[i], link->bandwidth, 0, link->keep};
    if (column->n == 0 && link->is_shared)
      g_array_index(program->links, OrrProgramLink, i).stands_for = 1;
    if (column->n == 0) continue;
    reduce(column, entries + starts[i]);
    enter_class(classes, column, program);
  }
}

static void keep_rows(OrrProgram *program, const gboolean *used) {
  orr_use_rows_init(&program->kept);
  for (guint32 path = 0; path < orr_use_rows_n(&program->paths); path++) {
    guint n;
    const OrrLinkUse *uses = orr_use_rows_get(&program->paths, path, &n);
    for (guint i = 0; used[path] && i < n; i++)
      if (orr_program_link_stands_for(program, uses[i].link) > 0)
        g_array_append_val(program->kept.uses, uses[i]);
    orr_use_rows_end_row(&program->kept);
  }
}

void orr_program_fold(OrrProgram *program) {
  ORR_EACH(const OrrFault, fault, program->faults) orr_program_keep_link(program, fault->link);
  g_autofree gboolean *used = used_paths(program);
  g_autofree guint32 *starts = column_starts(program, used);
  g_autofree OrrLinkUse *entries = transpose(program, used, starts);
  fold_columns(program, starts, entries);
  keep_rows(program, used);
}
