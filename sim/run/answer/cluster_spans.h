/*
 * cluster_spans.h - where the gangs of a cluster of jobs sat, as rows that are made one by one.
 *
 * Orders that preempt make hundreds of thousands of spans, and a row takes more than twice the
 * memory of a span with its nodes, so an outcome keeps the spans.
 */
#ifndef ORR_CLUSTER_SPANS_H
#define ORR_CLUSTER_SPANS_H

#include "results/store.h"
#include "results/rows/rows.h"

G_BEGIN_DECLS

struct OrrClusterWork; /* workloads/cluster_jobs/cluster_jobs.h */
typedef struct OrrClusterSpans OrrClusterSpans;

/* The spans of @work, which may then be freed. Ids of jobs go to @names, which outlives it. */
OrrClusterSpans *orr_cluster_spans_new(const struct OrrClusterWork *work, GStringChunk *names);
void orr_cluster_spans_free(OrrClusterSpans *spans);

/* Calls for each row of cluster_span, in the order of their begins; @spans NULL: none. */
typedef void (*OrrOnClusterSpan)(const OrrClusterSpanRow *row, void *user);
void orr_cluster_spans_each(const OrrClusterSpans *spans, OrrOnClusterSpan call, void *user);
/* Adds all rows to the run that @store has begun. */
gboolean orr_cluster_spans_store(const OrrClusterSpans *spans, OrrStore *store, GError **error);

G_END_DECLS

#endif
