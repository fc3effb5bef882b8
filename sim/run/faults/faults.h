/*
 * faults.h - what goes wrong with a machine, and when.
 *
 *   faults:
 *     - {at: 10 s, until: 20 s, fault: {kind: link, name: leaf0-spine1}}    once
 *     - {mtbf: 1 h, duration: 30 s, fault: {kind: slow-gpu, slower: 20 %}}  at a rate
 *
 * Without `until` or `duration`, a fault stays for good. At a rate, it strikes another part each
 * time, unless the document names the part. The times from the end of one outage to the begin of
 * the next are then exponential. They come from a random stream of the scenario's seed and the
 * fault's position in the list, so the same scenario has the same outages.
 */
#pragma once

#include "sim/engine/program_merge.h"
#include "topologies/machine_fault.h"
#include "workloads/workload.h"

typedef struct {
  OrrChoice fault; /* of orr_machine_fault_registry */
  double at_s, until_s, mtbf_s, duration_s, detection_s;
} OrrFaultSpec;

extern const OrrFieldTable orr_fault_spec_table;

/* The faults of a scenario, and the machine that they strike. Borrows all. */
typedef struct {
  const GPtrArray *specs; /* of OrrFaultSpec; NULL or empty: none */
  const OrrCluster *cluster;
  guint64 seed;
} OrrFaults;

/* Whether any fault has a rate. Its outages are drawn for a time that the caller chooses. */
gboolean orr_faults_at_rates(const OrrFaults *faults);

/* A node that a fault takes and gives back. */
typedef struct {
  gint64 node;    /* -1: a node drawn each time */
  OrrPlace place; /* of the key that gives it back */
} OrrNodeReturn;

/* Checks what single fields cannot: that times fit each other, and that the machine has the parts
 * named. @tree is the scenario's. Returns the nodes that come back (of OrrNodeReturn, owned): the
 * caller checks that its workloads can take them up again. */
GArray *orr_faults_check(const OrrFaults *faults, const OrrNode *tree, OrrDiags *diags);

/* One time that a fault strikes. */
typedef struct {
  guint spec;       /* position in the scenario's list */
  const char *kind; /* the entry's name */
  char *what;       /* "leaf0-spine1 down" */
  double begin_s;
  double end_s;       /* INFINITY: for good */
  double detection_s; /* after begin and end: how long until routes follow */
  GArray *effects;    /* of OrrFaultEffect */
} OrrOutage;

/* All outages that have a date, or that strike before @horizon_s, by their begin: array of
 * OrrOutage, owned. NULL with ORR_FAULT_DOCUMENT. */
GPtrArray *orr_faults_draw(const OrrFaults *faults, const OrrFabric *fabric, double horizon_s,
                           GError **error);

/* intervals.c: the effects of outages on each thing (a link, a lane or a GPU) over time.
 *
 * Several outages may affect one thing at the same time. Losses of a link add up, at most to the
 * whole link; slow-downs of a GPU multiply; a lane is as slow as its slowest GPU, since its ranks
 * meet in every layer:
 *
 *   link:  1 ---+     +---        lane:  factor(t) = max over its GPUs of the product of (1 + loss)
 *        1/2    +--+  |
 *          0       +--+
 */

/* Things in the order of their first effect: a hash table's order must not order events. */
typedef struct {
  GArray *things;     /* of gint64 */
  GPtrArray *effects; /* per thing, a GArray of its intervals */
  GHashTable *places; /* thing -> place + 1 */
} OrrIntervals;

void orr_intervals_init(OrrIntervals *intervals);
void orr_intervals_clear(OrrIntervals *intervals);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrIntervals, orr_intervals_clear)

/* Adds an effect on @thing for the time of @outage. */
void orr_intervals_add(OrrIntervals *intervals, gint64 thing, const OrrOutage *outage,
                       const OrrFaultEffect *effect);
/* Adds all effects of @outage on links; the things are fabric links. */
void orr_intervals_add_links(OrrIntervals *intervals, const OrrOutage *outage);

