/*
 * autoscaler.h - autoscalers compute the number of replicas that a fleet needs.
 *
 * The fleet calls it every `interval` for each pool (prefill and decode, if they are separate) with
 * the pool's figures since the last call. The fleet (life.c) limits the result to between
 * `least` and `replicas`, starts replicas at once, and shrinks only to the largest result of the
 * last `down-after`.
 *
 * To add one: write workloads/serving/autoscalers/NAME.c with one `const OrrAutoscaler`, its line
 * in meson.build, and its closed form to tests/workloads/serving/test_fleet_life.c.
 */
#pragma once

#include "sim/base/field.h"

typedef struct {
  guint n_up;      /* replicas that accept requests */
  guint n_started; /* those, and those that are starting */
  gint64 requests; /* in replicas, or waiting for one */
  double busy;     /* GPU time of the interval divided by the time for which replicas were up */
  guint64 answered,
      in_time; /* first tokens in the interval, and how many of them within slo.ttft */
} OrrPoolView;

typedef struct {
  OrrEntry entry;
  /* All functions may be NULL. */
  guint (*wanted)(const void *params, const OrrPoolView *view); /* NULL: all replicas stay up */
} OrrAutoscaler;

extern const OrrRegistry orr_autoscaler_registry;

/* The number of replicas that brings @n replicas at @ratio of their target to the target: ceil(n
 * * ratio), or @n if that is within a tenth, as Kubernetes' horizontal autoscaler does
 * (kubernetes.io, Horizontal Pod Autoscaling, algorithm details, 2025). */
guint orr_autoscaler_scale(guint n, double ratio);
