/*
 * gang_lp.h - the linear program of shares of time on several kinds of GPUs, solved by the simplex
 * method on a dense tableau.
 *
 *   maximize t   where   sum over k of gain(m, k) x(m, k) >= t        for every class m of jobs
 *                        sum over k of x(m, k) <= 1
 *                        sum over m of gpus(m) x(m, k) <= capacity(k)  for every kind k
 *
 * Then, with t kept, the sum of all gains is maximized, so that no capacity is left idle which
 * somebody could use. x(m, k) is the fraction of time that each job of class m has kind k.
 */
#ifndef ORR_GANG_LP_H
#define ORR_GANG_LP_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  guint n, n_kinds;       /* classes; kinds */
  const double *gain;     /* n x n_kinds */
  const double *gpus;     /* of all jobs of a class together */
  const double *capacity; /* by kind */
} OrrGangLp;

/* Fills @x (n x n_kinds) and returns t. */
double orr_gang_lp_solve(const OrrGangLp *lp, double *x);

G_END_DECLS

#endif
