/*
 * training_fold.h - which data-parallel replicas are alike: one replica of each class is replayed
 * for all of its class.
 *
 * Lane l = stage * fold.n + class. Where expert groups span `span` consecutive replicas, these are
 * one group of replicas; its classes meet in every all-to-all. Groups with equal classes count as
 * one.
 */
#pragma once

#include "workloads/training/job/training_job.h"

typedef struct {
  guint n;             /* classes */
  guint32 *class_of;   /* by replica */
  guint32 *first;      /* by class: its first replica */
  guint32 *size;       /* by class: how many replicas */
  gint64 span;         /* replicas per group */
  guint n_groups;      /* groups of replicas */
  guint32 *group_of;   /* by class */
  guint32 *group_size; /* by group: how many classes */
  /* By colour, all replicas of each group are alike: they arrive together wherever they meet. */
  gboolean uniform;
} OrrFold;

/* @load (may be NULL): a hash by fabric link of what other communications put on it
 * (orr_traffic_load). */
void orr_fold_init(OrrFold *fold, const OrrJob *job, OrrFidelity fidelity, const guint64 *load);
void orr_fold_clear(OrrFold *fold);

/* The first rank of each replica of @class: fold->size[class] of them, newly allocated. */
gint64 *orr_fold_class_ranks(const OrrFold *fold, const OrrJob *job, guint class);
/* The first rank of each group of replicas like @class's group: @ret_n of them, newly allocated. */
gint64 *orr_fold_group_ranks(const OrrFold *fold, const OrrJob *job, guint class, guint *ret_n);
/* The lane that represents all lanes that meet @lane in collectives of @span replicas: itself, or
 * the first lane of its group. */
guint orr_fold_leader(const OrrFold *fold, guint lane, gint64 span);
/* Whether no lane meets another one in collectives of @span replicas: one lane stands for all
 * replicas of each group. */
gboolean orr_fold_meets_none(const OrrFold *fold, gint64 span);
