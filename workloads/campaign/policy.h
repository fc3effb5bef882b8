/*
 * policy.h - recovery policies: what a job does after a failure, once that is found.
 *
 * A policy is an entry. It is asked for a plan, and the simulation (campaign_sim.h) carries it out:
 * take nodes from the spares, wait, reschedule, initialise, load, go on.
 *
 * To add one: write workloads/campaign/policies/NAME.c with one const OrrRecoveryPolicy and its
 * line in meson.build. tests/workloads/campaign/test_campaign_sim.c holds all to the same laws.
 */
#pragma once

#include "sim/base/field.h"

/* Times of the steps of a recovery, whatever the policy. */
typedef struct {
  double requeue_s;    /* a new job is scheduled, and its containers start */
  double restart_s;    /* processes start again on their own nodes */
  double initialise_s; /* process groups of all ranks */
} OrrRecoveryTimes;

/* The event. */
typedef struct {
  gboolean is_planned;
  gboolean all_lost; /* no healthy replica is left to go on or to copy from */
  gint64 nodes_out;  /* of the job's nodes, gone now */
  gint64 nodes_free; /* spares that can take their places */
  double step_s;
  const OrrRecoveryTimes *times;
} OrrRecoveryCase;

/* The response. */
typedef struct {
  gboolean stops;          /* the campaign ends */
  gboolean shrinks;        /* nodes that no spare replaces leave the job; else it waits for them */
  gboolean loses_host;     /* checkpoints in host memory end with their processes */
  gboolean keeps_progress; /* healthy replicas hold the state: nothing is loaded or computed anew */
  double reschedule_s, initialise_s;
  double apart_s; /* healthy replicas go on; the lost one is back after this time */
} OrrRecoveryPlan;

typedef struct {
  OrrEntry entry;
  /* Mandatory. @ret_plan is all zero before. */
  void (*plan)(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan);
  /* The most replicas that the job can do without; NULL: none. Each number is replayed. */
  gint64 (*most_lost)(const void *params);
  /* Whether those that are left train the same global batch; NULL: each keeps its sequences. */
  gboolean (*keeps_batch)(const void *params);
} OrrRecoveryPolicy;

extern const OrrRegistry orr_recovery_policy_registry;

gint64 orr_recovery_policy_most_lost(const OrrChoice *choice);
gboolean orr_recovery_policy_keeps_batch(const OrrChoice *choice);

/* For entries: the field `most-lost`. */
#define ORR_RECOVERY_POLICY_MOST_LOST(type_)                                                       \
  ORR_FIELD_INT(type_, "most-lost", most_lost, "1",                                                \
                "Replicas that the job can do without; each number is replayed.", .min = 1,        \
                .max = 16)
