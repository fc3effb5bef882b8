/*
 * trace_load.h - the files of a traced job: finds them and reads them into a graph.
 */
#ifndef ORR_TRACE_LOAD_H
#define ORR_TRACE_LOAD_H

#include "workloads/trace/et.h"

G_BEGIN_DECLS

typedef struct {
  const char *file;     /* NAME.et: NAME.0.et, NAME.1.et ..., else the file itself; NAME.goal */
  char *const *folders; /* to search, NULL-terminated; NULL: none */
  gint64 ranks;         /* 0: as many as there are files */
  gboolean symmetric;   /* ranks without a file do what the first rank does */
  const char *groups;   /* a JSON file {"NAME": [RANK, ...]}; "": none */
  OrrEtDims dims;
} OrrTraceLoad;

/* The graph, matched. NULL with @error. */
OrrWorkGraph *orr_trace_load(const OrrTraceLoad *load, GError **error);

/* Why the name of a trace is refused (static); NULL: it is not. */
const char *orr_trace_load_refuse(const char *file);

G_END_DECLS

#endif
