/*
 * training_traffic.h - communications as phases over the links of a program.
 *
 * An OrrCommPlan is planned once and can be made any number of times. OrrTraffic plans them: it
 * maps the fabric's links to links of the program as they are first used, and keeps one row per
 * name of what was planned. It also compares plans by the links they use, which decides what can
 * contend (training_layers.c) and which replicas are alike (training_fold.c).
 */
#pragma once

#include "workloads/training/job/training_groups.h"
#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"
#include "workloads/work_calls.h"

typedef struct {
  OrrPhase *phases;
  guint n_phases;     /* 0: nothing to communicate */
  double predicted_s; /* on an idle fabric */
} OrrCommPlan;

void orr_comm_plan_clear(OrrCommPlan *plan);
void orr_comm_plan_append(OrrCommPlan *plan, OrrCommPlan *next); /* leaves @next empty */
void orr_comm_plan_free_all(OrrCommPlan *plans, gsize n);        /* an array of @n; NULL is fine */

typedef struct {
  const OrrJob *job;
  OrrCollectiveContext context;
  OrrProgram *program;
  guint32 *program_links; /* fabric link -> program link + 1; 0: not used yet */
  GArray *links;          /* of guint32: program link -> fabric link */
  guint32 *slots;         /* by fabric link: scratch, zero between calls */
  GArray *collectives;    /* of OrrPlannedCollective: one per name and size */
  GArray *row_of_path;    /* of guint32: path with which a plan begins -> its row + 1; 0: none */
  OrrWorkCalls *calls;    /* of the program's paths; NULL: not kept */
} OrrTraffic;

void orr_traffic_init(OrrTraffic *traffic, const OrrJob *job, OrrProgram *program);
void orr_traffic_clear(OrrTraffic *traffic);

/* One plan for equal calls of different groups at the same time: the weights on links add up, and
 * the longest latency counts. Each size of a @name gets a row in traffic->collectives, with @count
 * calls per step until orr_traffic_count finds them in the program. */
gboolean orr_traffic_plan(OrrTraffic *traffic, const char *name, gint64 count,
                          const OrrCalls *calls, OrrCommPlan *ret_plan, GError **error);

/* Sets the rows' counts to the calls per step in the program (training_calls.c), of the first stage
 * that makes them, whose lanes are one per class of replicas. Rows whose calls are part of work
 * keep their counts. */
void orr_traffic_count(OrrTraffic *traffic, guint n_classes);

/* Seconds of one call on an idle fabric; 0: it cannot be planned. */
double orr_traffic_alone_s(const OrrTraffic *traffic, const OrrCollectiveCall *call);

/* A path of the program over @n links of the fabric. */
guint32 orr_traffic_path(OrrTraffic *traffic, const OrrLinkUse *fabric_uses, guint n);

/* Adds to @load (a hash by fabric link) what @plan (NULL: nothing) puts on each of its links.
 * Different @salt keeps different communications apart. */
void orr_traffic_load(const OrrTraffic *traffic, const OrrCommPlan *plan, guint64 salt,
                      guint64 *load);

/* Sets @links[link] for each fabric link that @plan (NULL: none) uses. */
void orr_traffic_cover(const OrrTraffic *traffic, const OrrCommPlan *plan, guint8 *links);
/* Whether @plan uses a fabric link that @links has set. */
gboolean orr_traffic_touches(const OrrTraffic *traffic, const OrrCommPlan *plan,
                             const guint8 *links);
/* Whether two plans use a link in common. */
gboolean orr_traffic_meet(const OrrTraffic *traffic, const OrrCommPlan *a, const OrrCommPlan *b);

/* Calls @visit for each fabric link that @plan uses, until it returns TRUE; whether it did. */
typedef gboolean (*OrrTrafficVisit)(guint32 fabric_link, gconstpointer data);
gboolean orr_traffic_any_link(const OrrTraffic *traffic, const OrrCommPlan *plan,
                              OrrTrafficVisit visit, gconstpointer data);
