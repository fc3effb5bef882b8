/*
 * account.h - where the time of one GPU went between two dates: every second to one kind.
 *
 *   a kernel computes                  to the kind of the kernel that began first
 *   none does, a collective runs       communication (exposed)
 *   neither, a copy runs               copies
 *   nothing runs                       idle
 *
 * Invariant: the kinds add up to the time between the dates.
 */
#ifndef ORR_ACCOUNT_H
#define ORR_ACCOUNT_H

#include "sim/explain/timeline.h"

G_BEGIN_DECLS

/* The kernels of one family; communication also of one purpose. */
typedef struct {
  const OrrKernelFamily *family;
  const char *purpose; /* NULL: none known */
  guint64 calls;       /* that begin between the dates */
  double seconds;      /* sum over the kernels, overlapped or not */
  double bytes;        /* of communication, sum over the calls; 0: not known */
  guint32 most;        /* name of the kernel that took longest */
  double most_s;
} OrrAccountPart;

typedef struct {
  double seconds[ORR_N_EXPLAIN];
  double comm_s;  /* in which any collective ran, exposed or not */
  GArray *parts;  /* of OrrAccountPart, longest first */
  GArray *name_s; /* of double: seconds by name */
  double begin_s, end_s;
} OrrAccount;

/* @timeline is sorted. */
OrrAccount *orr_account_new(const OrrTimeline *timeline, gint64 device, double begin_s,
                            double end_s);
void orr_account_free(OrrAccount *account); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrAccount, orr_account_free)

G_END_DECLS

#endif
