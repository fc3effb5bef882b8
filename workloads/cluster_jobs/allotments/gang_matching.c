/*
 * gang_matching.c - the Hungarian method (Kuhn 1955; Munkres 1957) by shortest augmenting paths, in
 * time n^2 m.
 *
 * Rows and columns have prices u and v with u(i) + v(j) <= cost(i, j), and equality where i is
 * assigned to j. Rows join one after the other: from the new row a tree of shortest paths over
 * reduced costs grows, as Dijkstra's, until it reaches a free column; then the assignments along
 * the path are swapped, and prices follow the distances.
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

enum { NONE = G_MAXUINT };

typedef struct {
  guint n, m;
  const double *cost;
  double *u, *v; /* prices of rows and columns */
  guint *row;    /* of each column; NONE: free */
  double *least; /* the shortest way to each column so far */
  guint *from;   /* the column before it there; NONE: the new row */
  gboolean *is_reached;
} Matching;

static double reduced(const Matching *matching, guint i, guint j) {
  return matching->cost[(gsize)i * matching->m + j] - matching->u[i] - matching->v[j];
}

/* Ways to all columns that lead over row @i, which is at @column, @at from the new row. */
static void relax(Matching *matching, guint i, guint column, double at) {
  for (guint j = 0; j < matching->m; j++) {
    if (matching->is_reached[j]) continue;
    const double way = at + reduced(matching, i, j);
    if (matching->least[j] <= way) continue;
    matching->least[j] = way;
    matching->from[j] = column;
  }
}

static guint nearest(const Matching *matching) {
  guint best = NONE;
  for (guint j = 0; j < matching->m; j++)
    if (!matching->is_reached[j] && (best == NONE || matching->least[j] < matching->least[best]))
      best = j;
  return best;
}

/* The free column that ends the shortest way from row @i. */
static guint find_way(Matching *matching, guint i) {
  for (guint j = 0; j < matching->m; j++) {
    matching->least[j] = G_MAXDOUBLE;
    matching->is_reached[j] = FALSE;
  }
  relax(matching, i, NONE, 0);
  for (;;) {
    const guint j = nearest(matching);
    if (matching->row[j] == NONE) return j;
    matching->is_reached[j] = TRUE;
    relax(matching, matching->row[j], j, matching->least[j]);
  }
}

/* Prices keep reduced costs at 0 or more, and 0 along the way, of length @length. */
static void reprice(Matching *matching, guint i, double length) {
  matching->u[i] += length;
  for (guint j = 0; j < matching->m; j++) {
    if (!matching->is_reached[j]) continue;
    matching->u[matching->row[j]] += length - matching->least[j];
    matching->v[j] -= length - matching->least[j];
  }
}

static void add_row(Matching *matching, guint i) {
  guint j = find_way(matching, i);
  reprice(matching, i, matching->least[j]);
  for (; matching->from[j] != NONE; j = matching->from[j])
    matching->row[j] = matching->row[matching->from[j]];
  matching->row[j] = i;
}

void orr_gang_matching_solve(guint n, guint m, const double *cost, guint *ret_column) {
  g_return_if_fail(n <= m);
  Matching matching = {.n = n,
                       .m = m,
                       .cost = cost,
                       .u = g_new0(double, n + 1),
                       .v = g_new0(double, m + 1),
                       .row = g_new(guint, m + 1),
                       .least = g_new(double, m + 1),
                       .from = g_new(guint, m + 1),
                       .is_reached = g_new(gboolean, m + 1)};
  for (guint j = 0; j < m; j++) matching.row[j] = NONE;
  for (guint i = 0; i < n; i++) add_row(&matching, i);
  for (guint j = 0; j < m; j++)
    if (matching.row[j] != NONE) ret_column[matching.row[j]] = j;
  ORR_FREE(matching.u, matching.v, matching.row, matching.least, matching.from,
           matching.is_reached);
}
