/*
 * gang_throughputs.h - how fast each model trains on each kind and number of GPUs, from a table:
 *
 *   model,gpus,gpu_type,steps_per_s
 *   ResNet-18 (batch size 128),1,v100,69.95
 *
 * `scale_factor` is another name of gpus (Gavel's throughput tables).
 */
#ifndef ORR_GANG_THROUGHPUTS_H
#define ORR_GANG_THROUGHPUTS_H

#include "workloads/cluster_jobs/gang_sim.h"

G_BEGIN_DECLS

/* NULL with all findings. */
OrrGangThroughputs *orr_gang_throughputs_read(const char *path, GError **error);
void orr_gang_throughputs_free(OrrGangThroughputs *speeds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrGangThroughputs, orr_gang_throughputs_free)

/* The models of the table, in its order; NULL-terminated. */
const char *const *orr_gang_throughputs_models(const OrrGangThroughputs *speeds);

/* Steps per second; 0: not in the table. */
double orr_gang_throughputs_find(const OrrGangThroughputs *speeds, const char *model, gint64 gpus,
                                 const char *kind);

/* The same for a size that the table may lack: that of the largest smaller gang it has. */
double orr_gang_throughputs_between(const OrrGangThroughputs *speeds, const char *model,
                                    gint64 gpus, const char *kind);

/* Sets the rates of @job on all kinds, relative to the first kind that the table has for its model
 * and gang; where it states steps, its work is what they take there. FALSE: the table has none. */
gboolean orr_gang_throughputs_apply(const OrrGangThroughputs *speeds, const OrrGangKind *kinds,
                                    guint n_kinds, OrrGangJob *job);

G_END_DECLS

#endif
