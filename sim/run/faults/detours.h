/*
 * detours.h - other paths around dead links.
 *
 * When a link is dead and routes can avoid it, every job is compiled again on the fabric without
 * that link. From the date at which routing knows of it, the job's communications take the paths of
 * that compilation.
 */
#ifndef ORR_DETOURS_H
#define ORR_DETOURS_H

#include "sim/run/faults/faults.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif
