/*
 * gang_order.h - the order in which waiting jobs are tried.
 *
 * An order is an entry. Its key says which job comes first: the lowest key, then the earlier
 * submission, then the lower number. A key may drift while a job waits, with its age or with what
 * its user has received. An order that preempts empties the cluster at every event and places all
 * jobs, waiting and running, anew in its order; a running job that finds no place goes back to the
 * queue with the work that it has left.
 *
 * To add one: write orders/NAME.c with a `const OrrGangOrder` and add it to the array in
 * gang_order.c and to meson.build; tests/workloads/cluster_jobs/test_gang_sim.c walks all.
 */
#ifndef ORR_GANG_ORDER_H
#define ORR_GANG_ORDER_H

#include "sim/base/field.h"
#include "workloads/cluster_jobs/gang_account.h"

G_BEGIN_DECLS

/* What a key goes by. */
typedef struct {
  const void *params;              /* of the order */
  const OrrGangAccounts *accounts; /* ranked as of now; of an order with a half-life */
  gint64 now_us, n_gpus;           /* of the cluster */
  double most_priority;            /* of the trace */
} OrrGangQuestion;

typedef struct {
  OrrEntry entry;
  gboolean preempts;
  double (*key)(const OrrGangQuestion *question, const OrrGangJob *job); /* mandatory */
  /* Of usage, in seconds; 0: usage does not decay. Set: keys of waiting jobs drift, and the queue
   * is sorted again at every event; such an order does not preempt. */
  double (*half_life_s)(const void *params);
  /* When the key of a running job changes the order next; G_MAXINT64: never. NULL: never for any
   * job. */
  gint64 (*changes_us)(const void *params, const OrrGangJob *job, gint64 now_us);
  /* Set: jobs have turns in the queues (levels) that this names; a job that enters one joins its
   * end, and after each pass those that wait are moved behind those that run (gang_repack.c). */
  guint (*level)(const void *params, const OrrGangJob *job, gint64 now_us);
} OrrGangOrder;

extern const OrrRegistry orr_gang_order_registry;

G_END_DECLS

#endif
