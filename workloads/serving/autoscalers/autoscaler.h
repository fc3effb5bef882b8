/*
 * autoscaler.h - how many replicas a fleet wants.
 *
 * Asked every `interval` for each pool (prefill and decode, where they are apart) with what it has
 * seen since the last time. What becomes of the answer is the fleet's business (life.c): it
 * keeps within `least` and `replicas`, starts at once, and goes down only to the most that was
 * wanted in the last `down-after`.
 *
 * To add one: write workloads/serving/autoscalers/NAME.c with one `const OrrAutoscaler`, add it to
 * the array in autoscaler.c and to meson.build, and its closed form to
 * tests/workloads/serving/test_fleet_life.c.
 */
#ifndef ORR_AUTOSCALER_H
#define ORR_AUTOSCALER_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct {
  guint n_up;      /* replicas that take requests */
  guint n_started; /* those, and those that are about to */
  gint64 requests; /* in them, or waiting for one */
  double busy;     /* GPU time of the interval over the time that replicas were up */
  guint64 answered,
      in_time; /* first tokens in the interval; of those, within the ttft that was asked for */
} OrrPoolView;

typedef struct {
  OrrEntry entry;
  guint (*wanted)(const void *params,
                  const OrrPoolView *view); /* NULL: nobody is asked, all replicas are up */
} OrrAutoscaler;

extern const OrrRegistry orr_autoscaler_registry;

/* @n replicas that are at @ratio of what they should be at: ceil(n * ratio), or @n where that is
 * within a tenth of it, as Kubernetes' horizontal autoscaler has it (kubernetes.io, Horizontal
 * Pod Autoscaling, algorithm details, 2025). */
guint orr_autoscaler_scale(guint n, double ratio);

G_END_DECLS

#endif