/* When the effects on thing @place begin and end: ascending, no duplicates. Array of double. */
GArray *orr_intervals_dates(const OrrIntervals *intervals, guint place);
void orr_intervals_sort_dates(GArray *dates);

/* The fraction of a link's bandwidth that is left at @at_s. */
double orr_intervals_link_factor(const OrrIntervals *intervals, guint place, double at_s);
/* How many times as long kernels of a lane or GPU take at @at_s. */
double orr_intervals_lane_factor(const OrrIntervals *intervals, guint place, double at_s);

/* detours.c: other paths around dead links.
 *
 * When a link is dead and routes can avoid it, every job is compiled again on the fabric without
 * that link. From the date at which routing knows of it, the job's communications take the paths
 * of that compilation. */

/* From a date on, the dead links that routes avoid. */
typedef struct {
  double at_s;
  GHashTable *dead; /* set of fabric links; NULL: none */
} OrrDetour;

/* The detours by date, each different from the one before; none where routes can avoid no dead
 * link. Array of OrrDetour, owned. */
GArray *orr_detours_find(const GPtrArray *outages, const OrrFabric *fabric);
/* Refuses more detours than a run compiles communications for. */
gboolean orr_detours_check(const GArray *detours, GError **error);
/* One fabric per detour, without its dead links; NULL where nothing is dead. Owned. */
GPtrArray *orr_detours_fabrics(const GArray *detours, const OrrFabric *fabric);

/* A work in a program that several works may share. */
typedef struct {
  OrrProgram *program; /* not sealed */
  GHashTable *numbers; /* fabric link -> link of the program + 1; new links are added */
  const OrrWork *work;
  guint32 first_comm; /* number in the program of the work's first communication */
} OrrRerouted;

/* From the program's latest epoch on, lets the work's communications take the paths that they have
 * in @other, the same work compiled for a detour. */
void orr_detours_reroute(const OrrRerouted *rerouted, const OrrWork *other);

/* outages.c: outages as changes of a program: links lose bandwidth, lanes slow down or are lost,
 * communications take other paths. */

/* A job whose program is part of the program that outages change. */
typedef struct {
  const OrrWork *work;
  const gint64 *gpus; /* the machine's number of each of its GPUs; NULL: the same numbers */
  gint64 n_gpus;
  OrrProgramOffset offset;
  gint64 gpus_per_node;
} OrrOutageJob;

/* Marks for OrrWorld on the links that outages affect and on the links of the job's GPUs; NULL
 * where outages affect nodes alone. */
OrrMarks *orr_outages_marks(const GPtrArray *outages, const gint64 *gpus, gint64 n_gpus);
void orr_outages_free_marks(OrrMarks *marks); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrMarks, orr_outages_free_marks)

/* Applies @outages to @program, which is not sealed and consists of the programs of @jobs, in that
 * order. @works[d * n_jobs + j] is job j compiled for detour d; NULL: its own work, as built.
 * @detours may be NULL. */
void orr_outages_apply(OrrProgram *program, const OrrOutageJob *jobs, guint n_jobs,
                       const GPtrArray *outages, const GArray *detours, OrrWork *const *works);

/* The first outage that takes a node of @job, which stops there; NULL: none, or the job is live and
 * goes on. */
const OrrOutage *orr_outages_loss(const GPtrArray *outages, const OrrOutageJob *job);

/* What happens to the GPUs of a live @job: array of OrrGpuChange, by date; owned. */
GArray *orr_outages_gpu_changes(const GPtrArray *outages, const OrrOutageJob *job);

/* Links that are lost keep this fraction, so that what crosses them never ends. */
#define ORR_LINK_LOST 1e-15

/* What happens to the links of @fabric: array of OrrFabricChange, by date; owned. @fabrics: per
 * detour, as orr_detours_fabrics makes them; they and @fabric must outlive it. */
GArray *orr_fabric_changes_find(const GPtrArray *outages, const GArray *detours,
                                const GPtrArray *fabrics, const OrrFabric *fabric);
