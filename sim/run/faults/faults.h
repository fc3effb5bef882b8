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
#ifndef ORR_FAULTS_H
#define ORR_FAULTS_H

#include "topologies/machine_fault.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif
