/*
 * gang_lp.c - the simplex method (Dantzig 1947) in its condensed form: the tableau holds the
 * columns of the variables that are zero, and a pivot swaps one of them with the variable of a row.
 *
 *            zero variables   right side
 *   rows     [ a ........ ]   [ b ]        b >= 0: all slacks, x = 0, t = 0 is a first solution
 *   goal 1   [ c ........ ]   [ -t ]       t
 *   goal 2   [ d ........ ]   [ -sum ]     the sum of gains, in the second phase
 *
 * The rows of t begin at zero, where a pivot does not move anything; each is given a tiny
 * different right side, which breaks ties. The column of the largest coefficient enters, and after
 * many pivots the first positive one (Bland's rule), which cannot cycle.
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

#define TINY 1e-9
enum { GOALS = 2 };

typedef struct {
  guint rows, columns; /* columns without the right side */
  double *cells;       /* (rows + GOALS) x (columns + 1) */
  guint *basic, *zero; /* the variable of each row, and of each column */
} Tableau;

static double *row_at(const Tableau *tableau, guint row) {
  return tableau->cells + (gsize)row * (tableau->columns + 1);
}

static void pivot(Tableau *tableau, guint row, guint column) {
  const guint n = tableau->columns + 1;
  double *own = row_at(tableau, row);
  const double by = 1 / own[column];
  own[column] = 1;
  for (guint j = 0; j < n; j++) own[j] *= by;
  for (guint i = 0; i < tableau->rows + GOALS; i++) {
    double *other = row_at(tableau, i);
    const double factor = other[column];
    if (i == row || factor == 0) continue;
    other[column] = 0;
    for (guint j = 0; j < n; j++) other[j] -= factor * own[j];
  }
  const guint variable = tableau->basic[row];
  tableau->basic[row] = tableau->zero[column];
  tableau->zero[column] = variable;
}

/* Columns that would worsen goal 0 stay out of phase 1. */
static guint entering(const Tableau *tableau, guint goal, gboolean takes_first) {
  const double *goals = row_at(tableau, tableau->rows + goal),
               *first = row_at(tableau, tableau->rows);
  guint best = G_MAXUINT;
  for (guint j = 0; j < tableau->columns; j++) {
    if (!(goals[j] > TINY) || (goal > 0 && first[j] < -TINY)) continue;
    if (best == G_MAXUINT || goals[j] > goals[best]) best = j;
    if (takes_first) return best;
  }
  return best;
}

static guint leaving(const Tableau *tableau, guint column) {
  guint best = G_MAXUINT;
  double least = 0;
  for (guint i = 0; i < tableau->rows; i++) {
    const double *row = row_at(tableau, i);
    if (!(row[column] > TINY)) continue;
    const double ratio = row[tableau->columns] / row[column];
    if (best != G_MAXUINT && ratio >= least) continue;
    best = i;
    least = ratio;
  }
  return best;
}

static void maximize(Tableau *tableau, guint goal) {
  const guint many = 20 * (tableau->rows + tableau->columns);
  for (guint n = 0; n < 4 * many; n++) {
    const guint column = entering(tableau, goal, n > many);
    const guint row = column == G_MAXUINT ? G_MAXUINT : leaving(tableau, column);
    if (row == G_MAXUINT) return;
    pivot(tableau, row, column);
  }
}

/* Variable m * n_kinds + k is x(m, k); the one after them t; then the slacks. */
static void fill(Tableau *tableau, const OrrGangLp *lp) {
  const guint n = lp->n, kinds = lp->n_kinds, t = n * kinds, right = tableau->columns;
  for (guint m = 0; m < n; m++) {
    double *time = row_at(tableau, m), *least = row_at(tableau, n + kinds + m);
    time[right] = 1;
    least[t] = 1;
    least[right] = TINY * (1 + (double)m / n);
    for (guint k = 0; k < kinds; k++) {
      const guint x = m * kinds + k;
      time[x] = 1;
      least[x] = -lp->gain[x];
      row_at(tableau, n + k)[x] = lp->gpus[m];
      row_at(tableau, tableau->rows + 1)[x] = lp->gain[x] > 0 ? lp->gain[x] : -1;
    }
  }
  for (guint k = 0; k < kinds; k++) row_at(tableau, n + k)[right] = lp->capacity[k];
  row_at(tableau, tableau->rows)[t] = 1;
}

double orr_gang_lp_solve(const OrrGangLp *lp, double *x) {
  const guint t = lp->n * lp->n_kinds;
  Tableau tableau = {.rows = 2 * lp->n + lp->n_kinds, .columns = t + 1};
  tableau.cells = g_new0(double, (gsize)(tableau.rows + GOALS) * (tableau.columns + 1));
  tableau.basic = g_new(guint, tableau.rows);
  tableau.zero = g_new(guint, tableau.columns);
  for (guint i = 0; i < tableau.rows; i++) tableau.basic[i] = tableau.columns + i;
  for (guint j = 0; j < tableau.columns; j++) tableau.zero[j] = j;
  fill(&tableau, lp);
  for (guint goal = 0; goal < GOALS; goal++) maximize(&tableau, goal);
  double result = 0;
  for (guint i = 0; i < t; i++) x[i] = 0;
  for (guint i = 0; i < tableau.rows; i++) {
    const double value = fmax(row_at(&tableau, i)[tableau.columns], 0);
    if (tableau.basic[i] < t) x[tableau.basic[i]] = fmin(value, 1);
    if (tableau.basic[i] == t) result = value;
  }
  ORR_FREE(tableau.cells, tableau.basic, tableau.zero);
  return result;
}
